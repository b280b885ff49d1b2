"""The setting `extract`: the final answer of a reply is extracted before the reply is scored.

The extractors themselves are registered by name with `add_extractor`; karat's own are in `karat.text.extract`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

from karat.core.errors import SpecError, did_you_mean
from karat.core.plugins import load_plugins

Extract: TypeAlias = Callable[[pa.Array, str], pa.Array]
"""From texts without nulls, and the argument after the colon, to the answers: null where there is none."""


_extractors: dict[str, tuple[Extract, str]] = {}  # with what the argument is


def add_extractor(name: str, extract: Extract, *, needs: str = "") -> None:
    """Register an extractor: `extract="name"`, or `extract="name:…"` where it takes an argument.

    `needs` describes the argument in error messages; it is empty where there is none.
    """
    _extractors[name] = extract, needs


def extract_answers(column: pa.Array, how: str) -> pa.Array:
    """The final answer of each text, null where there is none; raises `SpecError` for an unknown extractor."""
    name, _, rest = how.partition(":")
    return _find(name)[0](column, rest)


def check_extract(how: Any) -> None:
    """Raise `SpecError` unless the setting names an extractor, with an argument where it needs one."""
    if how == "none":
        return
    if not isinstance(how, str):
        raise SpecError("the name of an extractor is expected, such as 'boxed'")
    name, colon, rest = how.partition(":")
    _, needs = _find(name)
    if needs and not rest:
        raise SpecError(f"{name}:{needs} is expected")
    if colon and not needs:
        raise SpecError(f"{name} alone is expected")
    extract_answers(pa.array([""]), how)  # raises where the argument is invalid


def _find(name: str) -> tuple[Extract, str]:
    if name not in _extractors:
        load_plugins()
    if name not in _extractors:
        raise SpecError(f"there is no extractor {name!r}{did_you_mean(name, ['none', *_extractors])}")
    return _extractors[name]
