"""The JSON Schema of what each command prints with `--json`, one file a command, and what several share in one more.

A file is named after its command, with `.` for a space: `runs.show.json`. What two of them mention is in
`definitions.json`, as `#/$defs/NAME`. A new command with `--json` needs such a file: a test names it. Objects list all
their properties, those that are always there as `required`.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SHARED = "definitions"


def schema_names() -> list[str]:
    """The names of the commands that have a schema.

    >>> schema_names()[-2:]
    ['score', 'show']
    """
    found = (file.name.removesuffix(".json") for file in files(__name__).iterdir() if file.name.endswith(".json"))
    return sorted(name.replace(".", " ") for name in found if name != _SHARED)


def load_schema(command: str) -> dict[str, Any]:
    """The schema of a command's output, with the definitions that it mentions; `KeyError` for one without a schema.

    >>> load_schema("compare")["$defs"]["compared"]["properties"]["n"]
    {'type': 'integer', 'minimum': 0, 'description': 'the number of rows'}
    """
    if command not in schema_names():
        raise KeyError(command)
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
    content: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.json").read_text("utf-8"))
    return content
