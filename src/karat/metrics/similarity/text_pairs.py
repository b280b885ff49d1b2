"""Pairs of texts scored by a model: each distinct pair once, in parts that bound memory, with what was kept before."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.rows import NOTHING, Rows
from karat.core.progress import advance
from karat.models.encoders.base import Encoder, EncoderOutput, Pair
from karat.models.encoders.vector_cache import VectorCache, open_vector_cache, vectors_path

PART = 1 << 15  # pairs at a time
ROUNDING = 1e-4  # how far the length of a vector of float32 may be from 1
ROUND = 2048  # pairs whose vectors are multiplied at a time


class Fetch(Protocol):
    """What a model makes of items, taken from the store or made."""

    def __call__(
        self, kind: str, items: Sequence[Any], make: Callable[[Any], EncoderOutput], most: int = ...
    ) -> EncoderOutput: ...


Scorer: TypeAlias = Callable[[Any, list[Pair], Fetch], EncoderOutput]
"""From a model and pairs to a score of each."""


def truncated(_: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """What the metrics tell beside the score: whether the model cut a text."""
    return {"truncated": pa.bool_()}


def score_pairs(
    prediction: pa.Array,
    reference: pa.Array,
    encoder: Encoder,
    score: Scorer,
    *,
    empty: bool = False,
) -> Rows:
    """One score a row, by `score` of distinct pairs; empty texts are unscored, unless they are asked for.

    `prediction` may be dictionary-encoded, where a row has several references.
    """
    rows = len(prediction.dictionary) if pt.is_dictionary(prediction.type) else len(prediction)
    (ours, said), (theirs, gold) = _distinct(prediction), _distinct(reference)
    reasons = np.full(len(prediction), None, dtype=object)
    if not empty:
        reasons[_blank(gold)[theirs]] = "reference is empty"
        reasons[_blank(said)[ours]] = "prediction is empty"
    scores, cut = np.full(len(prediction), np.nan), np.zeros(len(prediction), dtype=bool)
    whole = np.flatnonzero(np.equal(reasons, NOTHING))
    told = _Told(rows / max(1, len(whole)))
    with ExitStack() as stack:
        store = open_vector_cache(vectors_path()) if encoder.identity else stack.enter_context(closing(VectorCache("")))
        for start in range(0, len(whole), PART):
            places = whole[start : start + PART]
            numbers, where = np.unique(ours[places] * len(gold) + theirs[places], return_inverse=True)
            left, right = (said.take(numbers // len(gold)), gold.take(numbers % len(gold)))
            pairs = list(zip(left.to_pylist(), right.to_pylist(), strict=True))
            made = score(encoder, pairs, _fetch(encoder, store, partial(told, len(places))))
            scores[places], cut[places] = made.rows[where], made.truncated[where]
    if cut.any():
        warnings.warn(f"texts of more than the {encoder.max_length} tokens that the model reads are cut", stacklevel=2)
    reasons[np.isnan(scores) & np.equal(reasons, NOTHING)] = "the model makes nothing of one of its texts"
    return Rows(scores[:, None], reasons, {"truncated": pa.array(cut, mask=np.isnan(scores))})


def cosines(normalize: bool = True) -> Scorer:
    """The dot product of the vectors of each pair, all at once; of length 1 if told to be."""

    def score(encoder: Encoder, pairs: list[Pair], fetch: Fetch) -> EncoderOutput:
        places = {text: place for place, text in enumerate(dict.fromkeys(text for pair in pairs for text in pair))}
        vectors, cut = fetch("text", list(places), encoder.encode)
        if normalize:
            with np.errstate(invalid="ignore"):
                vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        left, right = (np.fromiter((places[pair[side]] for pair in pairs), np.int64, len(pairs)) for side in (0, 1))
        scores = np.empty(len(pairs))
        for start in range(0, len(pairs), ROUND):
            part = slice(start, start + ROUND)
            scores[part] = np.einsum("ij,ij->i", vectors[left[part]], vectors[right[part]])
        if not normalize and (np.abs(scores) > 1 + ROUNDING).any():
            raise SpecError("the model's vectors are not of length 1: their dot products have no range; normalize=True")
        return EncoderOutput(np.clip(scores, -1, 1), cut[left] | cut[right])

    return score


def sigmoids(encoder: Any, pairs: list[Pair], fetch: Fetch) -> EncoderOutput:
    """What a cross-encoder says of each pair, from 0 to 1 whatever it says of the others."""
    made = fetch("cross", pairs, encoder.score)
    with np.errstate(over="ignore"):
        return EncoderOutput(1 / (1 + np.exp(-made.rows[:, 0].astype(np.float64))), made.truncated)


def _distinct(column: pa.Array) -> tuple[Array, pa.Array]:
    """The distinct texts of a column, and which of them each of its rows holds."""
    if not pt.is_dictionary(column.type):
        column = column.dictionary_encode()
        return np.asarray(column.indices, dtype=np.int64), column.dictionary
    inner = column.dictionary.dictionary_encode()
    return np.asarray(inner.indices, dtype=np.int64)[np.asarray(column.indices)], inner.dictionary


def _blank(texts: pa.Array) -> Array:
    return np.asarray(pc.equal(pc.utf8_trim_whitespace(texts), ""))


def _fetch(encoder: Encoder, store: VectorCache, told: Callable[[float], None]) -> Fetch:
    def fetch(kind: str, items: Sequence[Any], make: Callable[[Any], EncoderOutput], most: int = PART) -> EncoderOutput:
        maker, block = f"{kind}|{encoder.identity}", min(most, encoder.block)
        return store.fetch(maker, items, make, block=block, on_done=lambda done: told(done / len(items)))

    return fetch


class _Told:
    """Tells of whole rows while parts of them are done."""

    def __init__(self, share: float) -> None:
        self._share, self._done, self._said = share, 0.0, 0

    def __call__(self, pairs: int, share: float) -> None:
        """A share of the work on some pairs is done."""
        self._done += pairs * share * self._share
        whole = int(self._done + 1e-6)
        if whole > self._said:
            advance(whole - self._said)
            self._said = whole
