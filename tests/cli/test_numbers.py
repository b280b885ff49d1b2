"""Every number that a flag takes lies in a range: what is beyond it is refused, by name."""

import json
import math
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.core.errors import SpecError
from karat.models.governor.governor import Governor
from karat.stats.inference import HIGHEST, LOWEST, Inference
from karat.stats.intervals.student import student_quantile

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
        result = CliRunner().invoke(main, ["score", str(tmp_path / "rows.jsonl"), "-m", "exact_match", flag, text])
        assert result.exit_code == 2
        assert f"Invalid value for '{flag}'" in result.output
        assert any(words in result.output for words in ("range", "finite", "a number up to 1, 0.02 for 2 %"))


BORDERS = ["0", "1", "5e-324", "1e-300", "1e-17", "1e-6", "0.0001", "0.9999", "0.9999999999999999", "1e9", "1e308"]
CALLS = [
    ["score", "a.jsonl", "-m", "exact_match", "-m", "bleu"],
    ["score", "a.jsonl", "-m", "exact_match", "-m", "bleu", "--cluster", "group", "--by", "group"],
    ["score", "a.jsonl", "-m", "exact_match", "--human", "labels.csv", "--on", "id"],
    ["compare", "a", "b"],
    ["compare", "a", "b", "--cluster", "group"],
    ["compare", "a", "b", "--rank"],
    ["report", "a", "-o", "report.html"],
    ["judge", "a", "--human", "labels.csv", "--on", "id", "-m", "exact_match"],
    ["power", "--run", "a", "--difference", "0.1"],
    ["power", "--run", "a", "--run", "b", "--difference", "0.1"],
    ["power", "--run", "a", "--width", "0.1"],
    ["label", "a", "--next", "1", "-o", "next.csv"],
    ["show", "a"],
]


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    folder, before = tmp_path_factory.mktemp("scored"), Path.cwd()
    os.chdir(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", "runs")
        for name, right in (("a", 3), ("b", 2)):
            rows = ({"id": n, "question": f"{n}?", "prediction": "yes it is" if n % right else "no", "reference": "no",
                     "group": n // 3} for n in range(30))  # fmt: skip
            Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            CliRunner().invoke(main, ["score", f"{name}.jsonl", "-m", "exact_match", "-m", "bleu", "--run", name])
        Path("labels.csv").write_text("id,label\n" + "".join(f"{n},{n % 2}\n" for n in range(20)))
        yield
    os.chdir(before)


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_numbers_at_the_ends_of_their_ranges_give_an_answer_or_are_refused(scored, call):
    command = main.get_command(click.Context(main), call[0])
    models = {"concurrency", "rpm", "tpm", "budget", "max_calls", "max_tokens", "timeout", "gpus"}
    for parameter in command.params:
        if isinstance(parameter.type, (click.IntRange, click.FloatRange)) and parameter.name not in models:
            for text in BORDERS:
                result = CliRunner().invoke(main, [*call, f"{parameter.opts[0]}={text}"])
                ended = result.exception is None or isinstance(result.exception, SystemExit)
                assert ended, (parameter.opts[0], text, result.exception)
                assert "nan" not in result.stdout.lower()


@pytest.mark.parametrize("price", ["nan,1", "1,nan", "inf,1", "1,-1", "1", "1,2,3", "1e400,1"])
def test_a_price_is_two_amounts(scored, price):
    refused = CliRunner().invoke(main, ["score", "a.jsonl", "-m", "judge:refusal", "--model", "m", "--price", price])
    assert refused.exit_code == 2
    assert "expected IN,OUT" in refused.output


def test_in_python_too_what_has_no_right_answer_is_refused():
    nan, inf = float("nan"), float("inf")
    for confidence in (0, 1, nan, inf, -1, 1e308, 5e-324, 0.9999999999999999):
        with pytest.raises(SpecError, match=r"must lie between 0\.0001 and 0\.9999"):
            Inference(confidence)
    for wrong in ({"budget": nan}, {"budget": -1}, {"price": (nan, 1)}, {"price": (1, inf)}, {"timeout": nan}):
        with pytest.raises(SpecError):
            Governor(**wrong)


@pytest.mark.parametrize("freedom", [1, 2, 5.5, 30, 1e4, 1e6, 1e9, 1e15, math.inf])
def test_every_confidence_that_is_taken_has_its_quantile(freedom):
    stats = pytest.importorskip("scipy.stats")
    for confidence in (LOWEST, 0.5, 0.95, 0.999, HIGHEST):
        right = stats.t.ppf((1 + confidence) / 2, freedom)
        assert student_quantile((1 + confidence) / 2, freedom) == pytest.approx(right, rel=1e-6)
