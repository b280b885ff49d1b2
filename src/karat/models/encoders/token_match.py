"""Tokens of two texts matched by their vectors, each with the nearest one of the other text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.models.encoders.local import LocalEncoder
from karat.models.encoders.open import Made, Pair

MOST = 100_000  # tokens of which vectors are held, some 150 MB for 384 dimensions

Tokens: TypeAlias = tuple[Array, Array, bool]
"""Vectors of length 1, which of the tokens are the text's own, and whether the text was cut."""


class TokenMatcher:
    """Precision, recall and F1 of pairs of texts, by the cosines of their tokens."""

    def __init__(self, encoder: LocalEncoder) -> None:
        self._encoder = encoder
        self._held: dict[str, Tokens] = {}
        self._tokens = 0

    def score(self, pairs: Sequence[Pair]) -> Made:
        """Rows of precision, recall and F1; NaN where a text has no token of its own."""
        read = self._read([text for pair in pairs for text in pair])
        rows = np.array([match(read[said], read[gold]) for said, gold in pairs], dtype=np.float32).reshape(-1, 3)
        cut = np.array([read[said][2] or read[gold][2] for said, gold in pairs], dtype=bool)
        return Made(rows, cut)

    def _read(self, texts: Sequence[str]) -> dict[str, Tokens]:
        """The tokens of each text; as many as there is room for are held for the next pairs."""
        wanted = dict.fromkeys(texts)
        missing = [text for text in wanted if text not in self._held]
        new = dict(zip(missing, map(_unit, self._encoder.encode_tokens(missing)), strict=True)) if missing else {}
        read = {text: new.get(text) or self._held.pop(text) for text in wanted}
        self._tokens += sum(len(vectors) for vectors, *_ in new.values())
        self._held |= read  # the latest at the end
        while self._tokens > MOST and self._held:
            vectors, *_ = self._held.pop(next(iter(self._held)))
            self._tokens -= len(vectors)
        return read


def match(said: Tokens, gold: Tokens) -> tuple[float, float, float]:
    """Precision, recall and F1: each own token of a text has the greatest cosine to any token of the other.

    >>> x, y = [1.0, 0.0], [0.0, 1.0]
    >>> own = np.array([True, True])
    >>> match((np.array([x, y]), own, False), (np.array([x, x]), own, False))
    (0.5, 1.0, 0.666...)
    """
    (left, ours, _), (right, theirs, _) = said, gold
    if not ours.any() or not theirs.any():
        return np.nan, np.nan, np.nan
    cosines = np.clip(left @ right.T, -1, 1)
    precision, recall = float(cosines.max(axis=1)[ours].mean()), float(cosines.max(axis=0)[theirs].mean())
    together = precision + recall
    f1 = 2 * precision * recall / together if together else 0.0
    return precision, recall, min(1.0, max(-1.0, f1))  # of a cosine below 0 and one above it the mean has no range


def _unit(tokens: Tokens) -> Tokens:
    vectors, own, cut = tokens
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny), own, cut
