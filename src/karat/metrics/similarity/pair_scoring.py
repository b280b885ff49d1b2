"""Scores pairs of texts by a model: each distinct pair once, in parts that fit in memory, with the vector cache."""

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
from karat.models.encoders.encoder import Encoder, EncoderOutput, Pair
from karat.models.encoders.vector_cache import VectorCache, open_vector_cache, vectors_path

PART = 1 << 15  # pairs at a time
ROUNDING = 1e-4  # the largest rounding error of the length of a float32 vector of length 1
ROUND = 2048  # pairs whose vectors are multiplied at a time


class Fetch(Protocol):
    """Returns a model's output for items, from the cache or by running the model."""

    def __call__(
        self, kind: str, items: Sequence[Any], make: Callable[[Any], EncoderOutput], most: int = ...
    ) -> EncoderOutput: ...


Scorer: TypeAlias = Callable[[Any, list[Pair], Fetch], EncoderOutput]
"""From a model and pairs of texts to the score of each pair."""


def truncated(_: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """The column that these metrics return beside the score: whether the model cut a text."""
    return {"truncated": pa.bool_()}


def score_pairs(
    prediction: pa.Array, reference: pa.Array, encoder: Encoder, score: Scorer, *, empty: bool = False
) -> Rows:
    """One score for each row, by `score` of the distinct pairs; `empty` says whether empty texts are scored too.

    `prediction` may be dictionary-encoded, where a row has several references.
    """
    rows = len(prediction.dictionary) if pt.is_dictionary(prediction.type) else len(prediction)
    (of_prediction, predictions), (of_reference, references) = _distinct(prediction), _distinct(reference)
    reasons = np.full(len(prediction), None, dtype=object)
    if not empty:
        reasons[_blank(references)[of_reference]] = "reference is empty"
        reasons[_blank(predictions)[of_prediction]] = "prediction is empty"
    scores, cut = np.full(len(prediction), np.nan), np.zeros(len(prediction), dtype=bool)
    whole = np.flatnonzero(np.equal(reasons, NOTHING))
    progress = _Progress(rows / max(1, len(whole)))
    with ExitStack() as stack:
        store = open_vector_cache(vectors_path()) if encoder.identity else stack.enter_context(closing(VectorCache("")))
        for start in range(0, len(whole), PART):
            places = whole[start : start + PART]
            pair_numbers = of_prediction[places] * len(references) + of_reference[places]
            distinct, where = np.unique(pair_numbers, return_inverse=True)
            left, right = predictions.take(distinct // len(references)), references.take(distinct % len(references))
            pairs = list(zip(left.to_pylist(), right.to_pylist(), strict=True))
            output = score(encoder, pairs, _fetch(encoder, store, partial(progress, len(places))))
            scores[places], cut[places] = output.rows[where], output.truncated[where]
    if cut.any():
        warnings.warn(f"texts are cut: the model reads at most {encoder.max_length} tokens of each", stacklevel=2)
    reasons[np.isnan(scores) & np.equal(reasons, NOTHING)] = "the model gives no score for one of the texts"
    return Rows(scores[:, None], reasons, {"truncated": pa.array(cut, mask=np.isnan(scores))})


def cosines(normalize: bool = True) -> Scorer:
    """A scorer: the dot product of the vectors of each pair, which are divided by their length if `normalize`."""

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
            raise SpecError(
                "the model's vectors do not have length 1, so their dot product has no range: use normalize=True"
            )
        return EncoderOutput(np.clip(scores, -1, 1), cut[left] | cut[right])

    return score


def sigmoids(encoder: Any, pairs: list[Pair], fetch: Fetch) -> EncoderOutput:
    """A scorer: the sigmoid of a cross-encoder's logit for each pair, from 0 to 1."""
    logits = fetch("cross", pairs, encoder.score)
    with np.errstate(over="ignore"):
        return EncoderOutput(1 / (1 + np.exp(-logits.rows[:, 0].astype(np.float64))), logits.truncated)


def _distinct(column: pa.Array) -> tuple[Array, pa.Array]:
    """The place of each row's text among the distinct texts of a column, and these texts."""
    if not pt.is_dictionary(column.type):
        column = column.dictionary_encode()
        return np.asarray(column.indices, dtype=np.int64), column.dictionary
    inner = column.dictionary.dictionary_encode()
    return np.asarray(inner.indices, dtype=np.int64)[np.asarray(column.indices)], inner.dictionary


def _blank(texts: pa.Array) -> Array:
    return np.asarray(pc.equal(pc.utf8_trim_whitespace(texts), ""))


def _fetch(encoder: Encoder, store: VectorCache, progress: Callable[[float], None]) -> Fetch:
    def fetch(kind: str, items: Sequence[Any], make: Callable[[Any], EncoderOutput], most: int = PART) -> EncoderOutput:
        maker, block = f"{kind}|{encoder.identity}", min(most, encoder.block)
        return store.fetch(maker, items, make, block=block, on_done=lambda done: progress(done / len(items)))

    return fetch


class _Progress:
    """Reports whole rows as done while shares of the work on their pairs are done."""

    def __init__(self, share: float) -> None:
        self._share, self._done, self._reported = share, 0.0, 0

    def __call__(self, pairs: int, share: float) -> None:
        """Record that a share of the work on some pairs is done."""
        self._done += pairs * share * self._share
        whole = int(self._done + 1e-6)
        if whole > self._reported:
            advance(whole - self._reported)
            self._reported = whole
