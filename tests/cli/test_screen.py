import io
import re
import sys
import unicodedata
from collections import Counter

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from karat.cli.main import main
from karat.cli.options.controls import show_controls
from karat.cli.options.layout import break_lines, lay_out, wrap
from karat.cli.options.screen import Screen, open_screen
from karat.runs.table.table import Table

HEADINGS = ["metric", "topic", "value", "95 % interval", "n"]
NAMES = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        [
            "judge:correctness(model='gpt-4o-mini',temperature=0.0,votes=5)",
            "東京タワー" * 9,
            "e\u0301a\u0308" * 40,
            "👩\u200d👩\u200d👧" * 20,
        ]
    ),
)
NUMBERS = st.floats(-1, 1).map("{:.4f}".format)
ROWS = st.lists(
    st.tuples(NAMES, NAMES, NUMBERS, st.tuples(NUMBERS, NUMBERS).map(" – ".join), st.just("1000000")), max_size=5
)


@pytest.fixture
def open_with(monkeypatch):
    def opens(encoding="utf-8", *, terminal=False, **environment):
        for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TERM"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
        stream.isatty = lambda: terminal
        monkeypatch.setattr(sys, "stdout", stream)
        return open_screen(), lambda: stream.flush() or stream.buffer.getvalue().decode(encoding)

    return opens


@given(ROWS, st.integers(40, 200))
def test_every_line_of_a_table_fits_and_no_number_is_cut(rows, width):
    lines = list(lay_out(HEADINGS, rows, left=2, width=width))
    assert [line for line in lines if cell_len(line) > width] == []
    text = "\n".join(lines)
    assert all(number in text for row in rows for number in row[2:])
    shown, names = (
        Counter("".join(each).replace(" ", "")) for each in (lines, [show_controls(row[0]) for row in rows])
    )
    assert all(shown[char] >= count for char, count in names.items() if not char.isspace())


@given(st.integers(2, 9), st.integers(40, 200))
@settings(max_examples=30)
def test_many_systems_fit(systems, width):
    headings = ["metric", *(f"system-of-{number}-and-a-long-name" for number in range(systems))]
    rows = [["token_f1(normalize='none')", *["0.1234 – 0.5678"] * systems]] * 3
    lines = list(lay_out(headings, rows, left=1, width=width))
    assert max(map(cell_len, lines)) <= width
    assert "\n".join(lines).count("0.1234 – 0.5678") == 3 * systems


@given(st.text(max_size=200), st.integers(2, 60))
def test_a_wrapped_text_loses_nothing_but_spaces_where_it_breaks(text, width):
    ranges = break_lines(text, width)
    assert all(cell_len(text[start:stop]) <= width for start, stop in ranges)
    assert ranges == sorted(ranges)
    between = [text[stop:start] for (_, stop), (start, _) in zip(ranges, [*ranges[1:], (len(text), 0)], strict=True)]
    assert not "".join(between).strip()


def test_a_table_becomes_narrower_step_by_step():
    row = ["token_f1(normalize='none')", "", "0.8258", "0.5445 – 0.9495", "12"]
    wide, narrow, narrowest = (list(lay_out(HEADINGS, [row], left=2, width=width)) for width in (99, 60, 47))
    assert wide[0] == "metric                       topic    value     95 % interval    n"
    assert [line[:19].strip() for line in narrow] == ["metric", "─" * 19, "token_f1(normalize=", "'none')"]
    assert narrow[2].endswith("0.8258   0.5445 – 0.9495   12")
    assert narrowest == ["token_f1(normalize='none')", "  value 0.8258   95 % interval 0.5445 – 0.9495", "  n 12"]


def test_a_pipe_is_plain_and_as_wide_as_its_lines(open_with):
    screen, printed = open_with()
    screen.line("a ← b " * 99, "dim")
    screen.table(Table.of_texts(HEADINGS[:2], [["[bold]not markup[/]", "東京\ntwo lines"], ["", "é"]], names=2))
    assert printed().splitlines() == [
        ("a ← b " * 99),
        "metric                topic",
        "───────────────────────────────",
        "[bold]not markup[/]   東京",
        "                      two lines",
        "                      é",
    ]


@pytest.mark.parametrize(
    ("terminal", "environment", "colour", "width"),
    [
        (False, {}, False, sys.maxsize),
        (False, {"COLUMNS": "60"}, False, 60),
        (False, {"FORCE_COLOR": "1"}, True, sys.maxsize),
        (True, {"COLUMNS": "60"}, True, 60),
        (True, {"COLUMNS": "60", "NO_COLOR": "1"}, False, 60),
        (True, {"COLUMNS": "60", "TERM": "dumb"}, False, 60),
        (True, {"COLUMNS": "60", "NO_COLOR": "1", "FORCE_COLOR": "1"}, False, 60),
    ],
)
def test_the_environment_sets_width_and_colours(open_with, terminal, environment, colour, width):
    screen, printed = open_with(terminal=terminal, **environment)
    assert (screen.width, screen.colour) == (width, colour)
    screen.line("better", "green")
    assert printed() == ("\x1b[32mbetter\x1b[0m\n" if colour else "better\n")


def test_a_caution_is_printed_in_colour(tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    (tmp_path / "a.jsonl").write_text('{"prediction": "The capital of France is Paris.", "reference": "Paris"}\n')
    done = CliRunner().invoke(main, ["score", str(tmp_path / "a.jsonl"), "-m", "exact_match"], color=True)
    assert done.exit_code == 0
    assert "\x1b[33mcaution: " in done.stdout


def test_an_encoding_without_lines_gets_others(open_with):
    screen, printed = open_with("ascii")
    screen.table(Table.of_texts(["a"], [["b"]]))
    assert printed() == "a\n-\nb\n"


def test_what_could_change_the_terminal_is_shown(open_with):
    screen, printed = open_with(terminal=True, COLUMNS="80")
    screen.line("\x1b]0;title\x07 a\u202eb \ud800", "dim")
    screen.table(Table.of_texts(["\x9b2J"], [["\u2066x\r"]]))
    text = re.sub("\x1b\\[[02]m", "", printed())
    assert not [char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs")]
    assert "<U+001B>]0;title<U+0007> a<U+202E>b <U+D800>" in text
    assert "<U+009B>2J" in text


def test_marked_ranges_keep_their_style_over_lines():
    text = "the quick brown fox"
    screen = Screen(26, colour=True)
    styled = screen._style(text, 4, 15, "removed", [(0, 6), (10, 19)])
    assert styled == "\x1b[31m\x1b[1m\x1b[4mqu\x1b[0mick \x1b[31m\x1b[1m\x1b[4mbrown\x1b[0m"
    assert wrap(text, 9) == ["the quick", "brown fox"]
