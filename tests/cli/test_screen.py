import io
import sys

import pytest

from karat.cli.options.screen import WIDTH, Pipe, open_screen
from karat.cli.options.terminal import Terminal

HEADINGS = ["metric", "topic", "value", "95 % interval"]
ROWS = [["token_f1", "", "0.5", "0.1 – 0.9"], ["", "東京\ntwo lines", "1", "–"], ["[bold]not markup[/]", "é", "", ""]]


@pytest.fixture
def printed(monkeypatch):
    def prints(make):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        monkeypatch.setattr(sys, "stdout", stream)
        screen = make()
        screen.line("a ← b :smile: [dim]", "dim")
        screen.table(HEADINGS, ROWS, left=2)
        stream.flush()
        return stream.buffer.getvalue().decode()

    return prints


def test_a_pipe_gets_the_lines_and_tables_of_a_terminal_without_its_colours(printed):
    assert printed(Pipe) == printed(lambda: Terminal(WIDTH))
    assert "東京        " in printed(Pipe)


@pytest.mark.parametrize(
    ("encoding", "colours", "kind"), [("utf-8", "", Pipe), ("ascii", "", Terminal), ("utf-8", "1", Terminal)]
)
def test_only_colours_and_encodings_without_lines_need_rich(monkeypatch, encoding, colours, kind):
    monkeypatch.setenv("FORCE_COLOR", colours)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert isinstance(open_screen(), kind)
