"""What a person reads of a cell: its texts, also where it is JSON text, or gold that a CSV holds as a list."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from karat.data.json.raw import from_python


def read_json(cell: Any) -> Any:
    """The value of a cell of JSON text; its numbers are texts, as they are spelled. Other cells stay as they are."""
    if isinstance(cell, str):
        with suppress(ValueError, RecursionError):
            return json.loads(cell, parse_int=str, parse_float=str)
    return cell


def list_texts(value: Any) -> list[str]:
    """The texts of a cell: of each value of a list; numbers and objects as JSON; nothing for no value.

    >>> list_texts("Paris"), list_texts(["Paris", None, 7, {"a": 1}]), list_texts(None)
    (['Paris'], ['Paris', '7', '{"a": 1}'], [])
    """
    several = value if isinstance(value, list | tuple) else [value]
    return [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False, default=str)
            for each in several if each is not None]  # fmt: skip


def list_golds(value: Any) -> list[str]:
    r"""The texts of a cell of gold, which may hold several in one text: a list as JSON or as Python's `repr`.

    >>> list_golds("['Röntgen', 'W. Röntgen']"), list_golds('["R\\u00f6ntgen"]'), list_golds("[sic] Röntgen")
    (['Röntgen', 'W. Röntgen'], ['Röntgen'], ['[sic] Röntgen'])
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        listed = read_json(value) if (read := from_python(value.strip())) is None else read_json(read)
        if isinstance(listed, list) and any(isinstance(each, str) for each in listed):
            return list_texts(listed)
    return list_texts(value)
