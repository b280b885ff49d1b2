"""Input without end, devices and pipes: refused with what to type, or read as far as there is room."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

import pytest

from karat.core.errors import DataError
from karat.data.open import open_source
from karat.data.storage import files


class Disk(NamedTuple):
    total: int
    used: int
    free: int


def test_devices_and_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "rows.jsonl")
    with pytest.raises(DataError, match="is a pipe; write - and give its rows on standard input"):
        open_source(tmp_path / "rows.jsonl")
    with pytest.raises(DataError, match="is a device; expected the name of a file"):
        open_source("/dev/zero")


def test_zero_bytes_are_no_rows(tmp_path):
    (tmp_path / "rows.csv").write_bytes(bytes(1 << 20))
    with pytest.raises(DataError, match=r"rows\.csv starts with a zero byte"):
        open_source(tmp_path / "rows.csv")


def test_input_without_end_stops_where_the_disk_is_full(monkeypatch):
    class Endless:
        sent = 0

        def read(self, size):
            self.sent += size
            return b"x" * size

    endless = Endless()
    monkeypatch.setattr(files, "_UNCHECKED_BYTES", 10 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(100 << 30, 0, (1 << 30) + (20 << 20) - endless.sent))
    with pytest.raises(DataError, match=r"after 24 MB there are more rows, and no more room in .*TMPDIR"):
        files.spool(endless)
    assert endless.sent == 24 << 20


def test_standard_input_without_rows_ends_without_a_traceback(tmp_path, python):
    words = ["-m", "karat", "score", "-", "-m", "exact_match"]
    done = python.run(*words, input="\0" * (1 << 20), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: standard input starts with a zero byte")
