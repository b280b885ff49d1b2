"""What metrics give beside their scores: columns of the output, and how often each label is among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows

Progress = Callable[[int, int | None], None]


def score_fields(metric: Metric) -> Iterator[tuple[str, pa.DataType]]:
    """The columns a metric adds: its score's, called as its spec, and `spec.name` for each of its details."""
    yield metric.spec, pa.float64()
    for name, kind in metric.details.items():
        yield f"{metric.spec}.{name}", kind


def count_labels(metric: Metric, rows: Rows) -> Iterator[tuple[str, Counter[str]]]:
    """How often each value occurs in the details that have few: labels, and what is true or false."""
    for name, kind in metric.details.items():
        if name in rows.details and (name == "label" or pa.types.is_boolean(kind)):
            counted = pc.value_counts(rows.details[name].drop_null().cast(pa.string())).to_pylist()
            if counted:
                yield name, Counter({each["values"]: each["counts"] for each in counted})


@dataclass
class Watch:
    """How far a run is: whole batches, and of the batch under way the rows that metrics which wait have done."""

    progress: Progress | None
    total: int | None
    waiting: int  # metrics that say when a row is done
    done: int = 0
    parts: int = 0

    def advance(self, rows: int) -> None:
        """So many more rows of the batch are done, by one of the metrics."""
        self.parts += rows
        self._tell(self.done + self.parts // self.waiting)

    def finish(self, rows: int) -> None:
        """A batch of so many rows is done."""
        self.done, self.parts = self.done + rows, 0
        self._tell(self.done)

    def _tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.total)
