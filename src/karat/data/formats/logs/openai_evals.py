"""Logs of OpenAI's `evals`: lines of events, gathered to one row per sample."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from karat.core.errors import RowError, spell_error
from karat.data.formats.logs.rows import open_rows
from karat.data.source import Source
from karat.data.storage.files import open_bytes

_HEAD = re.compile(rb'\s*\{\s*"spec"\s*:\s*\{[^\n]*"completion_fns"')


def is_openai_evals(head: bytes) -> bool:
    """Whether a file is such a log, by its first bytes.

    >>> is_openai_evals(b'{"spec": {"completion_fns": ["gpt-4"]}}'), is_openai_evals(b'{"spec": 1}')
    (True, False)
    """
    return _HEAD.match(head) is not None


def open_openai_evals(path: Path, name: str) -> Source:
    """Open a log of OpenAI's `evals`; its rows are in memory while they are gathered.

    Columns: `sample_id`, `question` (the prompt), `prediction` (what was sampled), `references` (what was expected),
    and the fields of `match` and `metrics` events, such as `correct` and `picked`. Raises `RowError`, with the line,
    for a line in another format.
    """
    return open_rows(_rows(path, name), name, "OpenAI's evals")


def _rows(path: Path, name: str) -> Iterator[dict[str, Any]]:
    samples = dict[str, dict[str, Any]]()
    with open_bytes(path) as stream:
        for number, line in enumerate(bytes(stream.read()).splitlines(), 1):
            try:
                event = json.loads(line) if line.strip() else {}
                if (sample := event.get("sample_id")) is not None:
                    row = samples.setdefault(sample, {"sample_id": sample})
                    row |= _fields(event["type"], event.get("data") or {})
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise RowError(f"{name}, line {number}: not a log of OpenAI's evals: {spell_error(error)}") from error
    yield from samples.values()


def _fields(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """The columns that an event gives its sample."""
    if kind == "sampling":
        return {"question": _last_content(data.get("prompt")), "prediction": _last_content(data.get("sampled"))}
    if kind in ("match", "metrics"):
        rest = {key: value for key, value in data.items() if key not in ("expected", "sampled", "options")}
        expected = data.get("expected")
        return rest | (
            {} if expected is None else {"references": expected if isinstance(expected, list) else [expected]}
        )
    return {"error": json.dumps(data, ensure_ascii=False)} if kind == "error" else {}


def _last_content(value: Any) -> Any:
    """The text of what was sampled, or of a prompt, whose last message counts."""
    if isinstance(value, list) and value:
        last = value[-1]
        return last.get("content") if isinstance(last, dict) else last
    return value
