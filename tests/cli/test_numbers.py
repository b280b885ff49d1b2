"""Every number that a flag takes lies in a range: what is beyond it is refused, by name."""

import math

import click
import pytest
from click.testing import CliRunner

from karat.cli.main import main

HOSTILE = ["nan", "inf", "-inf", "1e400", "9" * 30, "9" * 400, "-" + "9" * 30, "1e300", "0x10", "١"]


def numbers(command, path=()):
    """Each flag of a command, and of those below it, that takes a number."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from numbers(command.get_command(context, name), (*path, name))
    for parameter in command.params:
        kind = parameter.type
        if isinstance(kind, (click.types.IntParamType, click.types.FloatParamType)):
            yield pytest.param(parameter, id=" ".join((*path, parameter.name)))


@pytest.mark.parametrize("parameter", list(numbers(main)))
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:8])
def test_numbers_out_of_range_are_refused(parameter, text):
    try:
        number = parameter.type.convert(text, parameter, click.Context(main))
    except click.BadParameter:
        return
    assert math.isfinite(number)
    assert abs(number) < 2**63 or not isinstance(number, int)


def test_the_error_names_the_flag_and_its_range(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prediction": "a", "reference": "a"}\n')
    for flag, text in (("--limit", "9" * 30), ("--seed", "-1"), ("--confidence", "nan"), ("--fail-unscored", "2")):
        result = CliRunner().invoke(main, ["score", str(tmp_path / "rows.jsonl"), "-m", "em", flag, text])
        assert result.exit_code == 2
        assert f"Invalid value for '{flag}'" in result.output
        assert "range" in result.output or "finite" in result.output
