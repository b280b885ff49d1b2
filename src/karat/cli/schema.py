"""``karat schema``: the JSON Schema of what a command prints with ``--json``."""

from __future__ import annotations

import json

import click

from karat.cli.options.completion import SCHEMA
from karat.cli.options.sections import commands_with_settings
from karat.cli.options.settings_file import OWN, settings_schema


@click.command()
@click.argument("command", type=SCHEMA, nargs=-1, metavar="[COMMAND]...")
def schema(command: tuple[str, ...]) -> None:
    """Print the JSON Schema of what COMMAND prints with --json; without COMMAND, the commands that have one.

    `karat schema karat.toml` prints the one of the file with options, which has the keys of [tool.karat] too.

    \b
    karat schema compare > compare.schema.json
    karat schema runs show
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.cli.options.printed import PRINTED, load_schema  # noqa: PLC0415  (heavy)

    name = " ".join(command)
    if name == OWN:
        shown = settings_schema(commands_with_settings(click.get_current_context().find_root()))
        click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
    elif not command:
        click.echo("\n".join(PRINTED))
    elif name not in PRINTED:
        from karat.core.errors import did_you_mean  # noqa: PLC0415  (heavy)

        raise click.UsageError(f"no command {name!r} has --json{did_you_mean(name, PRINTED)}")
    else:
        click.echo(json.dumps(load_schema(name), ensure_ascii=False, indent=2))
