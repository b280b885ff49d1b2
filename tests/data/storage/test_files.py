"""Temporary files: none stays when its process has ended, and those of a killed process go with the next one."""

import os
import platform
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from karat.data.storage.files import TemporaryFile, temporary_folder, temporary_place

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows locks no folders")

ENDS = """
import os, signal, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from karat.data.storage.files import TemporaryFile

def make(_):
    global kept
    kept = TemporaryFile(".csv")
    return kept.name

if __name__ == "__main__":
    print(make(0), flush=True)
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1] == "workers":
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            print(*pool.map(make, range(4)))
    if sys.argv[1] == "fork" and os.fork() == 0:
        sys.exit()
    if sys.argv[1] == "fork":
        os.wait()
        print(os.path.exists(kept.name))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of temporary files that is empty."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path / "tmp"


def run(how, tmp_path):
    (tmp_path / "ends.py").write_text(ENDS)
    return subprocess.run([sys.executable, tmp_path / "ends.py", how], check=False, capture_output=True, text=True)


@pytest.mark.parametrize("how", ["by itself", "workers", "fork"])
def test_nothing_stays_when_the_process_has_ended(how, place, tmp_path):
    ended = run(how, tmp_path)
    made = ended.stdout.split()
    assert ended.returncode == 0, ended.stderr
    assert len(made) == {"by itself": 1, "workers": 5, "fork": 2}[how]
    assert how != "fork" or made[1] == "True"  # the end of a child is not that of its parent
    assert list(place.iterdir()) == []


def test_the_next_process_removes_what_killed_ones_left_and_nothing_else(place, tmp_path):
    for _ in range(2):
        assert run("killed", tmp_path).returncode == -signal.SIGKILL
    assert run("killed", tmp_path).returncode == -signal.SIGKILL
    (left,) = place.iterdir()
    assert [path.suffix for path in left.iterdir()] == [".csv"]
    elsewhere = place / left.name.replace(platform.node(), "other").replace("temporary", "kept")
    elsewhere.mkdir()
    (place / left.name.replace(left.name[-3:], "lnk")).symlink_to(tmp_path)
    mine = TemporaryFile()
    assert not left.exists()
    assert elsewhere.exists()
    assert (tmp_path / "ends.py").exists()
    assert run("by itself", tmp_path).returncode == 0
    assert Path(mine.name).exists()
    assert oct(temporary_place().stat().st_mode)[-3:] == "700"


def test_a_file_goes_with_its_object_and_a_folder_with_its_block(place):
    file = TemporaryFile(".csv")
    name = file.name
    with temporary_folder() as folder:
        assert Path(folder).parent == Path(name).parent == temporary_place()
    del file
    assert os.listdir(temporary_place()) == []  # noqa: PTH208
    kept = TemporaryFile(".csv")
    kept.keep()
    assert Path(kept.name).parent == place
