"""Progress within a batch: metrics that wait for others report each finished row.

>>> with report_progress_to(print):
...     advance(2)
2
>>> advance(1)  # nothing to report to
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from karat.core.context import change_context, current_context


def advance(rows: int) -> None:
    """Report that this many more rows are finished."""
    if (progress := current_context().progress) is not None:
        progress(rows)


def report_progress_to(progress: Callable[[int], None]) -> AbstractContextManager[None]:
    """Within the block, `progress` is called with the number of rows of each `advance`."""
    return change_context(progress=progress)


@dataclass
class NarrowingLine:
    """The last word on an interval that narrows while rows are asked: `line`, and how many `rows` are expected in all.

    `then` is called with both, whenever they change.

    >>> with change_context(narrowing=NarrowingLine()) as _:
    ...     report_narrowing("correctness 0.71 ± 0.03", 600)
    ...     current_context().narrowing
    NarrowingLine(line='correctness 0.71 ± 0.03', rows=600, then=None)
    """

    line: str = ""
    rows: int | None = None
    then: Callable[[str, int], None] | None = None


def report_narrowing(line: str, rows: int) -> None:
    """Report how narrow an interval is, in words, and how many rows are expected to be asked in all."""
    if (narrowing := current_context().narrowing) is not None:
        narrowing.line, narrowing.rows = line, rows
        if narrowing.then is not None:
            narrowing.then(line, rows)


@contextmanager
def advance_by_parts(rows: int, parts: int) -> Iterator[None]:
    """Within the block each `advance` counts parts, of which `parts` are `rows` rows; at its end all rows are finished.

    >>> with report_progress_to(print), advance_by_parts(rows=2, parts=6):
    ...     advance(3)
    ...     advance(1)
    1
    1
    """
    outer, counted, finished = current_context().progress, 0, 0

    def report(now: int) -> None:
        nonlocal finished
        if outer is not None and now > finished:
            outer(now - finished)
        finished = max(now, finished)

    def count(more: int) -> None:
        nonlocal counted
        counted += more
        report(min(rows, counted * rows // max(parts, 1)))

    with report_progress_to(count):
        yield
    report(rows)
