"""Runs are kept in a folder of the test, and a run that is written keeps each batch as a part."""

import pytest

from karat.runs.store import checkpoint


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    monkeypatch.setattr(checkpoint, "MIN_SECONDS", 0.0)  # a part a batch
    monkeypatch.setattr(checkpoint, "MIN_SHARE", 0.0)
    return tmp_path / "kept"
