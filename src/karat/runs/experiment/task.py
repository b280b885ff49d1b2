"""A task: a function, sync or async, that predicts a row, and the model through which a governor calls it."""

from __future__ import annotations

import asyncio
import dis
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

from karat.core.errors import DataError, SpecError, did_you_mean
from karat.core.plugins import load_file
from karat.data.storage.files import read_small
from karat.models.governor.faults import classify
from karat.models.request import Reply
from karat.runs.scoring.provenance.own_code import digest_source

_NOTHING = (
    *("RESUME", "NOP", "LOAD_CONST", "LOAD_COMMON_CONSTANT", "RETURN_CONST", "RETURN_VALUE"),
    *("RETURN_GENERATOR", "POP_TOP", "CALL_INTRINSIC_1", "RERAISE"),
)
"""The instructions of a function that returns a constant."""

Predict: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Any]]
"""An async function from a row to its prediction."""


@dataclass(frozen=True)
class Task:
    """A user's function, its name, and the digest of its code (None where there is no source)."""

    name: str
    function: Callable[..., Any]
    digest: str | None

    def bind(self, columns: Sequence[str]) -> Predict:
        """The function as an async function of a row.

        It gets the columns that its parameters name, else the row. A function that is not async runs in a thread.
        Raises `SpecError` for parameters that fit neither, and for a function that is empty, as in a template.
        """
        function, names = self.function, self._parameter_columns(columns)
        if _is_empty(function):
            problem = "it is not filled in and answers nothing"
            raise SpecError(
                f"task {self.name}: {problem}; call your system in it, return its answer, and run this again"
            )
        direct = any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004

        async def predict(row: Mapping[str, Any]) -> Any:
            call = partial(function, row) if names is None else partial(function, **{name: row[name] for name in names})
            answer = call() if direct else await _run_in_thread(call)
            return await answer if inspect.isawaitable(answer) else answer

        return predict

    def _parameter_columns(self, columns: Sequence[str]) -> list[str] | None:
        """The columns that the function gets as named arguments; None where it gets the row."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except ValueError:  # some compiled functions have no signature
            return None
        if any(each.kind is each.VAR_KEYWORD for each in parameters):
            return list(columns)
        named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
        missing = [each.name for each in named if each.default is each.empty and each.name not in columns]
        present = [each.name for each in named if each.name in columns]
        if present and not missing and len(named) == len(parameters):
            return present
        needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_POSITIONAL]
        if parameters and len(needed) <= 1 and all(each.kind is not each.KEYWORD_ONLY for each in needed):
            return None
        which = f"; there is no column {missing[0]!r}{did_you_mean(missing[0], columns)}" if missing else ""
        expected = "the row, as its only parameter, nor columns by their names"
        raise SpecError(f"task {self.name} takes neither {expected}{which}")


def load_task(task: str | Callable[..., Any]) -> Task:
    """The task for a function, or for the function that `FILE.py:FUNCTION` names.

    Raises `SpecError` where there is no such function, `DataError` for a file that cannot be run.
    """
    if isinstance(task, str):
        return _load_file(task)
    if not callable(task):
        raise SpecError(f"a task is a function or FILE.py:FUNCTION, found {type(task).__name__}")
    function = getattr(task, "__qualname__", type(task).__name__)
    try:
        name, source = f"{Path(inspect.getfile(task)).name}:{function}", inspect.getsource(task)
    except (OSError, TypeError):  # defined in a shell, or a callable object
        return Task(function, task, None)
    return Task(name, task, digest_source(source.encode(), inspect.getmodule(task)))


def _is_empty(function: Callable[..., Any]) -> bool:
    """Whether a function does nothing but return None or an empty text, or raise `NotImplementedError`.

    >>> _is_empty(lambda question: ""), _is_empty(lambda question: question)
    (True, False)
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    if code.co_names == ("NotImplementedError",):
        return True
    steps = list(dis.get_instructions(code))
    returned = [step.argval for step in steps if "CONST" in step.opname]
    return all(step.opname in _NOTHING for step in steps) and all(value in (None, "", ...) for value in returned)


def _load_file(name: str) -> Task:
    file, colon, wanted = name.rpartition(":")
    if not (colon and file and wanted):
        raise SpecError(f"task {name!r}: expected FILE.py:FUNCTION")
    try:
        module, source = load_file(file), read_small(Path(file))
    except OSError as error:
        raise DataError(f"task {file} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(function := getattr(module, wanted, None)):
        functions = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
        raise SpecError(f"task {file} has no function {wanted!r}{did_you_mean(wanted, functions)}")
    return Task(name, function, digest_source(source, module))


@dataclass(frozen=True)
class RowTask:
    """A task bound to the columns of a table, with the limits of a row: `timeout` in seconds of each of `attempts`."""

    predict: Predict
    timeout: float
    attempts: int


class TaskModel:
    """A task and one row, as a model that a governor asks; its reply is the row's answer or its error.

    Errors that may pass are raised until the last attempt, so that the governor waits and asks again.
    """

    endpoint = "task"
    name = ""

    def __init__(self, task: RowTask, row: Mapping[str, Any]) -> None:
        self._task, self._row, self._calls = task, row, 0

    async def __call__(self, *_: Any) -> Reply:
        self._calls += 1
        limit = asyncio.timeout(self._task.timeout)
        try:
            async with limit:
                return Reply(_to_json(await self._task.predict(self._row)))
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            cause = TimeoutError(f"no answer within {self._task.timeout:g} s") if limit.expired() else error
            fault = classify(cause)
            may_pass = fault.kind in ("overload", "transient")
            if may_pass and self._calls < self._task.attempts:
                raise cause from error
            return failed_reply(f"{fault.message} (attempts: {self._calls})" if may_pass else fault.message)


def failed_reply(message: str) -> Reply:
    """The reply for a row without an answer."""
    return Reply(json.dumps({"error": message}, ensure_ascii=False))


def _to_json(answer: Any) -> str:
    columns = answer if isinstance(answer, Mapping) else {"prediction": answer}
    text = json.dumps({**columns, "error": columns.get("error")}, ensure_ascii=False, allow_nan=False, default=_as_list)
    text.encode()  # raises for a lone surrogate
    return text


def _as_list(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"the task returned {type(value).__name__}; expected text, numbers, lists or a dict of columns")


async def _run_in_thread(call: Callable[[], Any]) -> Any:
    """Run a call in a thread of its own; if this is cancelled, the thread is not waited for."""
    loop, context = asyncio.get_running_loop(), copy_context()
    finished: asyncio.Future[None] = loop.create_future()
    answers: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(context.run(call))
        except BaseException as error:  # noqa: BLE001  (raised again below)
            errors.append(error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: None if finished.done() else finished.set_result(None))

    Thread(target=work, name="karat task", daemon=True).start()
    await finished
    if errors:
        raise errors[0]
    return answers[0]
