"""The settings of intervals and tests, checked once and passed as one value."""

from __future__ import annotations

from dataclasses import dataclass

from karat.core.errors import SpecError


@dataclass(frozen=True)
class Inference:
    """The `confidence` of intervals, and the `seed` of the bootstrap and the permutation test.

    Raises `SpecError` for a confidence that is not between 0 and 1, and for a seed below 0.

    >>> Inference(confidence=95)
    Traceback (most recent call last):
        ...
    karat.core.errors.SpecError: confidence=95 must lie between 0 and 1, seed=0 be 0 or more
    """

    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1 or self.seed < 0:
            raise SpecError(f"confidence={self.confidence} must lie between 0 and 1, seed={self.seed} be 0 or more")
