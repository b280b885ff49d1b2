"""The answers of a task: collected through a governor, stored on the disk as they come, and read beside the rows."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.atomic import write_text
from karat.core.columns.python_values import rows_to_python
from karat.core.errors import ColumnError, DataError
from karat.data.source import Source
from karat.data.storage.batches import DiskTable
from karat.data.storage.checksums import read_json, seal, unseal
from karat.data.storage.files import temporary_folder
from karat.models.governor.faults import RequestError
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import Request
from karat.runs.experiment.task import RowTask, TaskModel, failed_reply
from karat.runs.store.folders import SETTINGS, answers_folder, partial_folder, run_folder, runs_folder
from karat.runs.store.lock import lock
from karat.runs.store.manifest import read_manifest
from karat.runs.store.unfinished import check_name_free, check_resumed, check_unchanged, other_name

ROW, REPETITION, ERROR = "row", "repetition", "error"
_ANSWERS = "answers.jsonl"
_SLICE = 512  # rows converted to Python objects at a time


@contextmanager
def open_answers(name: str | None, settings: dict[str, Any], *, resume: bool) -> Iterator[Path]:
    """A folder for the answers of an experiment, which stays until its run is finished; without a name a temporary one.

    Raises `DataError` where a run of that name exists, was started with other settings, or is being written by another
    process.
    """
    if name is None:
        with temporary_folder() as temporary:
            yield Path(temporary)
        return
    run = run_folder(name)
    if not isinstance(run, Path):
        problem = "an experiment stores each answer as it comes, which needs a disk"
        raise DataError(f"run {name}: KARAT_RUNS is {runs_folder()}, and {problem}: set it to a folder")
    folder = Path(answers_folder(run))
    if not folder.exists() and Path(partial_folder(run)).exists():
        call = read_manifest(partial_folder(run)).call
        remedy = f"continue it with the same command and --resume, {other_name(name)}"
        raise DataError(f"run {name} was started without a task, by `{call}`: {remedy}")
    folder.mkdir(parents=True, exist_ok=True)
    with lock(folder / "lock", name):
        if run.exists():
            shutil.rmtree(folder)
        check_name_free(run)
        path = folder / SETTINGS
        if path.exists():
            check_resumed(name, resume=resume)
            check_unchanged(name, (unseal(read_json(path), path), settings))
        else:
            write_text(path, json.dumps(seal(settings), ensure_ascii=False))
        yield folder
        if run.exists():
            shutil.rmtree(folder)


def answer_rows(
    governor: Governor, store: ReplyCache, folder: Path, rows: Source, task: RowTask, repetitions: int
) -> Path:
    """Call the task for every row, `repetitions` times: the file of the answers, one JSON object each, in row order.

    `store` is the one in which `governor` stores replies: only rows without a reply there are asked.
    """

    async def ask(numbered: tuple[int, dict[str, Any]]) -> str:
        sample, row = numbered
        model = TaskModel(task, row)
        content = json.dumps(row, default=str)
        request = Request([{"role": "user", "content": content}], sample=sample)
        key = request.key(model.endpoint, model.name)
        try:
            reply = await governor.ask(model, request)
        except RequestError as error:
            governor.totals.failed -= 1  # it is counted below, as an answer that is an error
            reply = store.put(key, failed_reply(str(error)))
        answer = json.loads(reply.text)
        governor.totals.failed += answer.get("error") is not None
        if taken := answer.keys() & columns:
            raise ColumnError(f"the task returned {', '.join(map(repr, sorted(taken)))}, which the rows already have")
        return key

    first, columns = 0, {*rows.schema.names, *((ROW, REPETITION) if repetitions > 1 else ())}
    with (folder / _ANSWERS).open("w", encoding="utf-8") as file:
        for batch in rows.batches():
            keys = governor.map(ask, _number_answers(batch, first, repetitions))
            file.writelines(f"{reply.text}\n" for reply in map(store.get, keys) if reply)
            first += len(batch) * repetitions
    return folder / _ANSWERS


def _number_answers(batch: pa.RecordBatch, first: int, repetitions: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row, `repetitions` times, with the number of its answer."""
    for start in range(0, len(batch), _SLICE):
        for row in rows_to_python(batch.slice(start, _SLICE), json.loads):
            for _ in range(repetitions):
                yield first, row.copy()
                first += 1


@dataclass(frozen=True)
class AnsweredRows:
    """The rows with the columns of their answers, as a table for Arrow that can be read several times.

    Where rows were answered several times, the columns `row`
    and `repetition` (from 1) identify the answers.
    """

    rows: Source
    answers: Source
    repetitions: int

    def __len__(self) -> int:
        return self.answers.rows or 0

    def count_errors(self) -> Counter[str]:
        """How many rows have each error."""
        at = self.answers.schema.get_field_index(ERROR)
        columns = (batch.column(at) for batch in self.answers.batches())
        return Counter(str(each) for column in columns for each in column.drop_null().to_pylist())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self._schema, self._batches(self._schema))
        return reader.__arrow_c_stream__(requested_schema)

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema([*self.rows.schema, *self._answer_schema, *self._numbers(0, 0).schema])

    @property
    def _answer_schema(self) -> pa.Schema:
        """The columns of the answers, errors last; a column of null predictions where no row has an answer."""
        columns = [each for each in self.answers.schema if each.name != ERROR]
        return pa.schema([*(columns or [("prediction", pa.string())]), (ERROR, pa.string())])

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        answers = DiskTable(self.answers.schema, self.answers.batches())
        first = 0
        for batch in self.rows.batches():
            if self.repetitions > 1:
                batch = batch.take(pa.array(np.repeat(np.arange(len(batch)), self.repetitions)))  # noqa: PLW2901
            taken = answers.take(pa.array(np.arange(first, first + len(batch))))
            names, columns = taken.schema.names, []
            for name, kind in zip(self._answer_schema.names, self._answer_schema.types, strict=True):
                columns.append(taken.column(name).cast(kind) if name in names else pa.nulls(len(batch), kind))
            numbers = self._numbers(first, len(batch))
            yield pa.RecordBatch.from_arrays([*batch.columns, *columns, *numbers.columns], schema=schema)
            first += len(batch)

    def _numbers(self, first: int, size: int) -> pa.RecordBatch:
        """The number of the row and of the repetition of each answer; no columns without repetitions."""
        rows, times = np.divmod(np.arange(first, first + size), self.repetitions)
        columns = {ROW: pa.array(rows + 1), REPETITION: pa.array(times + 1)}
        return pa.RecordBatch.from_pydict(columns if self.repetitions > 1 else {})
