"""Likelihoods of choices as answers: the most likely choice, beside those that are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def most_likely(choices: Sequence[str], likelihoods: Any) -> str | None:
    """The choice with the highest log-likelihood, the first of several; None where they are not one for each choice.

    >>> most_likely(["Paris", "Bern"], ["-2.5", "-0.5"])
    'Bern'
    """
    if not isinstance(likelihoods, list) or len(likelihoods) != len(choices) or None in likelihoods:
        return None
    return choices[max(range(len(choices)), key=lambda at: float(likelihoods[at]))] if choices else None


def choose(choices: Sequence[str] | None, places: Any) -> list[str] | None:
    """The choices at a place, or at several; None where the row lacks it.

    >>> choose(["Paris", "Bern"], 1), choose(["Paris", "Bern"], [0, 1]), choose(["Paris"], 3)
    (['Bern'], ['Paris', 'Bern'], None)
    """
    places = places if isinstance(places, list) else [places]
    if not choices or not all(isinstance(at, int) and -len(choices) <= at < len(choices) for at in places):
        return None
    return [choices[at] for at in places]
