import json

import pytest

from karat.models import context


@pytest.fixture(autouse=True)
def _cache_of_its_own(monkeypatch, tmp_path):
    """No test reads or writes the user's replies."""
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    context._default.cache_clear()


@pytest.fixture
def material():
    """The function that finds what a judge is shown in its messages."""

    def find(messages):
        return json.loads(messages[-1]["content"].split("\n", 1)[1].rsplit("\n", 1)[0])

    return find
