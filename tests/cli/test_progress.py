import io
import json
import re
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from karat.cli.main import main
from karat.cli.options import progress
from karat.cli.options.progress import describe_progress, print_progress, show_progress
from karat.cli.options.scoring import progress_bar
from karat.core.context import change_context
from karat.core.progress import NarrowingLine, report_narrowing
from karat.models.governor.budget import CallCounts


@pytest.mark.parametrize(
    ("figures", "line"),
    [
        ((0, None, "rows", None, None, 0), "0 rows  0:00 so far"),
        ((0, 50, "rows", None, None, 61), "0 of 50 rows  1:01 so far"),
        ((1200, 10_000, "rows", 0.5, 1.5, 9), "1,200 of 10,000 rows  4:53:20 left  30 rows/min  90 calls/min"),
        ((65_536, 10**6, "rows", 250_000, None, 1), "65,536 of 1,000,000 rows  0:04 left  250,000 rows/s"),
    ],
)
def test_the_line_has_rates_and_the_time_left(figures, line):
    assert describe_progress(*figures) == line


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(time=100.0)
    monkeypatch.setattr(progress, "monotonic", lambda: now.time)
    return now


def test_a_rate_is_that_of_the_last_half_minute_and_sinks_while_nothing_is_done(clock):
    rate = progress._Rate()
    assert rate.per_second() is None
    for second in range(1, 101):
        clock.time += 1
        rate.add(second if second <= 50 else 50 + 3 * (second - 50))
    assert rate.per_second() == pytest.approx(3)
    clock.time += 30
    assert rate.per_second() == pytest.approx(1.5, rel=0.1)


@pytest.mark.parametrize("width", [40, 80])
def test_a_terminal_gets_one_line_that_is_removed(monkeypatch, clock, width):
    for name, value in {"COLUMNS": str(width), "TERM": "xterm", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = io.StringIO()
    stream.isatty = lambda: True
    governor = SimpleNamespace(totals=CallCounts())
    with change_context(models=SimpleNamespace(governor=governor)), show_progress("scoring", "rows", stream) as report:
        for done in range(1, 5):
            clock.time += 1
            governor.totals.calls += 2
            report(2 * done, 20)
    assert "\n\n" not in stream.getvalue()
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", stream.getvalue()))
    assert max(map(cell_len, lines)) <= width
    assert any(line.startswith("scoring") for line in lines)
    whole = "8 of 20 rows  0:06 left" + (width == 80) * "  2.0 rows/s  120 calls/min"
    assert any(whole in line for line in lines)
    assert stream.getvalue().endswith("\x1b[2K")  # the line is erased


def test_an_interval_that_narrows_takes_the_place_of_the_rows(clock):
    stream = io.StringIO()
    with change_context(narrowing=NarrowingLine()), print_progress("scoring", "rows", stream) as report:
        report_narrowing("correctness 0.7 ± 0.04, 10 of 3,000 rows, about 20 more", 30)
        clock.time += 5
        report(10, 3000)
    assert stream.getvalue().splitlines()[0] == (
        "scoring  correctness 0.7 ± 0.04, 10 of 3,000 rows, about 20 more  0:10 left  2.0 rows/s"
    )


def test_a_pipe_gets_a_line_every_few_seconds_if_it_is_asked_for(clock):
    stream = io.StringIO()
    with print_progress("scoring", "rows", stream) as report:
        for done in range(1, 13):
            clock.time += 1
            report(2 * done, 40)
    assert stream.getvalue().splitlines() == [
        "scoring  10 of 40 rows  0:15 left  2.0 rows/s",
        "scoring  20 of 40 rows  0:10 left  2.0 rows/s",
        "scoring  24 of 40 rows  0:12 so far",
    ]


@pytest.mark.parametrize(("flags", "lines"), [([], 0), (["--no-progress"], 0), (["--progress"], 1)])
def test_the_flag_turns_it_on_where_there_is_no_terminal(tmp_path, flags, lines):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prediction": "a", "gold": "a"}\n' * 3)
    done = CliRunner().invoke(main, ["score", str(path), "-m", "exact_match", "--json", *flags])
    assert json.loads(done.stdout)["n"] == 3
    assert done.stderr.splitlines() == ["scoring  3 of 3 rows  0:00 so far"] * lines


def test_a_pipe_gets_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar() as report:
        assert report is None
    assert sys.stderr.getvalue() == ""


def test_a_task_that_fails_is_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.py").write_text("def answer(question):\n    return {'a': 'b', 'c': 'd'}[question]\n")
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"question": "{each}", "gold": "b"}}\n' for each in "aaxcx"))
    words = ["experiment", "task.py:answer", "--data", "rows.jsonl", "-m", "exact_match", "--json", "--progress"]
    done = CliRunner().invoke(main, words)
    line = done.stderr.splitlines()[0]
    assert line.startswith("scoring  5 of 5 rows  ")
    assert line.endswith("  2 failed")


def test_what_a_function_prints_is_no_part_of_the_result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.py").write_text("def answer(question):\n    print('asked')\n    return 'a'\n")
    (tmp_path / "rows.jsonl").write_text('{"question": "b", "reference": "a"}\n')
    words = ["experiment", "task.py:answer", "--data", "rows.jsonl", "-m", "exact_match", "--json"]
    done = CliRunner().invoke(main, words)
    assert json.loads(done.stdout)["metrics"][0]["value"] == 1
    assert "asked" in done.stderr
