"""The JSON Schema of what each command prints with `--json`; `printed.py` has the types that they are derived from."""

from __future__ import annotations

from typing import Any

_DERIVED = ["compare", "experiment", "judge", "power", "rank", "runs", "runs show", "runs verify", "score", "show"]


def schema_names() -> list[str]:
    """The names of the commands that have a schema.

    >>> schema_names()[-2:]
    ['score', 'show']
    """
    return list(_DERIVED)


def load_schema(command: str) -> dict[str, Any]:
    """The schema of a command's output, with the definitions that it mentions; `KeyError` for one without a schema.

    >>> load_schema("compare")["$defs"]["Compared"]["properties"]["n"]
    {'type': 'integer'}
    """
    from karat.cli.options.printed import load_schema as derive  # noqa: PLC0415  (heavy)

    return derive(command)
