import pytest

from karat.models import context
from karat.models.governor.governor import Governor


@pytest.fixture(autouse=True)
def _cache_of_its_own(monkeypatch, tmp_path):
    """No test reads or writes the user's replies."""
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    context._default.cache_clear()


@pytest.fixture
def governor():
    return Governor()
