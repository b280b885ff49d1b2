"""Progress of a run, in rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int | None], None]
"""Called with the number of finished rows and, where it is known, the number of all rows; from any thread."""


@dataclass
class RowCounter:
    """Counts finished rows, and reports them to `progress`.

    `reporters` metrics report each row of the batch in work: a row is finished when all of them have reported it.
    """

    progress: Progress | None
    total: int | None
    reporters: int = 1
    _finished: int = 0
    _reported: int = 0

    def advance(self, rows: int) -> None:
        """One of the metrics has finished this many more rows of the batch."""
        self._reported += rows
        self.report(self._finished + self._reported // self.reporters)

    def finish_batch(self, rows: int) -> None:
        """All metrics have finished a batch of this many rows."""
        self._finished, self._reported = self._finished + rows, 0
        self.report(self._finished)

    def report(self, rows: int) -> None:
        """So many rows are finished in all."""
        if self.progress is not None:
            self.progress(rows, self.total)
