"""The provenance of a run: the call, what it read, the versions and the machine, and its use of models."""

from __future__ import annotations

import inspect
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.core.metric.metric import Metric
from karat.core.parallel import threads
from karat.core.version import __version__
from karat.data.source import Source
from karat.data.storage.addresses import hide_secrets
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import Plan
from karat.runs.store.manifest import CODE, Manifest, describe_metric

if TYPE_CHECKING:
    from karat.models.governor.budget import Totals
    from karat.models.governor.governor import Governor

_LIBRARIES = (
    "numpy", "pyarrow", "duckdb", "regex", "rapidfuzz", "sacrebleu", "sympy", "aiohttp", "sentence_transformers",
    "onnxruntime", "haystack",
)  # fmt: skip


def describe_run(plan: Plan, selection: Selection, name: str, task: Mapping[str, Any] | None = None) -> Manifest:
    """The manifest of a run before its first row is read.

    `selection` is the user's; `task` has, for an experiment, the name of the `task` and other settings.
    """
    task = task or {}
    sources = {"data": _source_name(selection.data)}
    if selection.gold is not None:
        sources["gold"] = _source_name(selection.gold)
    if "task" in task:
        sources["task"] = task["task"]
    metrics = zip(plan.metrics, plan.output.scores, strict=True)
    return Manifest(
        name=name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        metrics=tuple(describe_metric(metric, column) for metric, column in metrics),
        mapping=plan.mapping,
        settings={**selection.as_settings(), **asdict(plan.inference), **task, **_own_code(plan.metrics)},
        sources=sources,
        call=_command_line(),
        versions=_versions(),
        machine={"system": platform.platform(), "processor": platform.machine(), "threads": threads()},
    )


class ModelUsage:
    """The models that the judges among some metrics ask, and what they used since this was created."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._judges = [metric.judge for metric in metrics if metric.judge is not None]
        self._before: list[tuple[Governor, Totals]] = []
        if self._judges:
            from karat.models.context import current_models  # noqa: PLC0415  (only for judges)

            governors = dict.fromkeys(each.definition.governor or current_models().governor for each in self._judges)
            self._before = [(governor, replace(governor.totals)) for governor in governors]

    def since_start(self) -> dict[str, Any] | None:
        """The names of the models, and the calls, tokens and USD since the start; None without a judge."""
        if not self._judges:
            return None
        models = [metric.settings["model"] for metric in self._judges]
        names = [name for each in models for name in ([each] if isinstance(each, str) else each or [])]
        totals: dict[str, Any] = {}
        for governor, before in self._before:
            earlier = asdict(before)
            for what, now in asdict(governor.totals).items():
                if now is not None:
                    totals[what] = totals.get(what, 0) + now - (earlier[what] or 0)
        return {"names": list(dict.fromkeys(names)), **totals}


def _own_code(metrics: Iterable[Metric]) -> dict[str, str]:
    """The digest of the source of each metric that is not karat's: the file of its module, else its function.

    A signature does not have it, so a stopped run would go on with other code.
    """
    digests, left = {}, [each.definition for each in metrics]
    for definition in left:
        left += [] if definition.inner is None else [definition.inner.definition]
        if definition.function.__module__.startswith("karat."):
            continue
        with suppress(OSError, TypeError):  # there is none: defined in a shell, or compiled
            function = inspect.unwrap(definition.function)
            in_file = inspect.getmodule(function) if function.__module__ != "__main__" else None
            source = inspect.getsource(in_file or function)
            digests[CODE + definition.name] = sha256(source.encode()).hexdigest()[:32]
    return digests


def _source_name(source: Any) -> str:
    if isinstance(source, Source):
        return source.name
    return hide_secrets(os.fspath(source)) if isinstance(source, str | PathLike) else type(source).__name__


def _command_line() -> str:
    program, *words = sys.argv or ["python"]
    called = "python -m karat" if Path(program).name == "__main__.py" else shlex.quote(Path(program).name)
    return " ".join([called, *(shlex.quote(hide_secrets(word)) for word in words)])


def _versions() -> dict[str, str]:
    """The versions of karat, of Python and of the libraries that are loaded."""
    used = {name: getattr(sys.modules.get(name), "__version__", None) for name in _LIBRARIES}
    found = {name: str(version) for name, version in used.items() if version is not None}
    return {"karat": __version__, "python": platform.python_version(), **found}
