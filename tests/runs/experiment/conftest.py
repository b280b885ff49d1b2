"""Experiments run in a folder of their own, and repeat calls after short pauses."""

import pytest

from karat.models.governor.retry import RetryPolicy


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    monkeypatch.setattr(RetryPolicy, "pause", lambda *_: 0.01)
    return tmp_path / "kept"
