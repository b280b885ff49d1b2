"""How long answers are beside their gold, and which metrics such lengths lower, however right the answers are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_ascii, is_text, lists_text
from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.definition import EITHER, Configured, Length
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse

TIMES, LEAST = 3, 10
"""An answer is longer than its gold if it is 3 times as long and has 10 characters more; shorter likewise."""
_MILLION = 1_000_000
_MOST, _APART = 0.5, 0.25  # the share of answers that makes a value doubtful, and a difference of shares

_HOW: Mapping[Length, str] = {"longer": "at least 3 times as long as", "shorter": "at most a third as long as"}
_INSTEAD: Mapping[Length, str] = {
    "longer": "contains, judge:correctness, or the setting extract",
    "shorter": "judge:correctness, or token_precision",
}
Sides: TypeAlias = Mapping[str, pa.Array]


@dataclass(frozen=True)
class Lengths:
    """The lengths of answers beside their gold, of the rows in which neither is empty.

    `longer` and `shorter`: in how many of the `rows` the answer is longer than the longest reference, or shorter than
    the shortest one (`TIMES`). `prediction`, `reference`: the medians in characters, to two digits; of several
    references the longest.
    """

    rows: int
    longer: int
    shorter: int
    prediction: int
    reference: int

    @property
    def sides(self) -> list[Length]:
        """Whether most answers are longer, or shorter."""
        return [side for side in EITHER if self.share(side) >= _MOST]

    def describe(self, side: Length) -> str:
        """How many answers are longer, or shorter, in words."""
        medians = f"median {self.prediction} characters against {self.reference}"
        return f"{_percent(self.share(side))} of the answers are {_HOW[side]} the gold ({medians})"

    def share(self, side: Length) -> float:
        """The share of the answers that are longer, or shorter."""
        return (self.longer if side == "longer" else self.shorter) / self.rows


def count_lengths(columns: Sides) -> Counter[str]:
    """What `read_lengths` needs of some rows; counts of parts of a table add up.

    >>> counted = count_lengths({"prediction": pa.array(["It is in Paris."]), "reference": pa.array([["Paris", "P."]])})
    >>> read_lengths(counted)
    Lengths(rows=1, longer=1, shorter=0, prediction=15, reference=5)
    """
    sides = [_measure(columns[role]) for role in ("prediction", "reference") if role in columns]
    if len(sides) < 2 or None in sides:
        return Counter()
    (least, most), (lowest, highest) = filter(None, sides)
    both = (most > 0) & (highest > 0)
    if not both.all():
        least, most, lowest, highest = (each[both] for each in (least, most, lowest, highest))
    longer = (least >= TIMES * highest) & (least >= highest + LEAST)
    shorter = (TIMES * most <= lowest) & (most + LEAST <= lowest)
    counted = Counter({"rows": len(least), "longer": int(longer.sum()), "shorter": int(shorter.sum())})
    for name, lengths in (("prediction", most), ("reference", highest)):
        for length, n in _count_rounded(lengths):
            counted[f"{name} {length}"] += n
    return counted


def depends_on_length(metric: Metric) -> bool:
    """Whether answers of another length than the gold's lower a metric, however right they are."""
    return any(_lowered_by(metric))


def read_lengths(counted: Mapping[str, int]) -> Lengths | None:
    """The lengths of the rows that were counted; None where no row has both texts."""
    if not counted.get("rows"):
        return None
    medians = {name: _median(counted, f"{name} ") for name in ("prediction", "reference")}
    return Lengths(counted["rows"], counted["longer"], counted["shorter"], **medians)


def find_cautions(metrics: Iterable[str | Metric], lengths: Lengths | None) -> dict[str, str]:
    """By spec, why the value of a metric is low however right the answers are, and what to use instead.

    >>> find_cautions(["exact_match", "contains"], Lengths(10, 9, 0, 80, 12)).keys()
    dict_keys(['exact_match'])
    """
    cautions = dict[str, str]()
    for metric in metrics:
        for side in _lowered_by(metric):
            if lengths is not None and side in lengths.sides:
                lowers = "which lowers this value even where they are right"
                cautions[str(metric)] = f"{lengths.describe(side)}, {lowers}; use {_INSTEAD[side]}"
    return cautions


