"""The fixture and the assertions, as a user's tests see them."""

import subprocess
import sys
from importlib import import_module

import pytest

import karat
from karat.runs.compare.run_values import value_of
from karat.runs.store.run import open_run
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
    assert said[0] == f"em is 0.9000 [{value.low:.4f}, {value.high:.4f}] on 30 rows; at least 0.95 is expected"
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
        with pytest.raises(AssertionError, match=r"em is 0.9000 \[0.7438, 0.9654\] on 30 rows"):
            assert_at_least(0.91, kept, "em")
        assert_better(kept, than=system(10))


def test_better_fails_with_the_verdict_and_the_rows_that_lose_most():
    assert_better(system(28), than=system(10))
    with pytest.raises(AssertionError) as failure:
        assert_better(system(20), than=system(22), metrics="em")
    said = str(failure.value).splitlines()
    assert said[0].startswith("em: no difference between A and B could be shown (-6.7 points [")
    assert said[1:] == [
        "the rows that lose most:",
        *(f"  1.0000 → 0.0000  {row}: is it {row}? → no" for row in (20, 21)),
    ]
    with pytest.raises(AssertionError, match="em: B is worse than A by"):
        assert_better(system(10), than=system(28))


def test_the_fixture_scores_and_leaves_values_in_the_report(pytester, monkeypatch):
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
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")  # the plugin is found as it is installed
    done = pytester.runpytest("--junit-xml=report.xml")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["E*em is 0.5000*at least 0.9 is expected", "E*0.0000  2 → b"])
    assert '<property name="em" value="0.5"' in (pytester.path / "report.xml").read_text("utf-8")


