"""What is fuzzed: every public function of these modules, each with the bytes of an input; its name is the target's.

A target fails by any exception that is not karat's own: by a crash, and by an assertion that does not hold. `kernels`
compares compiled kernels with their definitions. The others try what karat reads: files (`readers`), what people type
(`typed`), what models reply (`replies`), what karat stored (`stored`), and what a browser sends (`pages`).
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

SCRATCH = Path(tempfile.gettempdir()) / f"karat-fuzz-{os.getpid()}"
"""A folder of this process, for files that targets write."""
ROOMS = ("kernels", "pages", "readers", "replies", "stored", "typed")


def find_targets() -> dict[str, Callable[[bytes], Any]]:
    """The targets, by name."""
    modules = [import_module(f"targets.{room}") for room in ROOMS]
    functions = [each for module in modules for each in inspect.getmembers(module, inspect.isfunction)
                 if each[1].__module__ == module.__name__]  # fmt: skip
    return {name: each for name, each in functions if list(inspect.signature(each).parameters) == ["data"]}


def decode(data: bytes) -> str:
    """The text of an input."""
    return data.decode("utf-8", "replace")


def split(data: bytes, cells: int) -> list[list[str]]:
    """The lines of an input, each with so many cells, which tabs part."""
    return [(line.split("\t") + [""] * cells)[:cells] for line in decode(data).split("\n")]


def write(name: str, data: bytes) -> Path:
    """A file with these bytes."""
    SCRATCH.mkdir(exist_ok=True)
    path = SCRATCH / name
    path.write_bytes(data)
    return path


def take_single_rows(source: Any) -> Any:
    """The source in batches of one row, with the same first rows, by which columns and paths are chosen."""

    def read(text: frozenset[str]) -> Iterator[Any]:
        return (batch.slice(at, 1) for batch in source.read(text) for at in range(len(batch)))

    single = replace(source, read=read, parts=())
    vars(single)["first"] = source.first
    return single
