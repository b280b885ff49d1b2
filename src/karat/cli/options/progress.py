"""The progress of long work: how much is done, how fast, and how long the rest takes; a line, or lines in a pipe."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from karat.core.context import current_context
from karat.core.progress import NarrowingLine

if TYPE_CHECKING:
    from karat.models.governor.budget import CallCounts

FIGURES = 70  # columns for what stands beside the bar
PAUSE = 5.0  # seconds between two lines in a pipe
WINDOW = 30.0  # seconds over which a rate is measured


def describe_progress(
    done: float, total: float | None, unit: str, rate: float | None, calls: float | None, seconds: float
) -> str:
    """The line, without its bar. `rate` and `calls` (of models) are per second, `seconds` passed so far.

    >>> describe_progress(120, 3000, "rows", 4.0, 9.5, 31)
    '120 of 3,000 rows  12:00 left  4.0 rows/s  570 calls/min'
    >>> describe_progress(20, None, "spans", 0.25, None, 80)
    '20 spans  1:20 so far  15 spans/min'
    """
    parts = [f"{done:,.0f} {unit}" if total is None else f"{done:,.0f} of {total:,.0f} {unit}"]
    left = None if not rate or total is None else (total - done) / rate
    parts.append(f"{_clock(seconds)} so far" if left is None else f"{_clock(left)} left")
    if rate:
        parts.append(f"{60 * rate:.0f} {unit}/min" if rate < 1 else f"{rate:,.{int(rate < 10)}f} {unit}/s")
    if calls:
        parts.append(f"{60 * calls:,.0f} calls/min")
    return "  ".join(parts)


@contextmanager
def show_progress(action: str, unit: str, stream: IO[str]) -> Iterator[Callable[[int, int | None], None]]:
    """Show a line on a terminal until the block ends; call its value, from any thread, with the number done and all."""
    figures = _Figures(unit)
    console = Console(file=stream)
    room = min(console.width - FIGURES, 30)
    columns = TextColumn(action), *([BarColumn(room)] if room >= 10 else []), _FiguresColumn(figures)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(action, total=None)

        def report(done: int, total: int | None) -> None:
            figures.rows.add(done)
            bar.update(task, completed=done, total=total)

        yield report


@contextmanager
def print_progress(action: str, unit: str, stream: IO[str]) -> Iterator[Callable[[int, int | None], None]]:
    """Print a line every few seconds while something is done, and one at the end; used like `show_progress`."""
    figures, begun, lock = _Figures(unit), monotonic(), Lock()
    printed = begun
    last: tuple[int, int | None] = 0, None

    def write(text: str) -> None:
        stream.write(f"{action}  {text}\n")
        stream.flush()

    def report(done: int, total: int | None) -> None:
        nonlocal printed, last
        with lock:
            figures.rows.add(done)
            last, now = (done, total), monotonic()
            if now - printed >= PAUSE:
                printed = now
                write(figures.describe(done, total, now - begun))

    try:
        yield report
    finally:
        write(figures.describe(*last, monotonic() - begun, rates=False))


class _Rate:
    """How much is done in a second, over the last half minute."""

    def __init__(self) -> None:
        self._seen = deque([(monotonic(), 0)])
        self._lock = Lock()

    def add(self, done: int) -> None:
        with self._lock:
            self._seen.append((monotonic(), done))
            while self._seen[-1][0] - self._seen[1][0] > WINDOW:
                self._seen.popleft()

    def per_second(self) -> float | None:
        """None until something is done."""
        (start, before), (_, done) = self._seen[0], self._seen[-1]
        return (done - before) / (monotonic() - start) if done > before else None


class _Figures:
    """How fast rows are done, and the models that the context has are asked, if it has any."""

    def __init__(self, unit: str) -> None:
        self._unit, self._context = unit, current_context()
        self.rows, self._calls = _Rate(), _Rate()

    def describe(self, done: float, total: float | None, seconds: float, *, rates: bool = True) -> str:
        if totals := self._totals():
            self._calls.add(sum(each.calls for each in totals))
        narrowing = self._context.narrowing or NarrowingLine()
        speed = (self.rows.per_second(), self._calls.per_second()) if rates else (None, None)
        line = describe_progress(done, narrowing.rows or total, self._unit, *speed, seconds)
        if narrowing.line:
            line = f"{narrowing.line}  {line.partition('  ')[2]}"
        return "  ".join(filter(None, [line, self.describe_use()]))

    def describe_use(self) -> str:
        """The money that the models have taken so far, and the requests that were repeated or got no reply."""
        totals = self._totals()
        names = {"retries": "retried", "failed": "failed", "capped": "not asked"}
        counts = {what: sum(getattr(each, name) for each in totals) for name, what in names.items()}
        costs = [each.cost for each in totals if each.cost is not None]
        cost = [f"${sum(costs):,.2f}" if sum(costs) >= 1 else f"${sum(costs):.4f}"] if costs else []
        return "  ".join([*cost, *(f"{count:,} {what}" for what, count in counts.items() if count)])

    def _totals(self) -> list[CallCounts]:
        """What was asked so far: of the context's models, and of a task."""
        models, watched = self._context.models, self._context.watched or []
        return [each.totals for each in [*([] if models is None else [models.governor]), *watched]]


class _FiguresColumn(ProgressColumn):
    """The figures beside the bar."""

    def __init__(self, figures: _Figures) -> None:
        super().__init__(Column(no_wrap=True))
        self._figures = figures

    def render(self, task: Task) -> Text:
        return Text(self._figures.describe(task.completed, task.total, task.elapsed or 0))


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
