"""``karat schema``: the JSON Schema of what a command prints with ``--json``."""

from __future__ import annotations

import json

import click

from karat.cli.options.completion import SCHEMA
from karat.cli.options.schemas import load_schema, schema_names


@click.command()
@click.argument("command", type=SCHEMA, nargs=-1, metavar="[COMMAND]...")
def schema(command: tuple[str, ...]) -> None:
    """Print the JSON Schema of what COMMAND prints with --json; without COMMAND, the commands that have one.

    \b
    karat schema compare > compare.schema.json
    karat schema runs show
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    name = " ".join(command)
    if not command:
        click.echo("\n".join(schema_names()))
    elif name not in schema_names():
        from karat.core.errors import did_you_mean  # noqa: PLC0415  (heavy)

        raise click.UsageError(f"no command {name!r} has --json{did_you_mean(name, schema_names())}")
    else:
        click.echo(json.dumps(load_schema(name), ensure_ascii=False, indent=2))
