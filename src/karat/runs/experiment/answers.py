"""The answers of a task to every row: asked through a governor, each kept on the disk before the next is awaited."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.atomic import write_text
from karat.core.errors import ColumnError, DataError
from karat.data.source import RAW, Source
from karat.data.storage.disk_table import DiskTable
from karat.models.governor.faults import AskError
from karat.models.governor.governor import Governor
from karat.models.reply_cache import Store
from karat.models.request import Request
from karat.runs.experiment.task import Asked, Call, failed
from karat.runs.store.lock import holding
from karat.runs.store.run import folder_of, partial_of

ROW, REPETITION, ERROR = "row", "repetition", "error"
KEPT = "answers.sqlite"
_PLAN, _TOLD = "plan.json", "answers.jsonl"
_SLICE = 512  # rows that are Python objects at a time


@contextmanager
def answering(name: str | None, plan: dict[str, Any], *, resume: bool) -> Iterator[Path]:
    """A folder for the answers of an experiment; what is in it is kept until its run is whole.

    Raises `DataError` where there is a run of that name, or it was begun otherwise, or another process is at it.
    """
    if name is None:
        with tempfile.TemporaryDirectory(prefix="karat-") as folder:
            yield Path(folder)
        return
    run = folder_of(name)
    beside = run.with_name(f".{name}.answers")
    if not beside.exists() and partial_of(run).exists():
        raise DataError(f"run {name} was begun without a task: --run OTHER, or `karat runs remove {name}`")
    beside.mkdir(parents=True, exist_ok=True)
    with holding(beside / "lock", name):
        if run.exists():
            shutil.rmtree(beside)
            raise DataError(f"there is a run {name} already, in {run}: --run OTHER, or `karat runs remove {name}`")
        _check_plan(beside, name, plan, resume=resume)
        yield beside
        if run.exists():
            shutil.rmtree(beside)


def _check_plan(folder: Path, name: str, plan: dict[str, Any], *, resume: bool) -> None:
    path, anew = folder / _PLAN, f"begin anew: remove {folder}"
    if not path.exists():
        write_text(path, json.dumps(plan, ensure_ascii=False))
        return
    if not resume:
        raise DataError(f"run {name} was not finished: --resume goes on with it; or {anew}")
    before = json.loads(path.read_text("utf-8"))
    changes = [f"{key}: {before.get(key)!r}; now {value!r}" for key, value in plan.items() if before.get(key) != value]
    if changes:
        raise DataError(f"run {name} was begun with another {'; '.join(changes)}. Go on with the same, or {anew}")


def ask_all(governor: Governor, store: Store, folder: Path, rows: Source, call: Call, repetitions: int,
            timeout: float, attempts: int) -> Path:  # fmt: skip
    """Have every row answered, so many times; the file of the answers, one JSON object each, in the rows' order.

    `store` is where `governor` keeps replies, and has them from before: a row is asked only where it has none.
    """

    async def ask(numbered: tuple[int, dict[str, Any]]) -> str:
        sample, row = numbered
        asked = Asked(call, row, timeout, attempts)
        content = json.dumps(row, default=str)
        request = Request([{"role": "user", "content": content}], sample=sample)
        key = request.key(asked.endpoint, asked.name)
        try:
            reply = await governor.ask(asked, request)
        except AskError as error:
            reply = store.keep(key, failed(str(error)))
        if taken := json.loads(reply.text).keys() & columns:
            raise ColumnError(f"the task gives {', '.join(map(repr, sorted(taken)))}, which the rows have already")
        return key

    first, columns = 0, {*rows.schema.names, *((ROW, REPETITION) if repetitions > 1 else ())}
    with (folder / _TOLD).open("w", encoding="utf-8") as file:
        for batch in rows.batches():
            keys = governor.map(ask, _numbered(batch, first, repetitions))
            file.writelines(f"{kept.text}\n" for kept in map(store.get, keys) if kept)
            first += len(batch) * repetitions
    return folder / _TOLD


def _numbered(batch: pa.RecordBatch, first: int, repetitions: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row, so many times, with the number of its answer."""
    raw = [field.name for field in batch.schema if field.type == RAW]
    for start in range(0, len(batch), _SLICE):
        for row in batch.slice(start, _SLICE).to_pylist():
            decoded = {name: json.loads(row[name]) for name in raw if row[name] is not None}
            for _ in range(repetitions):
                yield first, row | decoded
                first += 1


@dataclass(frozen=True)
class Answered:
    """The rows with the columns of their answers, as a frame that speaks Arrow and can be read more than once.

    `text` names the columns that keep the spelling they have in JSON. Where rows were answered more than once, `row`
    and `repetition` (from 1) tell the answers apart.
    """

    rows: Source
    answers: Source
    repetitions: int
    text: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return self.answers.rows or 0

    @property
    def lossy_columns(self) -> frozenset[str]:
        """The columns whose spelling is lost where `text` does not name them."""
        return self.rows.lossy_columns | self.answers.lossy_columns

    def outline(self) -> pa.Table:
        """The columns without rows, those of `lossy_columns` without a type: enough to see which serve as text."""
        kinds = [each.with_type(pa.null()) if each.name in self.lossy_columns else each for each in self._schema]
        return pa.schema(kinds).empty_table()

    def failures(self) -> Counter[str]:
        """The errors of rows, and how many rows have each."""
        at = self.answers.schema.get_field_index(ERROR)
        return Counter(
            str(each) for batch in self.answers.batches() for each in batch.column(at).drop_null().to_pylist()
        )

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches(self._schema))
        return reader.__arrow_c_stream__(requested_schema)

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema([*self.rows.schema_as(self._of(self.rows)), *self._told, *self._counted(0, 0).schema])

    def _of(self, source: Source) -> frozenset[str]:
        return self.text & frozenset(source.schema.names)

    @property
    def _told(self) -> pa.Schema:
        """The columns of the answers, errors last; where no row has any, the prediction that none has made."""
        told = [each for each in self.answers.schema_as(self._of(self.answers)) if each.name != ERROR]
        return pa.schema([*(told or [("prediction", pa.string())]), (ERROR, pa.string())])

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        answers = DiskTable(
            self.answers.schema_as(self._of(self.answers)), self.answers.batches(self._of(self.answers))
        )
        first = 0
        for batch in self.rows.batches(self._of(self.rows)):
            if self.repetitions > 1:
                batch = batch.take(pa.array(np.repeat(np.arange(len(batch)), self.repetitions)))  # noqa: PLW2901
            told = answers.take(pa.array(np.arange(first, first + len(batch))))
            beside = [told.column(each.name) if each.name in told.schema.names else None for each in self._told]
            columns = [
                pa.nulls(len(batch), each.type) if column is None else column.cast(each.type)
                for column, each in zip(beside, self._told, strict=True)
            ]
            counted = self._counted(first, len(batch))
            yield pa.RecordBatch.from_arrays([*batch.columns, *columns, *counted.columns], schema=schema)
            first += len(batch)

    def _counted(self, first: int, size: int) -> pa.RecordBatch:
        """Which row and which of its repetitions each answer is."""
        rows, times = np.divmod(np.arange(first, first + size), self.repetitions)
        columns = {ROW: pa.array(rows + 1), REPETITION: pa.array(times + 1)}
        return pa.RecordBatch.from_pydict(columns if self.repetitions > 1 else {})
