"""What karat's operators extend: DataFlow's operators where it is installed; and how they read and write frames."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from karat.core.errors import ColumnError, did_you_mean


def find_operator(module: str, name: str) -> Any:
    """DataFlow's operator of this name; else the class that all its operators extend; `object` without DataFlow."""
    for home, each in ((f"dataflow.operators.{module}", name), ("dataflow.core", "OperatorABC")):
        try:
            return getattr(import_module(home), each)
        except (ImportError, AttributeError):  # not installed, or without what only this operator of DataFlow's needs
            continue
    return object


def prepare(operator: Any) -> None:
    """What DataFlow does for every operator, without what its own of this name does: no model is loaded."""
    try:
        import_module("dataflow.core").OperatorABC.__init__(operator)
    except (ImportError, AttributeError):
        operator.logger = logging.getLogger("DataFlow")


def read_frame(storage: Any, columns: Iterable[str]) -> Any:
    """The storage's frame; `ColumnError` where it lacks one of the columns."""
    frame = storage.read("dataframe")
    names = [str(name) for name in frame.columns]
    for column in columns:
        if column not in names:
            raise ColumnError(f"there is no column {column!r}{did_you_mean(column, names)}")
    return frame


def write_statistics(path: str | Path, statistics: Mapping[str, Any]) -> None:
    """Write DataFlow's file of statistics: a list with one object."""
    file = Path(path)  # a pipeline may have set it to a text
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps([statistics], indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
