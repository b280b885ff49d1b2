"""The settings of intervals and tests, checked once and passed as one value."""

from __future__ import annotations

from dataclasses import dataclass

from karat.core.errors import SpecError

LOWEST, HIGHEST = 0.0001, 0.9999  # confidences: beyond them quantiles lose their digits, and bootstraps their tails


@dataclass(frozen=True)
class Inference:
    """The `confidence` of intervals, and the `seed` of the bootstrap and of the groups of very many units.

    Raises `SpecError` for a confidence beyond `LOWEST` and `HIGHEST`, and for a seed below 0.

    >>> Inference(confidence=95)
    Traceback (most recent call last):
        ...
    karat.core.errors.SpecError: confidence=95 must lie between 0.0001 and 0.9999, seed=0 be 0 or more
    """

    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not LOWEST <= self.confidence <= HIGHEST or self.seed < 0:
            confidence = f"confidence={self.confidence} must lie between {LOWEST} and {HIGHEST}"
            raise SpecError(f"{confidence}, seed={self.seed} be 0 or more")
