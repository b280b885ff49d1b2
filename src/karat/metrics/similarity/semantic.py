"""Metrics of meaning: how similar two texts are according to an encoder model.

`model` is a name on the Hugging Face hub, a folder or, in Python, any callable from a list of texts to a matrix. Texts
longer than the model's window are cut, which the column `<spec>.truncated` and a warning report. A model's output for a
text is kept on disk (`KARAT_VECTORS`, a file or `off`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import numpy as np

from karat.core.columns.kinds import Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.setting import OptionalCount
from karat.metrics.similarity.baseline import PARTS, Baseline, SimilarityFigure, read_baseline, rescale_range
from karat.metrics.similarity.pair_scoring import Fetch, cosines, score_pairs, sigmoids, truncated
from karat.models.encoders.encoder import Choice, Dtype, EncoderOutput, Pair
from karat.models.encoders.open import open_encoder
from karat.models.encoders.token_match import TokenMatcher


def check_model(value: Any) -> None:
    if value is not None and not isinstance(value, str) and not callable(value):
        raise SpecError("a name on the Hugging Face hub, a folder or, in Python, a callable is expected")


EncoderSetting: TypeAlias = Annotated[Any, check_model]

RISCH = "Risch et al. 2021, Semantic Answer Similarity, arXiv:2108.06130"
MOST_PAIRS = 1024  # the vectors of the tokens of so many pairs are in memory at a time


def require_model(model: Any) -> Any:
    """The model; `SpecError` if none is named, because there is no default that could be downloaded."""
    if model is None:
        raise SpecError("a model is needed, such as model='sentence-transformers/all-MiniLM-L6-v2' or model='a/folder'")
    return model


def uses_endpoint(settings: Mapping[str, Any]) -> bool:
    """Whether texts are sent to an endpoint, which returns their vectors."""
    return bool(settings.get("endpoint"))


@metric(source=RISCH, low=-1, encoded=True, remote=uses_endpoint, details=truncated)
def semantic_similarity(
    prediction: Text,
    reference: Text,
    *,
    model: EncoderSetting = None,
    revision: str | None = None,
    dtype: Dtype = "float32",
    prompt: str | None = None,
    max_length: OptionalCount = None,
    normalize: bool = True,
    endpoint: bool = False,
) -> Score:
    """The cosine of the vectors that a bi-encoder makes of prediction and reference, from -1 to 1.

    A row with an empty text is unscored. `normalize=False` is the dot product, for models whose vectors have length 1.
    `endpoint=True` requests the vectors from `OPENAI_BASE_URL`.

    >>> def letters(texts):  # any function from texts to a matrix is a model
    ...     return [[text.count(letter) for letter in "abc"] for text in texts]
    >>> semantic_similarity(["abba", "", "cc"], [["bb"], ["a"], ["c", "a"]], model=letters).to_pylist()
    [0.7071..., None, 1.0]
    """
    choice = Choice(require_model(model), revision, dtype, prompt, max_length, endpoint=endpoint)
    return score_pairs(prediction, reference, open_encoder(choice), cosines(normalize))


@metric(source=RISCH, encoded=True, remote=uses_endpoint, details=truncated)
def cross_similarity(
    prediction: Text,
    reference: Text,
    *,
    model: EncoderSetting = None,
    revision: str | None = None,
    dtype: Dtype = "float32",
    max_length: OptionalCount = None,
) -> Score:
    """The score of a cross-encoder that reads prediction and reference together: the sigmoid of its one logit.

    The score of a pair does not depend on other pairs. A row with an empty text is unscored.

    >>> cross_similarity.using(model="cross-encoder/stsb-distilroberta-base").settings["model"]
    'cross-encoder/stsb-distilroberta-base'
    """
    name = require_model(model)
    if callable(name):
        raise SpecError(
            "cross_similarity needs a named model: a callable returns vectors, which semantic_similarity compares"
        )
    choice = Choice(name, revision, dtype, None, max_length)
    return score_pairs(prediction, reference, open_encoder(choice, cross=True), sigmoids)


@metric(
    source="Zhang et al. 2020, BERTScore, arXiv:1904.09675, without idf weights; bert-score 0.3.13",
    low=-1,
    encoded=True,
    remote=uses_endpoint,
    details=truncated,
    specialise=rescale_range,
)
def token_similarity(
    prediction: Text,
    reference: Text,
    *,
    part: SimilarityFigure = "f1",
    layers: OptionalCount = None,
    rescale: Baseline = None,
    model: EncoderSetting = None,
    revision: str | None = None,
    dtype: Dtype = "float32",
    prompt: str | None = None,
    max_length: OptionalCount = None,
) -> Score:
    """BERTScore: F1 of the cosines between each token and the most similar token of the other text.

    Tokens are vectors of the model's last layer, or of the layer `layers`, counted from 1. `part="precision"` is the
    mean over the prediction's tokens of the cosine to the most similar token of the reference, `part="recall"` the mean
    over the reference's tokens. `rescale` is what texts without relation score, which becomes 0: a number, or a file of
    bert-score's form (`LAYER,P,R,F`). A row with an empty text is unscored.

    >>> token_similarity.using(model="roberta-large", part="recall")
    token_similarity(model='roberta-large', part='recall')
    """
    name = require_model(model)
    if callable(name):
        raise SpecError(
            "token_similarity needs a named model: a callable returns vectors of texts, not of their tokens"
        )
    choice = Choice(name, revision, dtype, prompt, max_length, layers)
    place, zero = PARTS.index(part), read_baseline(rescale, layers, part)

    def score(encoder: Any, pairs: list[Pair], fetch: Fetch) -> EncoderOutput:
        parts = fetch("tokens 1", pairs, TokenMatcher(encoder).score, MOST_PAIRS)
        return EncoderOutput((parts.rows[:, place].astype(np.float64) - zero) / (1 - zero), parts.truncated)

    return score_pairs(prediction, reference, open_encoder(choice), score)
