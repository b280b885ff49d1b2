"""What the judges of a run were asked and what they replied: taken from the cache of replies, and replayed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from karat.core.columns.arrow import is_text
from karat.core.columns.kinds import Array
from karat.core.context import change_context
from karat.core.errors import DataError
from karat.core.metric.spec import names_in
from karat.data.json.typed import check_type
from karat.data.storage.checksums import parse_json
from karat.data.storage.files import read_small, temporary_folder
from karat.data.storage.stores import name_errors
from karat.judges.rubric import is_file, own_judges
from karat.models.batch.replay import NO_REPLY, Answered, KeptModel, ReplayGovernor
from karat.models.context import use_governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply, Request
from karat.runs.export.bundle.rescore import REPLIES, RUBRICS, rescore, split_metrics
from karat.runs.store.manifest import ENDPOINTS, check_content
from karat.runs.store.run import Run

_SCHEMA = pa.schema([(name, pa.string()) for name in ("key", "endpoint", "model", "request", "reply")])


@contextmanager
def replaying(run: Run, replies: Mapping[str, Answered] | ReplyCache) -> Iterator[ReplayGovernor]:
    """Within the block judges are answered by these replies alone; the value has those that were asked for."""
    key = str(Path(run.path).absolute()) if isinstance(run.path, Path) else run.path  # under which it was scored

    def find(text: str) -> Reply | None:
        if isinstance(replies, ReplyCache):
            return replies.get(text, key)
        answered = replies.get(text)
        return None if answered is None else answered.reply

    governor = ReplayGovernor(find, run.manifest.settings.get(ENDPOINTS, ()))
    with use_governor(governor, connect=KeptModel):
        yield governor


def collect_replies(run: Run) -> tuple[dict[str, bytes], str, int]:
    """The files with what the judges of a run were asked and replied; what lacks; and how many scores lack a reply.

    The rows are scored again with the replies that are in the cache, so that every request comes that led to a score.
    """
    files, missing, lacking = dict[str, bytes](), list[str](), 0
    rubrics = dict(_read_rubrics(run))
    if rubrics:
        files[RUBRICS] = (json.dumps(rubrics, ensure_ascii=False, indent=1) + "\n").encode()
    with change_context(rubrics=rubrics):
        metrics, reasons = split_metrics(run, replies=True)
        asking = [metric for metric in metrics if metric.judge is not None]
        missing += [f"{spec}: {reason}" for spec, reason in reasons.items() if "judge:" in spec]
        if asking:
            with ReplyCache() as cache, replaying(run, cache) as governor, temporary_folder() as folder:
                again = rescore(run, asking, Path(folder))
                lacking = sum(int(find_lacking(run, again, metric.spec).sum()) for metric in asking)
            files[REPLIES] = _write(governor.answered)
            if lacking:
                where = "the cache of replies ($KARAT_CACHE) has not all that its judges replied"
                missing.append(f"{lacking:,} scores of {run.name} cannot be derived again: {where}")
    return files, "; ".join(missing), lacking


def find_lacking(run: Run, again: Run, spec: str) -> Array:
    """Which scores were not recomputed as a reply is not kept, shape (rows,), bool."""
    known, derived = run.scores(spec), again.scores(spec)
    columns = [again.column("reason") if "reason" in again.schema.names else None, _find_errors(again, spec)]
    lacking = np.zeros(len(derived), bool)
    for column in columns:
        if column is not None and is_text(column.type):
            lacking |= np.asarray(pc.fill_null(pc.match_substring(column, NO_REPLY), False))
    uncertain: Array = lacking & (known != derived) & ~np.isnan(known)
    return uncertain


def read_kept_replies(folder: Path) -> tuple[dict[str, Answered], dict[str, str], list[str]]:
    """The requests with their replies in a run's folder, by key, the files of judges, and the keys that do not fit.

    A key is the digest of its request: one that is not has another request than the one that was sent.
    """
    answered, unfit, rubrics = dict[str, Answered](), list[str](), dict[str, str]()
    if (path := folder / RUBRICS).is_file():
        content = parse_json(path.read_bytes(), path)
        check_type(content, Mapping[str, str], str(path))
        rubrics = content
    if not (path := folder / REPLIES).is_file():
        return answered, rubrics, unfit
    for row in _read_rows(path):
        request = Request(**json.loads(row["request"]))
        each = Answered(row["endpoint"], row["model"], request, Reply(**json.loads(row["reply"])))
        if row["key"] in answered or request.key(each.endpoint, each.model) != row["key"]:
            unfit.append(row["key"])
        answered[row["key"]] = each
    return answered, rubrics, unfit


def _read_rows(path: Path) -> list[dict[str, str]]:
    with name_errors(str(path)):
        table = pq.read_table(path, schema=_SCHEMA)
    rows: list[dict[str, str]] = table.to_pylist()
    for number, row in enumerate(rows, 1):
        where = f"{path}, row {number}"
        check_type(row, _Row, where)
        for name, kind in (("request", _Asked), ("reply", _Replied)):
            content = parse_json(row[name].encode(), where)
            check_content(content, kind, f"{where}: {name}")
            if unknown := content.keys() - {each.name for each in fields(kind)}:
                raise DataError(f"{where}: {name}: expected no {min(unknown)!r}")
    return rows


def _write(answered: Mapping[str, Answered]) -> bytes:
    """The file of requests with their replies, in the order of their keys."""
    rows = [
        {
            "key": key,
            "endpoint": each.endpoint,
            "model": each.model,
            "request": json.dumps(asdict(each.request), ensure_ascii=False),
            "reply": json.dumps({**asdict(each.reply), "cached": True}, ensure_ascii=False),
        }
        for key, each in sorted(answered.items())
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, _SCHEMA), sink, compression="snappy", use_dictionary=False)
    return bytes(sink.getvalue())


def _read_rubrics(run: Run) -> Iterator[tuple[str, str]]:
    """The files that define the judges of a run, by the names that its specs have for them; those that can be read."""
    names = {name for metric in run.manifest.metrics for name in names_in(metric.spec)}
    for name in sorted(name.removeprefix("judge:") for name in names if name.startswith("judge:")):
        if name in (own := own_judges()):  # another release may have other words
            yield name, own[name].read_text("utf-8")
        elif is_file(name):
            with suppress(OSError, DataError, UnicodeDecodeError):
                yield name, read_small(name, 1 << 20).decode()


def _find_errors(run: Run, spec: str) -> pa.ChunkedArray | None:
    """What a judge says of replies that could not be read, or did not come."""
    name = f"{run.manifest.metric(spec).column}.error"
    return run.column(name) if name in run.schema.names else None


@dataclass(frozen=True)
class _Row:
    """A row of the file of replies."""

    key: str
    endpoint: str
    model: str
    request: str
    reply: str


@dataclass(frozen=True)
class _Asked:
    """What is read of a request."""

    messages: tuple[Mapping[str, str], ...]
    schema: Mapping[str, Any] | None
    settings: Mapping[str, Any]
    sample: int
    timeout: float | None


@dataclass(frozen=True)
class _Replied:
    """What is read of a reply."""

    text: str
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    model: str | None
    seconds: float | None
    cached: bool
    problem: str | None
    thoughts: str | None
    changed: str | None
