"""Upload the requests of judges before the first row is scored, where they go in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from karat.core import telemetry
from karat.core.metric.metric import Metric
from karat.core.metric.score import complete_rows

if TYPE_CHECKING:
    from karat.models.batch.governor import BatchGovernor


@contextmanager
def upload_ahead(
    metrics: Iterable[Metric], batches: Callable[[], Iterable[Mapping[str, pa.Array]]], names: Mapping[str, str]
) -> Iterator[None]:
    """Before the block upload the requests of all rows and judges, where a governor sends requests in batches.

    Otherwise each batch of rows, and each judge, would begin to wait only when the one before has its replies. `names`
    are what error messages call columns.
    """
    judges: dict[BatchGovernor, list[Metric]] = {}
    if asking := [metric for metric in metrics if metric.judge is not None]:
        from karat.models.context import current_models  # noqa: PLC0415  (only for judges)

        for judge in asking:
            governor = judge.governor or current_models().governor
            if hasattr(governor, "upload_ahead"):
                judges.setdefault(cast("BatchGovernor", governor), []).append(judge)

    def collect(chosen: Sequence[Metric]) -> None:
        for columns in batches():
            complete_rows(chosen, columns, [None] * len(chosen), names)

    with ExitStack() as stack:
        for governor, chosen in judges.items():
            if not telemetry.on():  # rows that are only collected would have spans without a result
                stack.enter_context(governor.upload_ahead(partial(collect, chosen)))
        yield
