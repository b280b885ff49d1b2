"""The manifest of a run: the call, what it reads, the code, the versions and the machine."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from karat.core.context import current_context
from karat.core.metric.metric import Metric
from karat.core.parallel import threads
from karat.core.version import __version__
from karat.data.source import Source
from karat.data.storage.addresses import hide_secrets
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import Plan
from karat.runs.scoring.provenance.models import find_endpoints
from karat.runs.scoring.provenance.own_code import digest_function
from karat.runs.store.manifest import CERTIFICATES, CODE, ENDPOINTS, UNTIL, Manifest, describe_metric

_LIBRARIES = (
    "numpy", "pyarrow", "duckdb", "regex", "rapidfuzz", "sacrebleu", "sympy", "sentence_transformers",
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
    endpoints = find_endpoints(plan.metrics)
    settings = {**selection.as_settings(), **asdict(plan.inference), **task, **_own_code(plan.metrics)}
    settings |= {} if plan.until is None else {UNTIL: asdict(plan.until)}
    return Manifest(
        name=name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        metrics=tuple(describe_metric(metric, column) for metric, column in metrics),
        mapping=plan.mapping,
        settings=settings | ({ENDPOINTS: endpoints} if endpoints else {}) | _certificates(),
        sources=sources,
        call=_command_line(),
        versions=find_versions(),
        machine={"system": platform.platform(), "processor": platform.machine(), "threads": threads(), **_encoders()},
        n=plan.source.rows,
        clusters_in=plan.clusters,
    )


def _certificates() -> dict[str, Any]:
    """What certificates say of the judges, where the user named a file of them."""
    certificates = current_context().certificates
    return {CERTIFICATES: dict(certificates)} if certificates else {}


def _encoders() -> dict[str, Any]:
    """Where encoders run, as far as the user chose it."""
    machine = current_context().machine
    return {} if machine is None else {name: value for name, value in asdict(machine).items() if value is not None}


def _own_code(metrics: Iterable[Metric]) -> dict[str, str]:
    """The digest of the code of each metric that is not karat's, which a signature does not have."""
    digests, left = {}, [each.definition for each in metrics]
    for definition in left:
        left += [] if definition.inner is None else [definition.inner.definition]
        if not definition.function.__module__.startswith("karat."):
            with suppress(OSError, TypeError):  # there is no source
                digests[CODE + definition.name] = digest_function(definition.function)
    return digests


def _source_name(source: Any) -> str:
    if isinstance(source, Source):
        return source.name
    return hide_secrets(os.fspath(source)) if isinstance(source, str | PathLike) else type(source).__name__


def _command_line() -> str:
    program, *words = sys.argv or ["python"]
    called = "python -m karat" if Path(program).name == "__main__.py" else shlex.quote(Path(program).name)
    settings = f"  # {text}" if (text := current_context().settings) else ""
    return " ".join([called, *(shlex.quote(hide_secrets(word)) for word in words)]) + settings


def find_versions() -> dict[str, str]:
    """The versions of karat, of Python and of the libraries that are loaded."""
    used = {name: getattr(sys.modules.get(name), "__version__", None) for name in _LIBRARIES}
    versions = {name: str(version) for name, version in used.items() if version is not None}
    return {"karat": __version__, "python": platform.python_version(), **versions}
