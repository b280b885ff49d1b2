"""A run of a bundle recomputed: its rows scored again by all metrics that can be, judges answered by kept replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from karat.core.context import change_context
from karat.core.errors import DataError, KaratError
from karat.core.metric.metric import Metric
from karat.data.storage.stores import name_errors
from karat.runs.export.bundle.agreement import Check, Differences
from karat.runs.export.bundle.rescore import REPLIES, RUBRICS, rescore, split_metrics
from karat.runs.store.run import Run

MOST_CONTENT, MOST_ROWS = 200, 100
"""The bytes that a byte of a Parquet file may hold, and the rows, above 64 MB and a million rows."""


@dataclass(frozen=True)
class Recomputed:
    """A run whose rows were scored again by `metrics`, None by none; why others could not be, by spec; and checks."""

    run: Run | None
    metrics: Sequence[Metric]
    reasons: Mapping[str, str]
    checks: tuple[Check, ...] = ()


def recompute(run: Run, folder: Path, columns: Sequence[str] = (), *, texts: bool) -> Recomputed:
    """Score the rows of a run of a bundle again, by all metrics that can be; judges are answered by kept replies.

    Without `texts` there is nothing to score.
    """
    if not texts:
        return Recomputed(None, (), dict.fromkeys(run.specs, "the texts are not in the bundle"))
    kept = any(Path(run.path, name).is_file() for name in (REPLIES, RUBRICS))
    if not kept:
        return _rescore(run, folder, columns, replies=False)
    from karat.runs.export.bundle.replies import read_kept_replies, replaying  # noqa: PLC0415  (only for judges)

    answered, rubrics, unfit = read_kept_replies(Path(run.path))
    with change_context(rubrics=rubrics), replaying(run, answered) as governor:
        again = _rescore(run, folder, columns, replies=True)
    compared = Differences()
    for key in answered:
        found = "other request" if key in unfit else "used" if key in governor.answered else "no request"
        compared.add("used", found, f"reply {key[:12]}…")
    checks = (compared.check(run.name, REPLIES, "reply", elsewhere=False),) if answered else ()
    return replace(again, checks=checks)


def check_expansion(folder: Path) -> None:
    """Raise `DataError` for a Parquet file of a stranger that would take far more memory than its size lets expect."""
    for path in sorted(folder.rglob("*.parquet")):
        with name_errors(str(path)):
            about, size = pq.read_metadata(path), path.stat().st_size
        content = sum(about.row_group(at).total_byte_size for at in range(about.num_row_groups))
        if content > (64 << 20) + MOST_CONTENT * size or about.num_rows > 1_000_000 + MOST_ROWS * size:
            found = f"{about.num_rows:,} rows and {content:,} bytes in a file of {size:,} bytes"
            raise DataError(f"{path}: expected at most {MOST_ROWS} rows and {MOST_CONTENT} bytes a byte, found {found}")


def _rescore(run: Run, folder: Path, columns: Sequence[str], *, replies: bool) -> Recomputed:
    metrics, reasons = split_metrics(run, replies=replies)
    if not metrics:
        return Recomputed(None, (), reasons)
    try:
        return Recomputed(rescore(run, metrics, folder, columns), metrics, reasons)
    except KaratError as error:
        return Recomputed(None, (), {**reasons, **{metric.spec: str(error) for metric in metrics}})
