"""How far what was recomputed agrees with what is stored: bit by bit, with the largest difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.data.json.objects import JsonObject, Printed
from karat.stats.value import spell

CheckKind: TypeAlias = Literal["file", "column", "score", "counts", "detail", "value", "interval", "verdict", "reply"]
Agreement: TypeAlias = Literal["equal", "last bits", "differs", "not recomputed"]

LAST_BITS = 1e-9
"""A difference, relative to numbers above 1, that another platform or version may make of one computation."""
_ENDS = {"low", "high", "all_low", "all_high"}
_SENTENCES = {"sentence", "corrected_sentence", "caution", "notes", "reversals", "signature"}
"""What is written for readers: other releases may word it otherwise. Signatures are compared before scoring."""


@dataclass(frozen=True, kw_only=True)
class Check(JsonObject):
    """What was compared of a run, or of a comparison of two, and how it agrees.

    `of`: the file, the column or the metric. `compared` numbers or texts, of which `differing` are not equal to the
    last bit; `difference` is the largest between two numbers. `note`: where it differs, or why it was not recomputed.
    """

    run: str
    of: str
    kind: CheckKind
    state: Agreement
    compared: int = 0
    differing: int = 0
    difference: float | None = None
    note: str = ""

    printed: ClassVar = Printed(sparse=("note",))

    @property
    def detail(self) -> str:
        """What a reader is told beside the state."""
        if self.state in ("equal", "not recomputed"):
            return self.note
        share = f"{self.differing:,} of {self.compared:,}" if self.compared > 1 else ""
        most = "" if self.difference is None else f"by up to {spell(self.difference, '.3g')}"
        return "; ".join(filter(None, [" ".join(filter(None, [share, most])), self.note]))


@dataclass
class Differences:
    """Counts of what was compared and of what differs, and the first difference."""

    compared: int = 0
    differing: int = 0
    difference: float = 0.0
    close: bool = True
    first: str = ""

    def add_numbers(self, stored: Array, found: Array, where: str, rows: Array | None = None) -> None:
        """Compare two arrays of one shape; `where` names the place of a row, as `{}`, from 1. `rows`: only these."""
        same = (stored == found) | (np.isnan(stored) & np.isnan(found))
        self.compared += same.size if rows is None else same[rows].size
        if rows is not None:
            same[~rows] = True
        if same.all():
            return
        apart = np.abs(np.where(same, 0.0, stored - found))
        self.differing += int((~same).sum())
        self.close = self.close and bool((apart <= LAST_BITS * np.maximum(1.0, np.abs(stored)))[~same].all())
        self.difference = max(self.difference, float(np.nanmax(apart, initial=0.0)))
        at = tuple(np.argwhere(~same)[0])
        self._note(where.format(at[0] + 1), stored[at].item(), found[at].item())

    def add(self, stored: Any, found: Any, where: str) -> None:
        """Compare two values of JSON that hold no others."""
        numbers = [each for each in (stored, found) if isinstance(each, float | int) and not isinstance(each, bool)]
        if len(numbers) == 2:
            self.add_numbers(np.array([float(stored)]), np.array([float(found)]), where)
            return
        self.compared += 1
        if type(stored) is not type(found) or stored != found:
            self.differing, self.close = self.differing + 1, False
            self._note(where, stored, found)

    def _note(self, where: str, stored: Any, found: Any) -> None:
        self.first = self.first or f"{where}: {_spell(stored)} in the bundle, {_spell(found)} recomputed"

    def check(self, run: str, of: str, kind: CheckKind, *, elsewhere: bool) -> Check:
        """The check; `elsewhere`: other versions, or another platform, may explain differences in the last bits."""
        state: Agreement = "differs" if self.differing else "equal"
        if self.differing and self.close and elsewhere:
            state = "last bits"
        return Check(
            run=run,
            of=of,
            kind=kind,
            state=state,
            compared=self.compared,
            differing=self.differing,
            difference=self.difference or None,
            note=self.first,
        )


def compare_members(stored: Any, found: Any) -> tuple[Differences, Differences]:
    """Values of JSON, with their numbers, and the ends of intervals apart; what only `found` has is newer than both."""
    values, ends = Differences(), Differences()
    others = dict(_leaves(found))
    for path, leaf in _leaves(stored):
        (ends if path[-1] in _ENDS else values).add(leaf, others.get(path), " ".join(map(str, path)))
    return values, ends


def compare_columns(stored: pa.ChunkedArray, found: pa.ChunkedArray, rows: Array) -> Differences:
    """Two columns of equal length, in some rows: shape (n,), bool."""
    compared = Differences(compared=int(rows.sum()))
    if stored.equals(found):
        return compared
    compared.compared = 0
    for row, one, other in zip(count(1), stored.to_pylist(), found.to_pylist(), strict=False):
        if not rows[row - 1]:
            continue
        nested = isinstance(one, list | dict)
        compared.add(repr(one) if nested else one, repr(other) if nested else other, f"row {row}")
    return compared


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    members: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        members = value.items()
    elif isinstance(value, list | tuple):
        members = enumerate(value)
    else:
        yield path, value
    for name, each in members:
        if name not in _SENTENCES:
            yield from _leaves(each, (*path, name))


def _spell(value: Any) -> str:
    text = "null" if value is None or value != value else repr(value)  # noqa: PLR0124  (NaN)
    return text if len(text) <= 60 else f"{text[:60]}…"
