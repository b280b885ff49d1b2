"""The JSON Schema of what each command prints with `--json`; `printed.py` has the types that they are derived from."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SHARED = "definitions"
_WRITTEN = ["agreement", "judge-report"]
_DERIVED = ["compare", "experiment", "power", "rank", "runs", "runs show", "runs verify", "score", "show"]


def schema_names() -> list[str]:
    """The names of the commands that have a schema.

    >>> schema_names()[-2:]
    ['score', 'show']
    """
    return sorted([*_DERIVED, *_WRITTEN])


def load_schema(command: str) -> dict[str, Any]:
    """The schema of a command's output, with the definitions that it mentions; `KeyError` for one without a schema.

    >>> load_schema("compare")["$defs"]["Compared"]["properties"]["n"]
    {'type': 'integer'}
    """
    if command not in _WRITTEN:
        from karat.cli.options.printed import load_schema as derive  # noqa: PLC0415  (heavy)

        return derive(command)
    schema, shared = _read(command.replace(" ", ".")), _read(_SHARED)
    needed: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(waiting.pop())):
            if name not in needed:
                needed[name] = shared[name]
                waiting.append(shared[name])
    return {"$schema": DIALECT, **schema, **({"$defs": dict(sorted(needed.items()))} if needed else {})}


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files("karat.cli").joinpath("schemas", f"{name}.json").read_text("utf-8"))
    return content
