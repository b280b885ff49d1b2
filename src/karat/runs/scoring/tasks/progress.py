"""Progress of a run, in rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

Progress = Callable[[int, int | None], None]
"""Called with the number of finished rows and, where it is known, the number of all rows; from any thread."""


@dataclass
class RowCounter:
    """Counts finished rows, from any thread, and reports them to `progress`.

    `reporters` metrics report each row of what is in work: a row is finished when all of them have reported it. Rows
    of finished batches and tasks that were not reported count too.
    """

    progress: Progress | None
    total: int | None
    reporters: int = 1
    finished: int = 0
    _reported: int = 0
    _lock: Lock = field(default_factory=Lock)

    def advance(self, rows: int) -> None:
        """One of the metrics has finished this many more rows of what is in work."""
        with self._lock:
            self._reported += rows
            self._report()

    def finish(self, rows: int, *, alone: bool = False) -> None:
        """All metrics have finished a batch, or a task, of this many rows; `alone`: nothing else is in work."""
        with self._lock:
            self.finished += rows
            self._reported = 0 if alone else max(0, self._reported - rows * max(1, self.reporters))
            self._report()

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(self.finished + self._reported // max(1, self.reporters), self.total)
