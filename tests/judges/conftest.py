import pytest

from karat.models.governor.governor import Governor


@pytest.fixture(autouse=True)
def _own_replies(own_replies):
    """Every test here asks a model."""


@pytest.fixture
def governor():
    return Governor()
