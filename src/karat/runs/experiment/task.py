"""A task: a function, sync or async, that makes a row's prediction, and how it is asked until it has an outcome."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

from karat.core.errors import DataError, SpecError, did_you_mean
from karat.models.governor.faults import classify
from karat.models.request import Reply

Call: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Any]]
"""What makes a row's prediction."""


@dataclass(frozen=True)
class Task:
    """A function, what it is called, and a digest of the source it was read from (None where there is none)."""

    name: str
    function: Callable[..., Any]
    digest: str | None

    def bind(self, columns: Sequence[str]) -> Call:
        """The function as an async one of a row: given its columns where its parameters are called so, else the row.

        One that is not async is called in a thread. Raises `SpecError` for a function that takes neither.
        """
        function, names = self.function, self._names(columns)
        direct = any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004

        async def call(row: Mapping[str, Any]) -> Any:
            called = (
                partial(function, row) if names is None else partial(function, **{name: row[name] for name in names})
            )
            given = called() if direct else await _in_thread(called)
            return await given if inspect.isawaitable(given) else given

        return call

    def _names(self, columns: Sequence[str]) -> list[str] | None:
        """The columns that the function is given by name; None where it is given the row."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except ValueError:  # some that are compiled do not say
            return None
        if any(each.kind is each.VAR_KEYWORD for each in parameters):
            return list(columns)
        named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
        missing = [each.name for each in named if each.default is each.empty and each.name not in columns]
        given = [each.name for each in named if each.name in columns]
        if given and not missing and len(named) == len(parameters):
            return given
        needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_POSITIONAL]
        if parameters and len(needed) <= 1 and all(each.kind is not each.KEYWORD_ONLY for each in needed):
            return None
        which = f"; there is no column {missing[0]!r}{did_you_mean(missing[0], columns)}" if missing else ""
        raise SpecError(f"task {self.name} takes neither the row, as one parameter, nor columns by their names{which}")


def find_task(task: str | Callable[..., Any]) -> Task:
    """The task that a function is, or the one that `FILE.py:FUNCTION` names.

    Raises `SpecError` for what names no function, `DataError` for a file that cannot be run.
    """
    if isinstance(task, str):
        return _load(task)
    if not callable(task):
        raise SpecError(f"a task is a function of the row, or FILE.py:FUNCTION; found {type(task).__name__}")
    called = getattr(task, "__qualname__", type(task).__name__)
    try:
        name, source = f"{Path(inspect.getfile(task)).name}:{called}", inspect.getsource(task)
    except (OSError, TypeError):  # made in a shell, or a callable object
        return Task(called, task, None)
    return Task(name, task, _digest(source.encode()))


def _load(name: str) -> Task:
    file, colon, wanted = name.rpartition(":")
    if not (colon and file and wanted):
        raise SpecError(f"task {name!r}: FILE.py:FUNCTION is expected")
    path = Path(file)
    spec = spec_from_file_location(f"karat_task_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SpecError(f"task {name!r}: {file} is no file of Python: FILE.py:FUNCTION is expected")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # as what it defines says of itself
    sys.path.insert(0, str(path.resolve().parent))
    try:
        source = path.read_bytes()
        spec.loader.exec_module(module)
    except Exception as error:
        raise DataError(f"task {file} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(function := getattr(module, wanted, None)):
        there = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
        raise SpecError(f"task {file} has no function {wanted!r}{did_you_mean(wanted, there)}")
    return Task(name, function, _digest(source))


def _digest(source: bytes) -> str:
    return sha256(source).hexdigest()[:32]


class Asked:
    """A task and one row, as a model that a governor asks: its reply is the row's outcome, an error among them.

    What asking again may mend is raised until the last attempt, so that the governor waits and asks again.
    """

    endpoint = "task"
    name = ""

    def __init__(self, call: Call, row: Mapping[str, Any], timeout: float, attempts: int) -> None:
        self._call, self._row = call, row
        self._timeout, self._attempts, self._done = timeout, attempts, 0

    async def __call__(self, *_: Any) -> Reply:
        self._done += 1
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                return Reply(_spell(await self._call(self._row)))
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            late = limit.expired()
            said = TimeoutError(f"no answer within {self._timeout:g} s") if late else error
            fault = classify(said)
            again = fault.kind in ("overload", "transient")
            if again and self._done < self._attempts:
                raise said from error
            return failed(f"{fault.message} (attempts: {self._done})" if again else fault.message)


def failed(message: str) -> Reply:
    """The outcome of a row that has no answer."""
    return Reply(json.dumps({"error": message}, ensure_ascii=False))


def _spell(answer: Any) -> str:
    """An answer as a JSON object: the columns that it gives."""
    columns = answer if isinstance(answer, Mapping) else {"prediction": answer}
    text = json.dumps({**columns, "error": columns.get("error")}, ensure_ascii=False, allow_nan=False, default=_plain)
    text.encode()  # half a surrogate pair is no character
    return text


def _plain(value: Any) -> Any:
    """Values of numpy as those of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"the task gave {type(value).__name__}; text, numbers, lists or a dict of columns are expected")


async def _in_thread(call: Callable[[], Any]) -> Any:
    """What a call gives in a thread of its own; one that takes too long is left behind there."""
    loop, context = asyncio.get_running_loop(), copy_context()
    ended: asyncio.Future[None] = loop.create_future()
    outcome: list[Any] = []
    trouble: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(context.run(call))
        except BaseException as error:  # noqa: BLE001  (raised again where it is waited for)
            trouble.append(error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(None))

    Thread(target=work, name="karat task", daemon=True).start()
    await ended
    if trouble:
        raise trouble[0]
    return outcome[0]
