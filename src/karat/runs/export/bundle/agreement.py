"""How far what was recomputed agrees with what is stored: bit by bit, with the largest difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.data.json.objects import JsonObject, Printed
from karat.stats.value import spell

CheckKind: TypeAlias = Literal[
    "file", "column", "score", "counts", "detail", "value", "interval", "verdict", "sentence", "reply"
]
Agreement: TypeAlias = Literal["equal", "last bits", "differs", "not recomputed"]

LAST_BITS, LEAST = 1e-9, 1e-12
"""A difference, relative to a number and in itself, that another version, platform or processor may make."""
_ENDS = {"low", "high", "all_low", "all_high"}
_SENTENCES = {"sentence", "corrected_sentence", "caution", "notes", "reversals"}
"""What is written for readers: another release may word it otherwise."""
_DEEPEST = 12  # levels of JSON that are compared one by one


@dataclass(frozen=True, kw_only=True)
class Check(JsonObject):
    """What was compared of a run, or of a comparison of two, and how it agrees.

    `of`: the file, the column or the metric. `compared` numbers or texts, of which `differing` are not equal to the
    last bit; `difference` is the largest between two numbers. `note`: where it differs, why it was not
    recomputed, or from what it was.
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

    def add_numbers(self, stored: Array, derived: Array, where: str, rows: Array | None = None) -> None:
        """Compare two arrays of one shape; `where` names the place of a row, as `{}`, from 1. `rows`: only these."""
        same = (stored == derived) | (np.isnan(stored) & np.isnan(derived))
        self.compared += same.size if rows is None else same[rows].size
        if rows is not None:
            same[~rows] = True
        if same.all():
            return
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(np.where(same, 0.0, stored - derived))
        self.differing += int((~same).sum())
        self.close = self.close and bool(
            (apart <= LEAST + LAST_BITS * np.minimum(abs(stored), abs(derived)))[~same].all()
        )
        self.difference = max(self.difference, float(np.nanmax(apart, initial=0.0)))
        at = tuple(np.argwhere(~same)[0])
        self._note(where.format(at[0] + 1), stored[at].item(), derived[at].item())

    def add(self, stored: Any, derived: Any, where: str) -> None:
        """Compare two values of JSON, or cells."""
        if _is_number(stored) and _is_number(derived) and float in (type(stored), type(derived)):
            self.add_numbers(np.array([float(stored)]), np.array([float(derived)]), where)
            return
        self.compared += 1
        if type(stored) is not type(derived) or stored != derived:
            self.differing, self.close = self.differing + 1, False
            self._note(where, stored, derived)

    def _note(self, where: str, stored: Any, derived: Any) -> None:
        self.first = self.first or f"{where}: {_spell(stored)} in the bundle, {_spell(derived)} recomputed"

    def check(self, run: str, of: str, kind: CheckKind, note: str = "") -> Check:
        """The check; `note` is from what it was recomputed."""
        state: Agreement = ("last bits" if self.close else "differs") if self.differing else "equal"
        return Check(
            run=run,
            of=of,
            kind=kind,
            state=state,
            compared=self.compared,
            differing=self.differing,
            difference=self.difference or None,
            note="; ".join(filter(None, [self.first, note])),
        )


def check_members(
    about: tuple[str, str], stored: Any, derived: Any, *, kind: CheckKind = "value", release: str = "", note: str = ""
) -> Iterator[Check]:
    """Compare values of JSON: a check of their members, one of the ends of intervals, and one of sentences.

    `about`: of which run, and of what in it. `release`: the one that wrote `stored`, where it is another one: members
    that it did not know are not missing then, and sentences that it worded otherwise are not recomputed. `note`: from
    what it was recomputed.
    """
    of_kind: dict[CheckKind, Differences] = {kind: Differences(), "interval": Differences(), "sentence": Differences()}
    ours, theirs = dict(_leaves(stored)), dict(_leaves(derived))
    for path in dict.fromkeys([*ours, *theirs]):
        if path not in ours and release and path[-1] != _LABELS:
            continue
        name = path[-2] if isinstance(path[-1], int) and len(path) > 1 else path[-1]
        which: CheckKind = "sentence" if name in _SENTENCES else "interval" if path[-1] in _ENDS else kind
        of_kind[which].add(ours.get(path), theirs.get(path), " ".join(map(str, path)))
    for what, each in of_kind.items():
        check = each.check(*about, what, "" if what == "sentence" else note)
        if what == "sentence" and check.state != "equal" and release:
            check = replace(check, state="not recomputed", note=f"karat {release} wrote it; {check.note}")
        if each.compared:
            yield check


def compare_columns(stored: pa.ChunkedArray, derived: pa.ChunkedArray, rows: Array) -> Differences:
    """Two columns of equal length, in some rows: shape (n,), bool."""
    compared = Differences(compared=int(rows.sum()))
    if stored.equals(derived):
        return compared
    compared.compared = 0
    for row, one, other in zip(count(1), stored.to_pylist(), derived.to_pylist(), strict=False):
        if rows[row - 1]:
            nested = isinstance(one, list | dict)
            compared.add(repr(one) if nested else one, repr(other) if nested else other, f"row {row}")
    return compared


_LABELS = "labels of groups"


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values in one of JSON that hold no others, by their paths; and the labels of groups, of which none is new."""
    members: Iterable[tuple[Any, Any]] = ()
    if len(path) > _DEEPEST or not isinstance(value, Mapping | list | tuple):
        yield path, value
    elif isinstance(value, Mapping):
        members = value.items()
        if value and path and path[-1] == "groups":
            yield (*path, _LABELS), ", ".join(sorted(map(str, value)))
    else:
        members = enumerate(value)
    for name, each in members:
        yield from _leaves(each, (*path, name))


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63)


def _spell(value: Any) -> str:
    text = "null" if value is None or value != value else repr(value)  # noqa: PLR0124  (NaN)
    return text if len(text) <= 60 else f"{text[:60]}…"