def list_cautions(cautions: Mapping[str, str]) -> Iterator[str]:
    """A line for each caution, with the metrics that it is about."""
    for text in filter(None, dict.fromkeys(cautions.values())):
        yield f"{', '.join(spec for spec, each in cautions.items() if each == text)}: {text}"


def find_caution(metric: str | Metric, systems: Mapping[str, Lengths | None]) -> str:
    """Why a difference between systems may be one of lengths, and what to compare instead; else an empty text.

    >>> print(find_caution("exact_match", {"long": Lengths(10, 9, 0, 80, 12), "short": Lengths(10, 0, 1, 11, 12)}))
    90 % of long's answers and 0 % of short's are at least 3 times as long as the gold, which lowers this metric \
even where they are right; compare by contains, judge:correctness, or the setting extract
    """
    known = {name: lengths for name, lengths in systems.items() if lengths}
    for side in _lowered_by(metric) if known else ():
        shares = [each.share(side) for each in known.values()]
        if max(shares) >= _MOST or max(shares) - min(shares) >= _APART:
            whose = " and ".join(
                f"{_percent(share)} of {name}'s{' answers' * (not at)}"
                for at, (name, share) in enumerate(zip(known, shares, strict=True))
            )
            how = f"{_HOW[side]} the gold, which lowers this metric even where they are right"
            return f"{whose} are {how}; compare by {_INSTEAD[side]}"
    return ""


def _lowered_by(metric: str | Metric) -> Iterator[Length]:
    """The lengths that lower a metric; none where an answer is extracted from the prediction first."""
    inner: Configured | None = None
    with suppress(SpecError):  # a user's own metric may be unknown here
        inner = parse(metric) if isinstance(metric, str) else metric
    while inner is not None and inner.definition.inner is not None:
        inner = inner.definition.inner
    if inner is not None and inner.settings.get("extract", "none") == "none":
        yield from inner.definition.lowered_by


def _measure(column: pa.Array) -> tuple[Array, Array] | None:
    """The characters of the shortest and of the longest text of each row, the longest 0 without one; None: no texts."""
    if not (is_text(column.type) or lists_text(column.type)):
        return None
    texts = column if is_text(column.type) else column.flatten()
    lengths = np.asarray(pc.fill_null(_characters(texts), 0)).astype(np.int64)
    if texts is column:
        return lengths, lengths
    rows, filled = np.asarray(pc.list_parent_indices(column)), lengths > 0
    if not filled.all():
        rows, lengths = rows[filled], lengths[filled]
    shortest, longest = np.full(len(column), np.iinfo(np.int64).max), np.zeros(len(column), np.int64)
    np.minimum.at(shortest, rows, lengths)
    np.maximum.at(longest, rows, lengths)
    return shortest, longest


def _characters(texts: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(texts.type):
        return _characters(texts.dictionary).take(texts.indices)
    if is_ascii(texts):
        return pc.binary_length(texts)
    return pc.utf8_length(texts if pa.types.is_string(texts.type) else texts.cast(pa.large_string()))


def _count_rounded(lengths: Array) -> Iterator[tuple[int, int]]:
    """Lengths to two digits, so that there are few, and how many have each; a million and more count as a million."""
    counts = np.bincount(np.minimum(lengths, _MILLION))
    for length in np.flatnonzero(counts).tolist():
        power = 10 ** max(len(str(length)) - 2, 0)
        yield length - length % power, int(counts[length])


def _median(counted: Mapping[str, int], prefix: str) -> int:
    lengths = sorted((int(name.removeprefix(prefix)), n) for name, n in counted.items() if name.startswith(prefix))
    ends = np.cumsum([n for _, n in lengths])
    return lengths[int(np.searchsorted(ends, (ends[-1] + 1) // 2))][0]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
