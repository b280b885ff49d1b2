"""The values of each system under the settings of a report, from the one home of a system's value."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.columns.lengths import find_cautions
from karat.runs.columns.missing import caution_missing, join_cautions
from karat.runs.compare.run_values import RunValues
from karat.runs.match.match import Matched
from karat.runs.match.systems import find_lengths
from karat.runs.table.value_table import MetricValue
from karat.stats.corrected.value import Corrected
from karat.stats.inference import Inference


@dataclass(frozen=True)
class MatchedValues:
    """The values of all systems over matched rows; `slices`, the row numbers by label, are a single one's."""

    matched: Matched
    inference: Inference
    by: str | None = None
    slices: Mapping[str, Array] = field(default_factory=dict)

    def read(self, at: int, drawn: Collection[str]) -> tuple[list[MetricValue], list[str]]:
        """The values of a system over all rows and over the `drawn` slices, and what a reader has to know of them."""
        run = self.matched.runs[at]
        metrics = [metric.by_run[at] for metric in self.matched.metrics]
        own = RunValues(replace(run, manifest=replace(run.manifest, metrics=tuple(metrics))), self.inference,
                        *self._clusters(at))  # fmt: skip
        corrected, notes = self._correct(at, own)
        cautions = find_cautions(run.specs, find_lengths(run))
        slices = {label: rows for label, rows in self.slices.items() if label in drawn}
        read = {each.spec: own.read(each.spec, slices, by=self.by) for each in metrics}
        missing = caution_missing({spec: each[None] for spec, each in read.items()}, self.inference.confidence)
        cautions = join_cautions(
            cautions, missing, {spec: each.drift for spec, each in run.stops.items() if each.drift}
        )
        values = [
            MetricValue(
                each.spec, label, value, corrected.get((each.spec, label)), each.scale.bounds,
                "" if label else cautions.get(each.spec, ""), each.recipe,
            )
            for each in metrics
            for label, value in read[each.spec].items()
        ]  # fmt: skip
        return values, notes

    def _clusters(self, at: int) -> tuple[str | None, Array | None]:
        """The column of the clusters, and their keys in the order of a run's own rows."""
        if (clusters := self.matched.clusters) is None:
            return None, None
        return clusters.about.column, clusters.keys[np.argsort(self.matched.rows.order(at))]

    def _correct(self, at: int, own: RunValues) -> tuple[dict[tuple[str, str | None], Corrected], list[str]]:
        """A system's values corrected by people, by spec and slice, and remarks on them."""
        matched = self.matched
        if not matched.labelled:
            corrections = own.stored_corrections(self.by)
            if corrections and not own.are_stored:
                remedy = "name the labels again to see it here (--human)"
                return {}, [f"{own.run.name} was scored with labels by people under other settings: {remedy}"]
            return corrections, []
        totals = own.corrected(matched.labelled[at].place(matched.rows.order(at)), self.slices)
        whole, grouped = totals.values()
        notes = totals.human().get("notes", ()) if len(matched.runs) == 1 else ()  # of several, the comparison says it
        by_slice = {spec: {None: whole[spec], **grouped[spec]} for spec in whole}
        return {(spec, label): each for spec, values in by_slice.items() for label, each in values.items()}, list(notes)


def as_answer(values: list[MetricValue], notes: list[str]) -> dict[str, Any]:
    """Values as the page is answered: of all rows, each with its slices."""
    return {
        "n": values[0].value.n if values else 0,
        "metrics": [
            _describe(each) | {"groups": {str(part.slice): _describe(part) for part in values
                                          if part.spec == each.spec and part.slice is not None}}
            for each in values
            if each.slice is None
        ],
        "notes": notes,
    }  # fmt: skip


def _describe(each: MetricValue) -> dict[str, Any]:
    return dict(_parts(each))


def _parts(each: MetricValue) -> Iterator[tuple[str, Any]]:
    yield "spec", each.spec
    yield from each.value.as_dict().items()
    if each.corrected is not None:
        yield "corrected", each.corrected.as_dict()
    if each.caution:
        yield "caution", each.caution
