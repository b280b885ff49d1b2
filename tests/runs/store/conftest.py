"""Runs are kept in a folder of the test, and a run that is written keeps each batch at once."""

import pytest

from karat.runs.store import tail


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    for name in ("MIN_SECONDS", "MIN_SHARE", "PAUSE"):  # written after each batch
        monkeypatch.setattr(tail, name, 0.0)
    return tmp_path / "kept"
