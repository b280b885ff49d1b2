"""Metrics that are named by a file of the user's: a judge's TOML, a metric in Python."""

import pytest

import karat
from karat.core.metric.spec import parse
from karat.errors import DataError, SpecError

MINE = """
import karat
from karat.core.columns.kinds import Score, Text


@karat.metric(source="ours")
def shout(prediction: Text, reference: Text, *, times: int = 1) -> Score:
    \"\"\"Whether the prediction ends in this many exclamation marks.\"\"\"
    return [float(text.as_py().endswith("!" * times)) for text in prediction]


def plain(prediction):
    return 1
"""
ROWS = {"prediction": ["yes!", "no!!", "no"], "reference": ["a", "b", "c"]}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def test_a_metric_of_a_file_is_scored_with_its_settings(file):
    result = karat.score(ROWS, f"{file}:shout(times=2)")
    assert [value.value for value in result.values.values()] == pytest.approx([1 / 3])


def test_what_a_file_does_not_hold_is_said(file, tmp_path):
    with pytest.raises(SpecError, match=r"no metric 'shuot'.*shout"):
        karat.score(ROWS, f"{file}:shuot")
    with pytest.raises(SpecError, match="is a function"):
        karat.score(ROWS, f"{file}:plain")
    with pytest.raises(DataError, match="cannot be loaded"):
        karat.score(ROWS, f"{tmp_path / 'absent.py'}:shout")


def test_specs_that_are_read_from_runs_run_no_file(file):
    with pytest.raises(SpecError):
        parse(f"{file}:shout")


def test_a_judge_is_named_by_its_file_alone(tmp_path):
    with pytest.raises(karat.KaratError) as alone:
        parse(str(tmp_path / "polite.toml"))
    with pytest.raises(karat.KaratError) as prefixed:
        parse(f"judge:{tmp_path / 'polite.toml'}")
    assert str(alone.value) == str(prefixed.value)
