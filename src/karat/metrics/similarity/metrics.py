"""How alike two texts are in meaning, as a model has it.

`model` is a name on the Hugging Face hub or a folder, and in Python any callable from a list of texts to a matrix;
nothing is downloaded that is not named. Texts beyond the model's window are cut, which `<spec>.truncated` and a warning
tell. What a model made of a text is kept on disk (`KARAT_VECTORS`, a file or `off`): each is encoded once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from karat.core.columns.kinds import Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.metrics.similarity.text_pairs import Fetch, cosines, score_pairs, sigmoids, truncated
from karat.models.encoders.base import Backend, Choice, Dtype, EncoderOutput, Pair
from karat.models.encoders.open import open_encoder
from karat.models.encoders.token_match import TokenMatcher


def check_model(value: Any) -> None:
    if value is not None and not isinstance(value, str) and not callable(value):
        raise SpecError("a name on the Hugging Face hub, a folder or, in Python, a callable is expected")


def check_count(value: int | None) -> None:
    if value is not None and value < 1:
        raise SpecError("a whole number from 1 is expected, or None")


Named: TypeAlias = Annotated[Any, check_model]
Count: TypeAlias = Annotated[int | None, check_count]
Local: TypeAlias = Literal["auto", "sentence-transformers", "onnx"]
Part: TypeAlias = Literal["f1", "precision", "recall"]

RISCH = "Risch et al. 2021, Semantic Answer Similarity, arXiv:2108.06130"
MOST_PAIRS = 1024  # whose tokens' vectors are held at a time


def _named(model: Any) -> Any:
    """The model; `SpecError` where none is named, for none is downloaded unasked."""
    if model is None:
        raise SpecError("name a model, such as model='sentence-transformers/all-MiniLM-L6-v2' or model='a/folder'")
    return model


def uses_endpoint(settings: Mapping[str, Any]) -> bool:
    """Whether the texts are sent to an endpoint, which returns their vectors."""
    return bool(settings["backend"] == "endpoint")


@metric(source=RISCH, low=-1, encoded=True, remote=True, asks_model=uses_endpoint, details=truncated)
def semantic_similarity(
    prediction: Text,
    reference: Text,
    *,
    model: Named = None,
    revision: str | None = None,
    backend: Backend = "auto",
    device: str | None = None,
    dtype: Dtype = "float32",
    batch_size: Count = None,
    prompt: str | None = None,
    max_length: Count = None,
    normalize: bool = True,
) -> Score:
    """The cosine of a bi-encoder's vectors of prediction and reference, from -1 to 1.

    An empty text is unscored. With `normalize=False` it is the dot product of vectors that have length 1 as they come.
    `backend="endpoint"` asks for vectors at `OPENAI_BASE_URL`.

    >>> def letters(texts):  # a model of one's own: any function from texts to a matrix
    ...     return [[text.count(letter) for letter in "abc"] for text in texts]
    >>> semantic_similarity(["abba", "", "cc"], [["bb"], ["a"], ["c", "a"]], model=letters).to_pylist()
    [0.7071..., None, 1.0]
    """
    choice = Choice(_named(model), revision, backend, device, dtype, batch_size, prompt, max_length)
    return score_pairs(prediction, reference, open_encoder(choice), cosines(normalize))


@metric(source=RISCH, encoded=True, remote=True, details=truncated)
def cross_similarity(
    prediction: Text,
    reference: Text,
    *,
    model: Named = None,
    revision: str | None = None,
    backend: Local = "auto",
    device: str | None = None,
    dtype: Dtype = "float32",
    batch_size: Count = None,
    max_length: Count = None,
) -> Score:
    """A cross-encoder's score of prediction and reference read together: the sigmoid of its one logit.

    A pair's score does not depend on the pairs beside it. An empty text is unscored.

    >>> cross_similarity.using(model="cross-encoder/stsb-distilroberta-base").settings["model"]
    'cross-encoder/stsb-distilroberta-base'
    """
    name = _named(model)
    if callable(name):
        raise SpecError("cross_similarity: a callable makes vectors, which semantic_similarity compares")
    choice = Choice(name, revision, backend, device, dtype, batch_size, None, max_length)

    return score_pairs(prediction, reference, open_encoder(choice, cross=True), sigmoids)


@metric(
    source="Zhang et al. 2020, BERTScore, arXiv:1904.09675, without idf weights and rescaling",
    low=-1,
    encoded=True,
    remote=True,
    details=truncated,
)
def token_similarity(
    prediction: Text,
    reference: Text,
    *,
    part: Part = "f1",
    model: Named = None,
    revision: str | None = None,
    backend: Local = "auto",
    device: str | None = None,
    dtype: Dtype = "float32",
    batch_size: Count = None,
    prompt: str | None = None,
    max_length: Count = None,
) -> Score:
    """How well each token finds one like it in the other text: the F1 of the cosines of a model's last layer.

    `part="precision"` is the mean over the prediction's tokens of the cosine to the reference's nearest token,
    `part="recall"` the same over the reference's. An empty text is unscored.

    >>> token_similarity.using(model="roberta-large", part="recall")
    token_similarity(model='roberta-large', part='recall')
    """
    name = _named(model)
    if callable(name):
        raise SpecError("token_similarity: a callable makes vectors of texts, and those of tokens are wanted")
    choice = Choice(name, revision, backend, device, dtype, batch_size, prompt, max_length)
    place = ("precision", "recall", "f1").index(part)

    def score(encoder: Any, pairs: list[Pair], fetch: Fetch) -> EncoderOutput:
        made = fetch("tokens 1", pairs, TokenMatcher(encoder).score, MOST_PAIRS)
        return EncoderOutput(made.rows[:, place].astype(np.float64), made.truncated)

    return score_pairs(prediction, reference, open_encoder(choice), score)
