"""Where a run comes from: what was called, on what, with which versions, on which machine."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from karat.core.parallel import threads
from karat.core.version import __version__
from karat.data.source import Source
from karat.runs.scoring.plan import Plan
from karat.runs.store.manifest import Manifest, Scored, note

_LIBRARIES = (
    "numpy", "pyarrow", "duckdb", "regex", "rapidfuzz", "sacrebleu", "sympy", "openai", "sentence_transformers",
    "onnxruntime", "haystack",
)  # fmt: skip


def describe(planned: Plan, name: str, data: Any, gold: Any, settings: Mapping[str, Any]) -> Manifest:
    """What is known of a run before its first row is read."""
    sources = {"data": data} | ({} if gold is None else {"gold": gold})
    return Manifest(
        name=name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        metrics=tuple(_metrics(planned)),
        mapping=planned.mapping,
        settings=settings,
        sources={side: _called(source) for side, source in sources.items()},
        call=_command(),
        versions=_versions(),
        machine={"system": platform.platform(), "processor": platform.machine(), "threads": threads()},
    )


def _metrics(planned: Plan) -> list[Scored]:
    """Each metric with the column that its scores have among the rows."""
    added = iter(planned.schema.names[len(planned.source.schema) :])
    noted = []
    for metric in planned.metrics:
        noted.append(note(metric, next(added)))
        for _ in metric.details:
            next(added)
    return noted


def _called(source: Any) -> str:
    if isinstance(source, Source):
        return source.name
    return os.fspath(source) if isinstance(source, str | PathLike) else type(source).__name__


def _command() -> str:
    """The command line of this process."""
    program, *words = sys.argv or ["python"]
    called = "python -m karat" if Path(program).name == "__main__.py" else shlex.quote(Path(program).name)
    return " ".join([called, *map(shlex.quote, words)])


def _versions() -> dict[str, str]:
    """Versions of karat, of Python and of the libraries in use."""
    used = {name: getattr(sys.modules.get(name), "__version__", None) for name in _LIBRARIES}
    found = {name: str(version) for name, version in used.items() if version is not None}
    return {"karat": __version__, "python": platform.python_version(), **found}
