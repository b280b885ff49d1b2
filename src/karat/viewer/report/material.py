"""What a report is about: runs, the metrics that they share, their matched rows, and how they compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from karat.core.columns.ids import ROW_IDS
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import to_python
from karat.data.roles import singular
from karat.runs.columns.groups import check_group_column, group_rows
from karat.runs.compare.comparison import Compared
from karat.runs.match.alignment import Alignment
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.store.run import Run
from karat.stats.aggregate import Bounds
from karat.viewer.report.choice import MetricScores

_LINES = 80  # of all slices in all plots
_LONG = 80  # characters of a slice's name


def cut_name(name: str) -> str:
    """The name of a slice, cut where it is a long text."""
    return name if len(name) <= _LONG else f"{name[: _LONG - 1]}…"


@dataclass(frozen=True)
class Material:
    """What a report is about; `compared` is None for a single run, whose rows stay in their order.

    `confidence` is that of all its intervals.
    """

    runs: Sequence[Run]
    metrics: Sequence[SharedMetric]
    rows: Alignment
    compared: Compared | None
    by: str | None
    confidence: float

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the systems."""
        return self.compared.systems if self.compared else (self.runs[0].name,)

    @property
    def bounds(self) -> dict[str, Bounds]:
        """The lowest and the highest value of each metric."""
        return {each.spec: (each.by_run[0].low, each.by_run[0].high) for each in self.metrics}

    @cached_property
    def scores(self) -> list[MetricScores]:
        """The scores of each metric, in the order of the matched rows."""
        found = []
        for metric in self.metrics:
            columns = enumerate(zip(self.runs, metric.by_run, strict=True))
            scores = np.array([run.scores(scored.spec)[self.rows.order(at)] for at, (run, scored) in columns])
            found.append(MetricScores(metric.spec, scores, metric.by_run[0].direction == "minimize"))
        return found

    @cached_property
    def slices(self) -> dict[str, Array]:
        """The row numbers of each slice, among the matched rows."""
        if self.by is None:
            return {}
        at = next((at for at, run in enumerate(self.runs) if self.by in run.schema.names), 0)
        check_group_column(self.runs[at].schema, self.by, self.runs[at].name)
        column = self.runs[at].column(self.by).combine_chunks().take(pa.array(self.rows.order(at)))
        return dict(sorted(group_rows(column, set(), self.by).items()))

    @cached_property
    def drawn_slices(self) -> frozenset[str]:
        """The slices that are drawn: the largest, but first those with a clear difference; as many as a page holds."""
        findings = self.compared.findings if self.compared else ()
        clear = {each.slice for each in findings if each.verdict != "unclear"}
        ranked = sorted(self.slices, key=lambda label: (label not in clear, -len(self.slices[label])))
        each = len(self.metrics) * max(len(self.runs) - 1, 1)
        return frozenset(ranked[: max(_LINES // each, 1)])

    @property
    def slice_note(self) -> str | None:
        """How many slices are not drawn; None where all are."""
        if (drawn := len(self.drawn_slices)) == len(self.slices):
            return None
        if self.compared is None:
            return f"{drawn} of {len(self.slices)} slices are here, the largest."
        which = "those with a clear difference, then the largest; karat compare --json has all"
        return f"{drawn} of {len(self.slices)} slices are here: {which}."

    @property
    def id_column(self) -> str | None:
        """The column with the ids of the rows; None where they are numbered."""
        names = self.runs[0].schema.names
        if self.compared is not None:
            return self.rows.by if self.rows.by in names else None
        return next((name for name in names if singular(name) in ROW_IDS), None)

    def name_rows(self, rows: Array, *, numbered: bool) -> list[str]:
        """The ids of some rows, or their numbers."""
        if numbered or self.id_column is None:
            return [str(row + 1) for row in rows.tolist()]
        if self.compared is not None:
            return list(self.rows.ids.take(pa.array(rows)).to_pylist())
        return [str(each) for each in to_python(self.runs[0].column(self.id_column).take(pa.array(rows)))]
