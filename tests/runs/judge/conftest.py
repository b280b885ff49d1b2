import json

import pytest


@pytest.fixture(autouse=True)
def _own_replies(own_replies):
    """Every test here asks a model."""


@pytest.fixture
def material():
    """The function that finds what a judge is shown in its messages."""

    def find(messages):
        return json.loads(messages[-1]["content"].split("\n", 1)[1].rsplit("\n", 1)[0])

    return find
