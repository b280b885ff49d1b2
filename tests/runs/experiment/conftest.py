"""Experiments run in a folder of their own, and repeat calls after short pauses."""

import pytest

from karat.models.governor import governor


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    monkeypatch.setattr(governor, "FIRST_PAUSE", 0.01)
    return tmp_path / "kept"
