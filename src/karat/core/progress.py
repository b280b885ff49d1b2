"""Progress within a batch: metrics that wait for others report each finished row.

>>> with report_progress_to(print):
...     advance(2)
2
>>> advance(1)  # nothing to report to
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from karat.core.context import change_context, current_context


def advance(rows: int) -> None:
    """Report that this many more rows are finished."""
    if (progress := current_context().progress) is not None:
        progress(rows)


def report_progress_to(progress: Callable[[int], None]) -> AbstractContextManager[None]:
    """Within the block, `progress` is called with the number of rows of each `advance`."""
    return change_context(progress=progress)
