"""Greedy matching of tokens by their vectors: each token of a text with the most similar token of the other text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.models.encoders.encoder import EncoderOutput, Pair
from karat.models.encoders.local import LocalEncoder

MAX_TOKENS = 100_000  # whose vectors stay in memory, some 150 MB for 384 dimensions

TokenVectors: TypeAlias = tuple[Array, Array, bool]
"""Vectors of length 1, which tokens come from the text (not special tokens), and whether the text was truncated."""


class TokenMatcher:
    """Precision, recall and F1 of pairs of texts, by the cosines of their tokens."""

    def __init__(self, encoder: LocalEncoder) -> None:
        self._encoder, self._count = encoder, 0
        self._recent: dict[str, TokenVectors] = {}

    def score(self, pairs: Sequence[Pair]) -> EncoderOutput:
        """Rows of precision, recall and F1; NaN where a text has no token besides special ones."""
        tokens = self._encode([text for pair in pairs for text in pair])
        rows = np.array([match(tokens[left], tokens[right]) for left, right in pairs], dtype=np.float32).reshape(-1, 3)
        truncated = np.array([tokens[left][2] or tokens[right][2] for left, right in pairs], dtype=bool)
        return EncoderOutput(rows, truncated)

    def _encode(self, texts: Sequence[str]) -> dict[str, TokenVectors]:
        """The tokens of each text. The most recent ones stay in memory for the next pairs."""
        distinct = dict.fromkeys(texts)
        missing = [text for text in distinct if text not in self._recent]
        new = dict(zip(missing, map(_unit, self._encoder.encode_tokens(missing)), strict=True)) if missing else {}
        tokens = {text: new.get(text) or self._recent.pop(text) for text in distinct}
        self._count += sum(len(vectors) for vectors, *_ in new.values())
        self._recent |= tokens  # the latest at the end
        while self._count > MAX_TOKENS and self._recent:
            vectors, *_ = self._recent.pop(next(iter(self._recent)))
            self._count -= len(vectors)
        return tokens


def match(prediction: TokenVectors, reference: TokenVectors) -> tuple[float, float, float]:
    """Precision, recall and F1 of the greatest cosine of each token to any token of the other text.

    >>> x, y = [1.0, 0.0], [0.0, 1.0]
    >>> own = np.array([True, True])
    >>> match((np.array([x, y]), own, False), (np.array([x, x]), own, False))
    (0.5, 1.0, 0.666...)
    """
    (left, left_own, _), (right, right_own, _) = prediction, reference
    if not left_own.any() or not right_own.any():
        return np.nan, np.nan, np.nan
    cosines = np.clip(left @ right.T, -1, 1)
    precision, recall = float(cosines.max(axis=1)[left_own].mean()), float(cosines.max(axis=0)[right_own].mean())
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    return precision, recall, min(1.0, max(-1.0, f1))  # unbounded if one of the two is negative


def _unit(tokens: TokenVectors) -> TokenVectors:
    vectors, own, truncated = tokens
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny), own, truncated
