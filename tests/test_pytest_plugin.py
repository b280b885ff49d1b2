"""The fixture and the assertions, as a user's tests see them."""

import subprocess
import sys

import pytest

import karat
from karat.testing import assert_at_least, assert_better

pytest_plugins = ["pytester"]

ROWS = {"id": range(30), "question": [f"is it {row}?" for row in range(30)], "gold": ["yes"] * 30}


def system(right, **settings):
    return karat.score({**ROWS, "prediction": ["yes"] * right + ["no"] * (30 - right)}, ["em", "f1"], **settings)


def test_at_least_fails_with_the_interval_and_the_worst_rows():
    assert_at_least(0.9, system(27), "em")
    with pytest.raises(AssertionError) as failure:
        assert_at_least(0.95, system(27), "em")
    said = str(failure.value).splitlines()
    value = system(27).values["em"]
    assert said[0] == f"exact_match is 0.9000 [{value.low:.4f}, {value.high:.4f}] on 30 rows; at least 0.95 is expected"
    assert said[1:] == [
        "the worst rows:",
        *(f"  0.0000  {row}: is it {row}? → no" for row in (27, 28, 29)),
        "  1.0000  0: is it 0? → yes",
        "  1.0000  1: is it 1? → yes",
    ]


def test_at_least_may_ask_for_the_whole_interval():
    with pytest.raises(AssertionError, match=r"surely at least 0\.9 is expected"):
        assert_at_least(0.9, system(28), "em", surely=True)
    assert_at_least(0.75, system(28), "em", surely=True)


def test_errors_are_to_be_at_most_so_many():
    rows = {**ROWS, "gold": ["a b"] * 30, "prediction": ["a b"] * 20 + ["a c"] * 10}
    result = karat.score(rows, "wer")
    assert_at_least(0.2, result, "wer")
    with pytest.raises(
        AssertionError, match=r"at most 0.1 is expected\nthe worst rows:\n  0.5000  20: is it 20\? → a c"
    ):
        assert_at_least(0.1, result, "wer")


def test_no_value_fails():
    result = karat.score({**ROWS, "prediction": [None] * 30}, "em")
    with pytest.raises(AssertionError, match="on 0 rows, 30 have no score"):
        assert_at_least(0, result, "em")


def test_runs_and_files_are_asserted_about_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    system(27, run="kept", output="kept.parquet")
    for kept in ("kept", "kept.parquet"):
        assert_at_least(0.9, kept, "em")
        with pytest.raises(AssertionError, match=r"exact_match is 0.9000 \[0.7438, 0.9654\] on 30 rows"):
            assert_at_least(0.91, kept, "em")
        assert_better(kept, than=system(10))


def test_better_fails_with_the_verdict_and_the_rows_that_lose_most():
    assert_better(system(28), than=system(10))
    with pytest.raises(AssertionError) as failure:
        assert_better(system(20), than=system(22), metrics="em")
    said = str(failure.value).splitlines()
    assert said[0].startswith("exact_match: no difference could be shown (-6.7 points [")
    assert said[1:] == [
        "the rows that lose most:",
        *(f"  1.0000 → 0.0000  {row}: is it {row}? → no" for row in (20, 21)),
    ]
    with pytest.raises(AssertionError, match="exact_match: B is worse than A by"):
        assert_better(system(10), than=system(28))


def test_the_fixture_scores_and_leaves_values_in_the_report(pytester):
    pytester.makeconftest("from karat.pytest_plugin import karat_score\n")  # as the entry point would
    pytester.makepyfile(
        """
        from karat.testing import assert_at_least

        def test_answers(karat_score):
            result = karat_score({"prediction": ["a", "b"], "gold": ["a", "c"]}, "em")
            assert_at_least(0.5, result, "em")

        def test_too_few(karat_score):
            assert_at_least(0.9, karat_score({"prediction": ["a", "b"], "gold": ["a", "c"]}, "em"), "em")
        """
    )
    done = pytester.runpytest("--junit-xml=report.xml")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["E*exact_match is 0.5000*at least 0.9 is expected", "E*0.0000  2 → b"])
    assert '<property name="exact_match" value="0.5"' in (pytester.path / "report.xml").read_text("utf-8")


def test_the_plugin_loads_nothing_before_a_test_asks_for_it():
    code = (
        "import sys, pytest; before = set(sys.modules); import karat.pytest_plugin; print(*sys.modules.keys() - before)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "karat.pytest_plugin" in loaded
    assert [
        name for name in loaded if not name.startswith(("karat.core", "karat.pytest_plugin")) and name != "karat"
    ] == []
