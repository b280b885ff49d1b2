"""The pytest plugin: one fixture, which imports nothing before a test uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from karat.runs.scoring.result import Result


@pytest.fixture
def karat_score(request: pytest.FixtureRequest) -> Callable[..., Result]:
    """`karat.score`; the values also become properties of the test in its report (JUnit XML), named by spec.

    Use it with `assert_at_least` and `assert_better` of `karat.testing`.
    """

    def score(*data: Any, **settings: Any) -> Result:
        from karat.runs.scoring.pipeline import score  # noqa: PLC0415  (heavy)

        result = score(*data, **settings)
        request.node.user_properties += [(spec, value.value) for spec, value in result.values.items()]
        return result

    return score
