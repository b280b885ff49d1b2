"""A run of a bundle recomputed: its rows scored again by all metrics that can be, judges answered by kept replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from karat.core.columns.arrow import is_list
from karat.core.context import change_context
from karat.core.errors import DataError, KaratError
from karat.core.metric.metric import Metric
from karat.core.version import __version__
from karat.data.storage.stores import name_errors
from karat.runs.export.bundle.agreement import Agreement, Check, Differences
from karat.runs.export.bundle.rescore import REPLIES, RUBRICS, rescore, split_metrics
from karat.runs.scoring.tasks.progress import Progress
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


def recompute(
    run: Run, folder: Path, columns: Sequence[str] = (), progress: Progress | None = None, *, texts: bool
) -> Recomputed:
    """Score the rows of a run of a bundle again, by all metrics that can be; judges are answered by kept replies.

    `columns` are further ones that the new run has to have; `progress` as in `karat.score`.
    Without `texts` there is nothing to score.
    """
    if not texts:
        return Recomputed(None, (), dict.fromkeys(run.specs, "the texts are not in the bundle"))
    kept = any(Path(run.path, name).is_file() for name in (REPLIES, RUBRICS))
    if not kept:
        return _rescore(run, folder, columns, progress, replies=False)
    from karat.runs.export.bundle.replies import read_kept_replies, replaying  # noqa: PLC0415  (only for judges)

    answered, rubrics, unfit = read_kept_replies(Path(run.path))
    with change_context(rubrics=rubrics), replaying(run, answered) as governor:
        again = _rescore(run, folder, columns, progress, replies=True)
    compared = Differences()
    for key in answered:
        state = "other request" if key in unfit else "used" if key in governor.answered else "no request"
        compared.add("used", state, f"reply {key[:12]}…")
    checks = [compared.check(run.name, REPLIES, "reply")] if answered else []
    return replace(again, checks=(*checks, *_check_rubrics(run, rubrics)))


def _check_rubrics(run: Run, rubrics: Mapping[str, str]) -> Iterator[Check]:
    """Whether the judges that have the names of karat's are karat's; another release may have other words."""
    from karat.judges.rubric import own_judges  # noqa: PLC0415  (only for judges)

    for name in rubrics.keys() & own_judges().keys():
        if own_judges()[name].read_text("utf-8") != rubrics[name]:
            release = str(run.manifest.versions.get("karat", ""))
            state: Agreement = "differs" if release == __version__ else "not recomputed"
            note = f"judge:{name} differs from karat {__version__}'s; the scores are by the one in the bundle"
            yield Check(run=run.name, of=RUBRICS, kind="file", state=state, compared=1, differing=1, note=note)


def check_expansion(folder: Path) -> None:
    """Raise `DataError` for a Parquet file of a stranger that would take far more memory than its size lets expect.

    Values that are stored once and used in many rows are counted before they are put in place.
    """
    for path in sorted(folder.rglob("*.parquet")):
        size = path.stat().st_size
        most_rows, most_bytes = 1_000_000 + MOST_ROWS * size, (64 << 20) + MOST_CONTENT * size
        with name_errors(str(path)):
            about = pq.read_metadata(path)
            groups = [about.row_group(at) for at in range(about.num_row_groups)]
            content = sum(group.total_byte_size for group in groups)
            if about.num_rows <= most_rows and content <= most_bytes:
                texts = {group.column(at).path_in_schema for group in groups for at in range(group.num_columns)}
                with pq.ParquetFile(path, read_dictionary=sorted(texts)) as file:
                    content = 0
                    for batch in file.iter_batches():
                        content += sum(map(_count_bytes, batch.columns))
                        if content > most_bytes:
                            break
        if about.num_rows > most_rows or content > most_bytes:
            extent = f"{about.num_rows:,} rows and {content:,} bytes in a file of {size:,} bytes"
            raise DataError(
                f"{path}: expected at most {MOST_ROWS} rows and {MOST_CONTENT} bytes a byte, found {extent}"
            )


def _count_bytes(column: pa.Array) -> int:
    """The bytes of a column with each value in its place."""
    if pt.is_dictionary(column.type):
        return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    if pt.is_struct(column.type) or is_list(column.type):
        parts = column.flatten()
        return sum(map(_count_bytes, parts if isinstance(parts, list) else [parts]))
    return int(column.nbytes)


def _rescore(run: Run, folder: Path, columns: Sequence[str], progress: Progress | None, *, replies: bool) -> Recomputed:
    """Score by all metrics at once; where that fails, by those that score alone, and say why the others do not."""
    metrics, reasons = split_metrics(run, replies=replies)
    if not metrics:
        return Recomputed(None, (), reasons)
    try:
        return Recomputed(rescore(run, metrics, folder, columns, progress), metrics, reasons)
    except KaratError as error:
        alone = {metrics[0].spec: str(error)} if len(metrics) == 1 else {}
    for at, metric in enumerate(metrics if len(metrics) > 1 else ()):
        try:
            rescore(run, [metric], folder / f"{run.name}.{at}", columns)
        except KaratError as error:
            alone[metric.spec] = str(error)
    reasons |= alone
    if fit := [metric for metric in metrics if metric.spec not in alone]:
        return Recomputed(rescore(run, fit, folder / f"{run.name}.fit", columns, progress), fit, reasons)
    return Recomputed(None, (), reasons)
