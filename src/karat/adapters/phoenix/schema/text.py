"""Annotations of fields that take any value and make it text, for Schema and for pydantic's models alike.

>>> SmartString.__metadata__[0].convert({"a": 1}), EnforcedString.__metadata__[0].convert({"a": 1})
('{"a": 1}', "{'a': 1}")
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, TypeAlias


@dataclass(frozen=True)
class Converted:
    """Makes a value text before it is checked."""

    convert: Callable[[Any], str]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        core_schema = import_module("pydantic_core").core_schema  # pydantic itself calls this
        return core_schema.no_info_before_validator_function(self.convert, handler(source))


def to_json_text(value: Any) -> str:
    """A value as text: text as it is, anything else as JSON, or by `str` if JSON cannot hold it."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError):
        return str(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy's
        return value.tolist()
    raise TypeError


SmartString: TypeAlias = Annotated[str, Converted(to_json_text)]
EnforcedString: TypeAlias = Annotated[str, Converted(str)]
