"""The context of the running code: one context variable, which holds one frozen `Context`.

Threads of a pool start with an empty context; asyncio tasks copy the one they are made in.

>>> with change_context(progress=print):
...     current_context().progress is print
True
>>> current_context().progress is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Context:
    """What the running code is a part of. The floors above core fill the fields whose types they define.

    `column_cache`: results computed from a batch's columns, shared by its metrics (`karat.core.columns.column_cache`).
    `progress`: called with a number of finished rows (`karat.core.progress`).
    `evaluation`: the OpenTelemetry span of the evaluation (`karat.core.telemetry`).
    `models`: the governor, and how a model's name becomes a model (`karat.models.context`).
    `task_group`: the rows that are processed together and stop together (`karat.models.governor.task_group`).
    `watched`: the governors, besides that of `models`, whose calls and errors a line of progress counts.
    `agenda`: who decides which rows a judge asks, in which order, and when it stops (`karat.judges.votes`).
    `narrowing`: where the last word on an interval goes, as it narrows while a judge is asked (`karat.core.progress`).
    `model_errors`: where a judge puts the error that stopped it, instead of raising it (`karat.judges.judge`).
    `rehearses`: requests are only counted, or written to a file: none is answered (`karat.models.batch`).
    `runs`: the folder of all runs, in place of the one that the environment names (`karat.runs.store.folders`).
    `run`: the key of the run that is scored, under which its calls to models are recorded.
    `machine`: where encoders run (`karat.models.encoders.machine`).
    `settings`: the options of the command that are from a settings file, as one would type them.
    `rubrics`: the files of judges, by name, in place of those on this machine (`karat.judges.rubric`).
    `certificates`: what certificates say of the judges that are asked, by spec (`karat.runs.judge.exam.certificates`).
    `threads`: how many threads may compute; overrides the automatic number (`karat.core.parallel`).
    `stop`: whether the work of this thread is still wanted (`karat.core.parallel`).
    """

    column_cache: dict[Any, Any] | None = None
    progress: Callable[[int], None] | None = None
    evaluation: Any = None
    models: Any = None
    task_group: Any = None
    watched: list[Any] | None = None
    agenda: Any = None
    narrowing: Any = None
    model_errors: list[Any] | None = None
    rehearses: bool = False
    runs: str | None = None
    run: str | None = None
    machine: Any = None
    settings: str = ""
    rubrics: Mapping[str, str] = field(default_factory=dict)
    certificates: Mapping[str, str] = field(default_factory=dict)
    threads: int | None = None
    stop: Any = None


_context: ContextVar[Context] = ContextVar("karat", default=Context())  # noqa: B039  (it is frozen)


def current_context() -> Context:
    """The context of the running code."""
    return _context.get()


@contextmanager
def change_context(**fields: Any) -> Iterator[None]:
    """Within the block the context has other values in these fields."""
    token = _context.set(replace(_context.get(), **fields))
    try:
        yield
    finally:
        _context.reset(token)