def test_the_plugin_loads_nothing_before_a_test_asks_for_it():
    code = (
        "import sys, pytest; before = set(sys.modules); import karat.pytest_plugin; print(*sys.modules.keys() - before)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "karat.pytest_plugin" in loaded
    assert [
        name for name in loaded if not name.startswith(("karat.core", "karat.pytest_plugin")) and name != "karat"
    ] == []


MARKED = """
    import pytest

    CASES = [(f"c{row}", "yes" if row < RIGHT else "no") for row in range(12)]

    @pytest.mark.karat("em", gates={"em": 0.5}, baseline="main")
    @pytest.mark.parametrize(("case", "answer"), CASES, ids=[case for case, _ in CASES])
    def test_answers(karat_row, case, answer):
        karat_row(prediction=answer, reference=["yes"])

    def test_of_something_else():
        pass
"""


@pytest.fixture(scope="module", autouse=True)
def _modules():
    """What a session in a test imports is forgotten after it: import it before."""
    karat.compare(system(10), system(20))
    assert import_module("karat.cli.options.result_table")


@pytest.fixture(autouse=True)
def _no_other_plugins(monkeypatch):
    """Those that are installed take seconds to import."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def session(pytester, right, *options, code=MARKED):
    pytester.makepyfile(test_marked=code.replace("RIGHT", str(right)))
    return pytester.runpytest("-p", "no:cacheprovider", "-p", "karat.pytest_plugin", *options)


def test_marked_cases_are_rows_of_one_run_that_is_kept_and_compared(pytester):
    missing = session(pytester, 12)
    assert missing.ret == pytest.ExitCode.TESTS_FAILED
    missing.stdout.fnmatch_lines(
        ["FAILED karat test_answers: there is no run test_answers-main to compare with: pytest --karat-save main*"]
    )
    kept = session(pytester, 12, "--karat-save", "main")
    assert kept.ret == 0
    kept.stdout.fnmatch_lines(["*= karat: test_answers =*", "em * 1.0000 * 12 * 0", "run test_answers-main*"])
    assert value_of(open_run(pytester.path / "karat-runs/test_answers-main"), "em").value == 1
    again = session(pytester, 11)
    assert again.ret == 0, "one row fewer is no proof"
    again.stdout.fnmatch_lines(["em * 0.9167 *"])
    worse = session(pytester, 2)
    assert worse.ret == pytest.ExitCode.TESTS_FAILED
    worse.assert_outcomes(passed=13)
    worse.stdout.fnmatch_lines(
        [
            "FAILED karat test_answers: em is 0.166667, 0.5 was asked for",
            "FAILED karat test_answers: em: test_answers is worse than test_answers-main by 83.3 points *",
        ]
    )


def test_a_part_of_the_cases_is_compared_with_the_same_rows(pytester):
    session(pytester, 12, "--karat-save", "main")
    part = session(pytester, 12, "-k", "c1")
    assert part.ret == 0
    part.stdout.fnmatch_lines(["em * 1.0000 * 3 * 0"])


def test_rows_of_all_workers_are_one_run_in_the_order_of_the_tests(pytester):
    done = session(pytester, 9, "-p", "xdist", "-n", "2", "--karat-save", "main")
    done.stdout.fnmatch_lines(["em * 0.7500 * 12 * 0"])
    assert done.ret == 0
    rows = open_run(pytester.path / "karat-runs/test_answers-main").read(["id", "prediction"]).to_pylist()
    assert rows == [{"id": f"c{row}", "prediction": "yes" if row < 9 else "no"} for row in range(12)]


def test_a_case_that_fails_before_its_row_is_unscored_and_one_that_is_skipped_is_none(pytester):
    code = """
        import pytest

        @pytest.fixture
        def broken(case):
            assert case != "setup"

        @pytest.mark.karat("em", run="named", gates={"em[half=2].low": 0.1, "em": 1}, unscored=0.4, by="half")
        @pytest.mark.parametrize("case", ["right", "setup", "fails", "skips", "fails after"])
        def test_answers(karat_row, broken, case):
            if case == "skips":
                pytest.skip()
            assert case != "fails"
            karat_row(prediction="a", reference="a", half="1" if case == "right" else "2")
            assert case != "fails after"
    """
    done = session(pytester, 0, code=code)
    done.assert_outcomes(passed=1, failed=2, errors=1, skipped=1)
    done.stdout.fnmatch_lines(
        [
            "*= karat: named =*",
            "em * 1.0000 * 4 * 2 *",
            "FAILED karat named: em[[]half=2[]].low is 0, 0.1 was asked for",
            "FAILED karat named: em: 2 of 4 rows have no score; a share of at most 0.4 was asked for",
        ]
    )


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("()", "expected a metric"),
        ("('exact_mach')", "*did you mean 'exact_match'?"),
        ("('em', gate={})", "there is no 'gate'; did you mean 'gates'?"),
        ("('em', gates={'f1': 1})", "gate f1=1: f1 is not among the metrics scored"),
    ],
)
def test_a_mistake_in_the_mark_ends_the_session_before_a_test_runs(pytester, mark, expected):
    code = f"import pytest\n@pytest.mark.karat{mark}\ndef test_answers(karat_row): pass\n"
    done = session(pytester, 0, code=code)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: test_marked.py::test_answers: mark karat: *{expected}*"])


def test_runs_of_the_same_name_and_rows_that_are_none_are_refused(pytester):
    test = "@pytest.mark.karat('em')\n    def test_answers(self, karat_row): pass\n"
    done = session(pytester, 0, code=f"import pytest\nclass TestA:\n    {test}class TestB:\n    {test}")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*the run 'test_answers' is also the run of *TestA::test_answers: name each (run=…)*"])
    code = """
        import pytest

        @pytest.mark.karat("em")
        def test_twice(karat_row):
            with pytest.raises(TypeError, match="karat_row: prediction: expected text"):
                karat_row(prediction=object())
            karat_row(prediction="a", reference="a")
            karat_row(prediction="b", reference="a")

        def test_unmarked(karat_row):
            pass
    """
    done = session(pytester, 0, code=code)
    done.assert_outcomes(failed=1, errors=1)
    done.stdout.fnmatch_lines(["*karat_row needs @pytest.mark.karat*", "*ValueError: karat_row: a case has one row*"])


def test_without_the_mark_nothing_is_said(pytester):
    done = session(pytester, 0, "--karat-save", "main", code="def test_it():\n    pass\n")
    assert done.ret == 0
    done.stdout.no_fnmatch_line("*karat:*")
    assert not (pytester.path / "karat-runs").exists()
