"""What pytest gets from karat: one fixture, which loads nothing before a test asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from karat.runs.scoring.result import Result


@pytest.fixture
def karat_score(request: pytest.FixtureRequest) -> Callable[..., Result]:
    """`karat.score`, whose values also stand in the test's report (JUnit XML), as properties called by spec.

    Use it with `assert_at_least` and `assert_better` of `karat.testing`.
    """

    def score(*data: Any, **settings: Any) -> Result:
        from karat.runs.scoring.pipeline import score  # noqa: PLC0415  (heavy)

        result = score(*data, **settings)
        request.node.user_properties += [(spec, value.value) for spec, value in result.values.items()]
        return result

    return score
