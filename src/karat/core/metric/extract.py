"""The final answer of a reply, taken out of it before a metric sees it: the setting `extract`.

The core knows no way to do so; the ways come in by name through `add_extractor`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import pyarrow as pa

from karat.core.errors import SpecError, did_you_mean
from karat.core.plugins import EXTRACTORS, load_plugins

Extract: TypeAlias = Callable[[pa.Array, str], pa.Array]
"""From texts without nulls, and what stands behind the colon, to texts: null where nothing is found."""


@dataclass(frozen=True)
class _Way:
    extract: Extract
    needs: str


_ways: dict[str, _Way] = {}


def add_extractor(name: str, extract: Extract, *, needs: str = "") -> None:
    """Offer a way to extract answers: `extract="name"`, or `extract="name:…"` where it needs something."""
    _ways[name] = _Way(extract, needs)


def extract_answers(column: pa.Array, how: str) -> pa.Array:
    """The final answer of each text, null where none is found; `SpecError` for a way that does not exist."""
    name, _, rest = how.partition(":")
    return _find(name).extract(column, rest)


def check_extract(how: Any) -> None:
    """Raise `SpecError` unless answers can be extracted so."""
    if how == "none":
        return
    if not isinstance(how, str):
        raise SpecError("the name of a way to extract answers is expected")
    name, colon, rest = how.partition(":")
    needs = _find(name).needs
    if needs and not rest:
        raise SpecError(f"{name}:{needs} is expected")
    if colon and not needs:
        raise SpecError(f"{name} alone is expected")
    extract_answers(pa.array([""]), how)  # raises where the rest means nothing


def _find(name: str) -> _Way:
    if name not in _ways:
        import_module(EXTRACTORS)
    if name not in _ways:
        load_plugins()
    if name not in _ways:
        raise SpecError(f"there is no such way to extract answers{did_you_mean(name, ['none', *_ways])}")
    return _ways[name]
