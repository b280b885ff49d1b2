"""The total of one metric, of all rows and of each group of rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import lists_text
from karat.core.columns.kinds import Array
from karat.core.metric.in_order import kept_by
from karat.core.metric.metric import Metric
from karat.core.metric.rows import LEFT_OUT, Rows
from karat.stats.aggregate import Accumulator, Scale
from karat.stats.inference import Inference
from karat.stats.value import Value, make_units, restore_units, summarise

TOGETHER = 8_192  # rows that are added to units at a time: for few, all units would be looked through again and again
FREQUENT = 1000  # items of lists whose counts a result has


@dataclass
class Total:
    """The units of one metric over some rows, and why how many rows were not scored.

    There are units by row, or by the clusters of a named column; and by the clusters of each column that may have them.
    Beside these, units of very many rows are None for a mean within bounds: it needs the sums of all rows alone.
    `not_asked` counts the rows that a rule left out, which `n` does not.
    """

    metric: Metric
    inference: Inference
    clustered: Sequence[bool] = (False,)
    units: list[Accumulator | None] = field(default_factory=list)
    n: int = 0
    not_asked: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    _new: list[tuple[Array, Sequence[Array]]] = field(default_factory=list)  # statistics and keys, not in units yet
    _new_rows: int = 0

    def add(self, rows: Rows, keys: Sequence[Array]) -> None:
        """Add a batch; `keys`, each of shape (rows,), come from `ClusterFinder`."""
        scored = rows.scored
        if rows.reasons is not None:
            counts = Counter[str](rows.reasons[~scored].tolist())
            left_out = [reason for reason in counts if reason.startswith(LEFT_OUT)]
            not_asked = sum(map(counts.pop, left_out))
            self.n, self.not_asked = self.n - not_asked, self.not_asked + not_asked
            self.reasons.update(counts)
        self.n += len(scored)
        if not scored.any():
            return
        statistics = rows.statistics
        if not scored.all():
            statistics, keys = statistics[scored], [each[scored] for each in keys]
        self._new.append((statistics, keys))
        self._new_rows += len(statistics)
        if self._new_rows >= TOGETHER:
            self._add_new()

    def _add_new(self) -> None:
        """Add the rows that wait to the units."""
        if not self._new:
            return
        parts, by_key = zip(*self._new, strict=True)
        statistics, keys = _join(parts), [_join(each) for each in zip(*by_key, strict=True)]
        self._new, self._new_rows = [], 0
        if not self.units:
            kinds = self.clustered if kept_by(self.metric.finish) == "sums" else self.clustered[:1]
            make = partial(make_units, self.metric.finish, statistics.shape[1], seed=self.inference.seed)
            self.units = [make(clustered=each) for each in kinds]
        for units, each in zip(self.units, keys, strict=False):
            if units is not None:
                units.add(statistics, each)
        self._drop_rows()

    def state(self, stored: list[bytes]) -> dict[str, Any]:
        """What `restore` needs, as JSON values; arrays are appended to `stored`."""
        self._add_new()
        about: dict[str, Any] = {"n": self.n, "reasons": self.reasons, "units": []}
        about |= {"not_asked": self.not_asked} if self.not_asked else {}
        for units in self.units:
            state, arrays = (None, []) if units is None else units.state()
            about["units"].append(state)
            stored += arrays
        return about

    def restore(self, about: Mapping[str, Any], stored: Iterator[bytes]) -> Total:
        """The total of the same metric whose `state` this is."""
        units = [None if each is None else restore_units(each, stored) for each in about["units"]]
        known = {"n": about["n"], "not_asked": about.get("not_asked", 0), "reasons": Counter(about["reasons"])}
        return replace(self.empty(), units=units, **known)

    def empty(self) -> Total:
        """A total of the same metric, of no rows."""
        return Total(self.metric, self.inference, self.clustered)

    def merge(self, other: Total) -> None:
        """Add a total of other rows, which is not to be used any longer."""
        self._add_new()
        other._add_new()
        self.n += other.n
        self.not_asked += other.not_asked
        self.reasons.update(other.reasons)
        for at, (ours, theirs) in enumerate(zip(self.units, other.units, strict=False)):  # of the same kinds
            if ours is None or theirs is None:
                self.units[at] = None
            else:
                ours.merge(theirs)
        self.units = self.units or other.units
        self._drop_rows()

    def _drop_rows(self) -> None:
        """Drop the units by row where the units of a column that may have clusters tell as much."""
        rows, bounded = (self.units or [None])[0], None not in (self.metric.definition.low, self.metric.definition.high)
        if len(self.units) > 1 and rows is not None and rows.collapsed and bounded and self.metric.finish is None:
            self.units[0] = None

    def value(self, place: int = 0) -> Value:
        """The value of the rows added so far, by the units of the keys at this place."""
        self._add_new()
        definition = self.metric.definition
        kept = self.units or [make_units(self.metric.finish, 1)]
        units = kept[min(place, len(kept) - 1)]
        if units is None:
            units = next(each for each in kept if each is not None).view(clustered=False)
        elif place >= len(kept):
            units = units.view(clustered=True)  # without keys, and so without an interval
        scale = Scale(self.metric.finish, (definition.low, definition.high), definition.direction)
        missing = {"unscored": self.n - units.rows, "not_asked": self.not_asked}
        return summarise(units, scale, **missing, inference=self.inference)


def _join(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass
class MetricTotals:
    """The total of one metric over all rows, one for each group of rows, and how often it returned each label.

    Of a detail that is a list, such as the fields that a prediction lacks, the items are counted.
    """

    whole: Total
    groups: dict[str, Total] = field(default_factory=dict)
    labels: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, rows: Rows, keys: Sequence[Array], groups: Mapping[str, Array]) -> None:
        """Add a batch; `groups` has the row numbers of each group."""
        whole = self.whole
        whole.add(rows, keys)
        for name, kind in whole.metric.details.items():
            if name in rows.details and (name == "label" or pa.types.is_boolean(kind) or lists_text(kind)):
                column = pc.list_flatten(rows.details[name]) if lists_text(kind) else rows.details[name]
                for each in pc.value_counts(column.drop_null().cast(pa.string())).to_pylist():
                    self.labels[name][each["values"]] += each["counts"]
        for label, part in groups.items():
            reasons = None if rows.reasons is None else rows.reasons[part]
            self._group(label).add(Rows(rows.statistics[part], reasons), [each[part] for each in keys])

    def state(self, stored: list[bytes]) -> dict[str, Any]:
        """As `Total.state`."""
        groups = {label: total.state(stored) for label, total in self.groups.items()}
        return {"groups": groups, "whole": self.whole.state(stored), "labels": self.labels}

    def restore(self, about: Mapping[str, Any], stored: Iterator[bytes]) -> MetricTotals:
        """As `Total.restore`."""
        groups = {label: self.whole.restore(total, stored) for label, total in about["groups"].items()}
        totals = MetricTotals(self.whole.restore(about["whole"], stored), groups)
        for name, counts in about["labels"].items():
            totals.labels[name].update(counts)
        return totals

    def merge(self, other: MetricTotals) -> None:
        """As `Total.merge`."""
        for label, total in other.groups.items():
            self._group(label).merge(total)
        self.whole.merge(other.whole)
        for name, counts in other.labels.items():
            self.labels[name].update(counts)

    def counts(self) -> dict[str, dict[str, int]]:
        """How often each label was returned, and each item of lists: of these the most frequent ones, in this order."""
        return {name: self._frequent(name, counts) for name, counts in self.labels.items()}

    def _frequent(self, name: str, counts: Counter[str]) -> dict[str, int]:
        if not lists_text(self.whole.metric.details[name]):
            return dict(counts)
        return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:FREQUENT])

    def _group(self, label: str) -> Total:
        return self.groups.setdefault(label, self.whole.empty())
