"""What a run adds up: the statistics of one metric, whole and by group."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array
from karat.core.errors import DataError
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.data.source import RAW
from karat.runs.output_columns import count_labels
from karat.stats.aggregate import Scale, Units
from karat.stats.inference import Inference
from karat.stats.value import Value, summarise

GROUPS = 1_000  # values of a --by column that are still groups; more is an id


@dataclass
class Tally:
    """The units of one metric over some rows, and how many rows were not scored."""

    metric: Metric
    clustered: bool
    seed: int
    units: Units | None = None
    n: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Rows, keys: Array | None) -> None:
        """Add a batch; `keys`, shape (rows,), says which cluster each row is in."""
        scored = rows.scored
        if not len(scored):
            return
        if rows.reasons is not None:
            self.reasons.update(rows.reasons[~scored].tolist())
        self.n += len(scored)
        if not scored.any():
            return
        if self.units is None:
            self.units = Units(rows.statistics.shape[1], clustered=self.clustered, seed=self.seed)
        if scored.all():
            self.units.add(rows.statistics, keys)
        else:
            self.units.add(rows.statistics[scored], None if keys is None else keys[scored])

    def value(self, confidence: float) -> Value:
        """The value of the rows added so far."""
        definition = self.metric.definition
        units = Units(1) if self.units is None else self.units
        return summarise(
            units,
            Scale(self.metric.finish, (definition.low, definition.high), definition.direction),
            failed=self.n - units.rows,
            inference=Inference(confidence, self.seed),
        )


@dataclass
class Grouped:
    """A tally of all rows, and one for each group of a column."""

    metric: Metric
    clustered: bool
    seed: int
    whole: Tally = field(init=False)
    groups: dict[str, Tally] = field(default_factory=dict)
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def __post_init__(self) -> None:
        self.whole = Tally(self.metric, self.clustered, self.seed)

    def add(self, rows: Rows, keys: Array | None, parts: Mapping[str, Array]) -> None:
        """Add a batch; `parts` gives the rows of each group."""
        self.whole.add(rows, keys)
        for name, counted in count_labels(self.metric, rows):
            self.counts[name].update(counted)
        for label, part in parts.items():
            if label not in self.groups:
                self.groups[label] = Tally(self.metric, self.clustered, self.seed)
            reasons = None if rows.reasons is None else rows.reasons[part]
            self.groups[label].add(Rows(rows.statistics[part], reasons), None if keys is None else keys[part])


def join_reasons(metrics: list[Metric], scored: list[Rows]) -> pa.Array:
    """Why rows are unscored: the reason alone where the metrics agree, else each metric's."""
    n = len(scored[0].statistics)
    given = [np.full(n, None, dtype=object) if rows.reasons is None else rows.reasons for rows in scored]
    said = given[0].copy()
    for row in np.flatnonzero(np.any([np.not_equal(each, said) for each in given[1:]], axis=0) if given[1:] else []):
        said[row] = "; ".join(f"{m.spec}: {each[row]}" for m, each in zip(metrics, given, strict=True) if each[row])
    return pa.array(said, pa.string())


def cluster_keys(column: pa.Array, first: int) -> Array:
    """A 64-bit key for each row's cluster, the same for equal values in any batch; shape (rows,).

    A row whose cluster is null is one of its own; `first` is the number of the batch's first row.
    """
    codes, labels = _encode(column)
    keys = np.array([_hash(label) for label in labels], dtype=np.uint64)[codes] if labels else np.empty(0, np.uint64)
    for row in np.flatnonzero(column.is_null()):
        keys[row] = _hash(f"row {first + row} is alone")
    return keys


def _hash(label: str) -> int:
    return int.from_bytes(blake2b(label.encode(), digest_size=8).digest(), "little")


def group_rows(column: pa.Array, seen: set[str], name: str) -> dict[str, Array]:
    """The rows of each group in a batch, by label, in the order in which groups appear.

    `DataError` when the column turns out to hold an id rather than a group.
    """
    codes, labels = _encode(column)
    seen.update(labels)
    if len(seen) > GROUPS:
        raise DataError(f"column {name!r} has more than {GROUPS} values: too many to be groups")
    order = np.argsort(codes, kind="stable")
    return dict(_split(labels, order, np.bincount(codes, minlength=len(labels))))


def _split(labels: list[str], order: Array, sizes: Array) -> Iterator[tuple[str, Array]]:
    for label, part in zip(labels, np.split(order, np.cumsum(sizes)[:-1]), strict=True):
        if len(part):
            yield label, part


def _encode(column: pa.Array) -> tuple[Array, list[str]]:
    """Each row's code, shape (rows,), and the label of each code."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if isinstance(column, pa.ExtensionArray) or column.type == RAW:
        column = column.cast(pa.string())
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    return np.asarray(encoded.indices), [_label(value) for value in encoded.dictionary.to_pylist()]


def _label(value: object) -> str:
    """How a group is called in a table and in JSON; a text that reads like the group of nulls is put in quotes."""
    if value is None:
        return "(null)"
    if value == "(null)":
        return repr(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
