"""Names of outputs that are no plain files."""

import os
import sys

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
@pytest.mark.parametrize(
    "words",
    [
        ["score", "rows.jsonl", "-m", "exact_match", "-o", "out.csv"],
        ["runs", "export", "a", "-o", "out.md"],
        ["runs", "export", "a", "-o", "out.xml"],
        ["report", "a", "-o", "out.html"],
        ["compare", "a", "b", "-o", "out.tex"],
    ],
)
def test_a_pipe_stays_where_it_is(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")  # a device of this machine would be replaced, were there a mistake
    (tmp_path / words[-1]).symlink_to(tmp_path / "pipe")
    (tmp_path / "rows.jsonl").write_text('{"prediction": "a", "gold": "a", "id": 1}\n')
    for name in ("a", "b"):
        karat.score("rows.jsonl", "exact_match", run=name)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert f"Error: {words[-1]} is a device or a pipe; expected the name of a file\n" in done.output
    assert (tmp_path / "pipe").is_fifo()
