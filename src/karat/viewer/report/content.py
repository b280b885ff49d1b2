"""What a report says: the figures of comparing, ranking and scoring, in the form in which the page is answered."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.runs.compare.comparison import Compared
from karat.runs.compare.ranking.ranked import Ranked
from karat.runs.match.match import Matched
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.match.systems import OpenRows
from karat.runs.store.manifest import CERTIFICATES
from karat.runs.store.run import ScoredFile
from karat.runs.table.table import Table, spell_value
from karat.runs.table.value_table import MetricValue, value_tables
from karat.stats.aggregate import points
from karat.stats.inference import Inference
from karat.viewer.answers import answer_compared, answer_metric, answer_ranked, describe_best
from karat.viewer.report.chosen_rows import MetricScores, choose_rows
from karat.viewer.report.document import Head
from karat.viewer.report.redaction import Redaction
from karat.viewer.report.rows import SAMPLE, cut_name, describe_choice, hold_rows
from karat.viewer.report.values import MatchedValues, as_answer
from karat.viewer.rows.display import describe_table
from karat.viewer.rows.facets import count_bins, list_histograms
from karat.viewer.rows.fields import Field
from karat.viewer.rows.filters import field_numbers
from karat.viewer.rows.score_curves import LENGTH, draw_curves
from karat.viewer.rows.table import RowTable

_LINES = 80  # of all slices in all plots
_NUMBERS, _DRAWN = 6, 100_000  # columns of numbers by which scores are drawn, and rows of all systems, at most
_RECOMPUTED = ("cluster", "confidence", "seed")  # of a single run's values, which no other command has with them


@dataclass(frozen=True)
class Content:
    """What a report is about; `compared` is None for a single run, `ranked` for fewer than three."""

    matched: Matched
    inference: Inference
    redaction: Redaction
    compared: Compared | None
    ranked: Ranked | None
    by: str | None

    def head(self) -> Head:
        """What is read without JavaScript: the verdict in sentences, and the first table."""
        level = f"Brackets hold {100 * self.inference.confidence:g} % intervals."
        if self.compared is None:
            values, _ = self._values[0]
            whole = [each for each in values if each.slice is None]
            return Head([(each.spec, _spell(each)) for each in whole], self._first_tables, level)
        if self.ranked is not None:
            return Head(
                [(each.metric, describe_best(each)) for each in self.ranked.rankings], self._first_tables, level
            )
        findings = [each for each in self.compared.findings if each.slice is None]
        return Head([(each.metric, text) for each in findings for text in each.sentences], self._first_tables, level)

    @property
    def _first_tables(self) -> list[Table]:
        if self.ranked is not None:
            return self.ranked.tables(percent=True)
        if self.compared is not None:
            return self._show(self.compared).tables()
        return value_tables([replace(each, slice=each.slice and cut_name(each.slice)) for each in self._values[0][0]],
                             self.inference.confidence)  # fmt: skip

    def answers(self, most: int, options: Mapping[str, object]) -> dict[str, Any]:
        """The answers of the page, of at most so many rows; `options` are the command's."""
        table, seed = self._table, self.inference.seed
        scores = [
            MetricScores(spec, np.array([field_numbers(table, Field("score", metric=spec, system=at))
                                         for at in range(len(table.runs))]), metric.by_run[0].direction == "minimize",
                         self._left_out(metric))
            for spec, metric in zip(table.specs, table.metrics, strict=True)
        ]  # fmt: skip
        choice = choose_rows(scores, most, seed)
        columns = describe_table(table)
        if len(choice.rows) < table.n:
            columns["facets"] += [Field("column", SAMPLE).as_dict()]
        numbers = self._list_numbers(columns["columns"])
        columns["columns"] = [each for each in columns["columns"] if each["facet"]] + numbers
        columns["notes"] = []  # the figures above have them
        columns["aligned_by"] = self.redaction.clean(columns["aligned_by"])
        systems = [{"id": str(at), "name": name} for at, name in enumerate(self.matched.names)]
        command, notes = self._command(options), list(self._notes)
        clean = self.redaction.clean_manifest
        return {
            "by": self.by or "",
            "columns": {"systems": systems, **columns},
            "notes": [describe_choice(choice, table.n, seed), *notes],
            "of_runs": {
                "result": [self._result(at, command) for at in range(len(systems))],
                "provenance": [{"manifest": clean(asdict(run.manifest))} for run in table.runs],
            },
            "compare": self._compared(command),
            "rank": self.ranked and answer_ranked(self.ranked),
            "spread": [count_bins(table, lambda _: None, field)
                       for spec in table.specs for field in list_histograms(table, spec)],
            "curves": self._curves([each["name"] for each in numbers]),
            "rows": hold_rows(table, choice, self.by, numbered=self._hides_ids),
        }  # fmt: skip

    def _list_numbers(self, columns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The columns of numbers by which scores are drawn, such as cost; their values do not stand beside a row."""
        free = (each for each in columns if each["type"] == "number" and each["role"] is None and not each["facet"])
        shown = [each for each in free if not self.redaction.hides(each["name"]) and each["name"] != self._table.by]
        return [{**each, "sort": False} for each in shown[:_NUMBERS]]

    def _curves(self, numbers: Sequence[str]) -> dict[str, dict[str, Any]] | None:
        """What the page draws each score by; None of a large run, or of many."""
        table = self._table
        if len(table.runs) * table.n > _DRAWN:
            return None
        across = [LENGTH, *numbers, *table.specs]
        return {
            spec: {each: {"systems": draw_curves(table, spec, each)} for each in across if each != spec}
            for spec in table.specs
        }

    @cached_property
    def _table(self) -> RowTable:
        runs = self.matched.runs
        of = next((at for at, run in enumerate(runs) if self.by in run.schema.names), 0)
        facets = {} if self.by is None else {self.by: of}
        return RowTable(self.matched, [self.redaction.cut(run) for run in runs], facets)

    @property
    def _hides_ids(self) -> bool:
        runs, by = self.matched.runs, self._table.by
        return by in runs[0].schema.names and self.redaction.hides_values(runs, by)

    @cached_property
    def _values(self) -> list[tuple[list[MetricValue], list[str]]]:
        """The values of each system, of a single one by slice too, and what a reader has to know of them."""
        slices = {} if self.compared else self._slices
        values = MatchedValues(self.matched, self.inference, self.by, slices)
        return [values.read(at, self._drawn) for at in range(len(self.matched.runs))]

    @cached_property
    def _slices(self) -> dict[str, Array]:
        """The row numbers of each slice, among the matched rows."""
        if (slices := self.matched.slices) is None:
            return {}
        return {label: np.flatnonzero(slices.codes == at) for at, label in sorted(enumerate(slices.labels), key=_label)}

    @cached_property
    def _drawn(self) -> frozenset[str]:
        """The slices that are shown: the largest, but first those with a clear difference; as many as a page holds."""
        findings = self.compared.findings if self.compared else ()
        clear = {each.slice for each in findings if each.verdict != "unclear"}
        ranked = sorted(self._slices, key=lambda label: (label not in clear, -len(self._slices[label])))
        each = len(self.matched.metrics) * max(len(self.matched.runs) - 1, 1)
        return frozenset(ranked[: max(_LINES // each, 1)])

    @property
    def _slice_notes(self) -> Iterator[str]:
        """How many slices are shown, where that is not all."""
        if (drawn := len(self._drawn)) < len(self._slices):
            which = "those with a clear difference, then the largest; karat compare --json has all"
            yield f"{drawn} of {len(self._slices)} slices are here: {which if self.compared else 'the largest'}"

    def _result(self, at: int, command: str | None) -> dict[str, Any]:
        values, notes = self._values[at]
        named = [replace(each, slice=each.slice and cut_name(each.slice)) for each in values]
        run = self.matched.runs[at]
        remarks = [*notes, *(() if self.compared else (*self.matched.notes, *self._slice_notes))]
        return {
            "values": as_answer(named, [self.redaction.clean(note) for note in remarks]),
            "display": {each.spec: answer_metric(each) for each in run.manifest.metrics},
            "confidence": self.inference.confidence,
            "command": command if self.compared is None else None,
        }

    def _show(self, compared: Compared) -> Compared:
        """A comparison with the slices that are shown, whose names are cut."""
        drawn = (each for each in compared.findings if each.slice is None or each.slice in self._drawn)
        named = (each if each.slice is None else replace(each, slice=cut_name(each.slice)) for each in drawn)
        return replace(compared, findings=tuple(named))

    def _compared(self, command: str | None) -> dict[str, Any] | None:
        if self.compared is None:
            return None
        shown, clean = self._show(self.compared), self.redaction.clean
        notes = [*shown.notes, *self._slice_notes, *(note for _, own in self._values for note in own)]
        answer = answer_compared(shown)
        answer["compared"] |= {"notes": list(map(clean, notes)), "aligned_by": clean(shown.by)}
        return {**answer, "command": command}

    @property
    def _notes(self) -> Iterator[str]:
        """What certificates say of judges, and what is left out."""
        for run in self.matched.runs:
            for spec, sentence in run.manifest.settings.get(CERTIFICATES, {}).items():
                yield self.redaction.clean(f"{run.name}, {spec}: {sentence}")
        if not self.redaction.texts:
            yield "Texts are left out."
        if count := len(self.redaction.columns):
            yield "One column is left out." if count == 1 else f"{count} columns are left out."

    def _left_out(self, metric: SharedMetric) -> Array:
        """Which rows a rule left out when it ended the asking, shape (systems, rows)."""
        pairs = zip(self.matched.runs, metric.by_run, strict=True)
        masks = [run.left_out(scored.spec) for run, scored in pairs]
        nothing = np.empty(0, np.int64)
        numbers = [nothing if each is None else np.flatnonzero(each) for each in masks]
        return np.array([self._table.mark(at, each) for at, each in enumerate(numbers)])

    def _command(self, options: Mapping[str, object]) -> str | None:
        """The command that prints the same figures; None for rows in memory, and for a file, of which no command does.

        An option of a comparison may have several values, and True is a flag.
        """
        runs = self.matched.runs
        if any(isinstance(run, OpenRows) for run in runs):
            return None
        if self.compared is None:
            if isinstance(runs[0], ScoredFile) or any(options.get(name) is not None for name in _RECOMPUTED):
                return None
            options = {name: value for name, value in options.items() if name not in {"metric", "by"}}
        words = ["karat", *(["compare"] if self.compared else ["runs", "show"]), *self.matched.names]
        for name, value in options.items():
            for each in value if isinstance(value, list) else [value]:
                if each is not None and each is not False:
                    words += [f"--{name}"] if each is True else [f"--{name}", self.redaction.clean(each)]
        return shlex.join(words)


def _label(numbered: tuple[int, str]) -> str:
    return numbered[1]


def _spell(each: MetricValue) -> str:
    """A value with its interval in words."""
    value, factor = each.value, points(each.bounds)
    if value.value is None:
        return f"no value, {value.unscored} of {value.n} rows have no score"
    missing = f"; {value.unscored} have no score" if value.unscored else ""
    shown, low, high = (spell_value(number, factor) for number in (value.value, value.low, value.high))
    caution = f"; but {each.caution}" if each.caution else ""
    return f"{shown}{' points' if factor > 1 else ''} [{low}, {high}] on {value.n} rows{missing}{caution}"
