"""Temporary files beside an output: of killed processes, of others that write the same file; things in their place."""

import os
import signal
import sys
from pathlib import Path

import pytest

from karat.core.atomic import write_text
from karat.core.errors import DataError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot rename open files")

KILLED = """
import os, signal, sys
from pathlib import Path
from karat.core.atomic import replacing

with replacing(Path("out.csv")) as temporary:
    temporary.write_text("half" * 1000)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_left_is_used_again(tmp_path, monkeypatch, python):
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        with python("-c", KILLED) as process:
            pass
        assert process.returncode == -signal.SIGKILL
        assert names(tmp_path) == [".out.csv.new"]
    write_text(tmp_path / "out.csv", "whole")
    assert names(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "whole"


def test_a_pipe_stays_and_the_file_that_a_link_names_is_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # a device of this machine would be replaced, were there a mistake
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(DataError, match=f"{name} is a device or a pipe; expected the name of a file"):
            write_text(tmp_path / name, "whole")
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "in").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "in" / "report.html")
    for text in ("first", "second"):
        write_text(tmp_path / "link.html", text)
        assert (tmp_path / "in" / "report.html").read_text() == text
    assert (tmp_path / "link.html").is_symlink()
    assert names(tmp_path / "in") == ["report.html"]


@pytest.mark.parametrize("make", [Path.symlink_to, Path.hardlink_to])
def test_a_link_in_the_place_of_the_temporary_file_is_not_written_through(tmp_path, make):
    (tmp_path / "other").write_text("mine")
    make(tmp_path / ".out.csv.new", tmp_path / "other")
    write_text(tmp_path / "out.csv", "whole")
    assert (tmp_path / "other").read_text() == "mine"
    assert (tmp_path / "out.csv").read_text() == "whole"
    assert not (tmp_path / "out.csv").is_symlink()


def test_a_pipe_in_the_place_of_the_temporary_file_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / ".out.csv.new")
    write_text(tmp_path / "out.csv", "whole")
    assert names(tmp_path) == [".out.csv.new", "out.csv"]
