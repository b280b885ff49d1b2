"""Of which system a row of labels is: its column `system` has the name of a run, or of a file of scored rows."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import PurePath
from typing import Any

from karat.data.open import open_source
from karat.data.storage.file_names import split_name

SYSTEM = "system"
"""The column beside labels that says whose answer was labelled."""


def find_system(name: str, systems: Iterable[str]) -> str | None:
    """The one of `systems` that has this name, or whose file is called so, with or without its folder and ending.

    >>> find_system("gpt", ["runs/gpt.csv", "bert.csv"]), find_system("out/bert.csv", ["bert"]), find_system("x", ["y"])
    ('runs/gpt.csv', 'bert', None)
    """
    several = list(systems)
    if name in several:
        return name
    alike = [each for each in several if _stem(each) == _stem(name)]
    return alike[0] if len(alike) == 1 else None


def list_systems(source: Any) -> list[str | None]:
    """The systems that a table of labels, or a list of files of them, names, in order; None for rows that name none."""
    listed = isinstance(source, list | tuple) and all(isinstance(each, str | PathLike) for each in source)
    systems = dict[str | None, None]()
    for each in source if listed else [source]:
        opened = open_source(each)
        if SYSTEM in opened.schema.names:
            for batch in opened.batches([SYSTEM]):
                systems.update(dict.fromkeys(batch.column(SYSTEM).to_pylist()))
    return list(systems)


def _stem(name: str) -> str:
    path = PurePath(name)
    kind, compression = split_name(name)
    path = path.with_suffix("") if compression else path
    return path.stem if kind else path.name
