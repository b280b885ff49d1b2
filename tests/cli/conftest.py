"""Whatever a test has a command print with --json is held to the schema of that command."""

import json
from functools import cache

import click
import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.cli.options.printed import load_schema

INVOKE = CliRunner.invoke


@cache
def validator(name):
    return pytest.importorskip("jsonschema").Draft202012Validator(load_schema(name))


def command_name(words):
    """The command that words call, as `runs show`."""
    found, names = main, []
    for word in words:
        if isinstance(found, click.Group) and (inner := found.get_command(click.Context(found), word)):
            found = inner
            names.append(word)
    return " ".join(names)


@pytest.fixture(autouse=True)
def _outputs_are_held_to_their_schema(monkeypatch):
    def invoke(self, command, args=None, **options):
        result = INVOKE(self, command, args, **options)
        if command is main and "--json" in (args or ()) and result.exit_code in {0, 3, 4}:
            name = command_name(args)
            for text in result.stdout.splitlines() if name in {"runs", "runs verify"} else [result.stdout]:
                validator(name).validate(json.loads(text))
        return result

    monkeypatch.setattr(CliRunner, "invoke", invoke)
