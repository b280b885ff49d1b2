"""The share of the sentences of a prediction that its contexts support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from karat.core.columns.kinds import Score, Text, Texts
from karat.core.metric.decorator import metric
from karat.core.metric.setting import Fraction, OptionalCount
from karat.metrics.similarity.semantic import EncoderSetting, require_model, uses_endpoint
from karat.metrics.support.answers import Answer, SupportVerdict, score_answers
from karat.metrics.support.entailment import Entailment, EntailmentLabel
from karat.models.encoders.encoder import Choice, Dtype

SOURCE = (
    "the largest entailment by a passage, as zero-shot SummaC, arXiv:2111.09525, and MiniCheck, arXiv:2404.10774; "
    "the share of sentences, as AutoAIS in ALCE, arXiv:2305.14627"
)
DETAILS = {"unsupported": pa.string(), "probability": pa.float64(), "truncated": pa.bool_()}


def details(_: Mapping[str, Any]) -> Mapping[str, pa.DataType]:
    """The columns beside the score: the first sentence without support, its probability, whether one was cut."""
    return DETAILS


@metric(source=SOURCE, remote=uses_endpoint, details=details)
def supported(
    prediction: Text,
    contexts: Texts,
    *,
    threshold: Fraction = 0.5,
    combine: Literal["max", "join"] = "max",
    label: EntailmentLabel = None,
    language: str = "en",
    model: EncoderSetting = None,
    revision: str | None = None,
    dtype: Dtype = "float32",
    max_length: OptionalCount = None,
) -> Score:
    """The share of a prediction's sentences that a context supports, by a model of entailment that runs here.

    A sentence is supported if one context alone makes it at least `threshold` likely; with `combine="join"`, if all
    contexts together do. Marks such as `[1]` are not part of a sentence. Without contexts no sentence is supported:
    the score is 0. A prediction without a sentence is unscored. `label`: the model's output that means support, where
    its configuration names none "entailment" or "supported".

    >>> def repeats(pairs):  # any function from pairs of a passage and a sentence to probabilities is a model
    ...     return [float(sentence.rstrip(".") in passage) for passage, sentence in pairs]
    >>> supported(["Rain falls [1]. Pigs fly."], [["Rain falls often.", "Pigs do not."]], model=repeats).to_pylist()
    [0.5]
    """
    choice = Choice(require_model(model), revision, dtype, None, max_length)
    entailment = Entailment(choice, label, language)

    def judge(answers: Sequence[Answer]) -> Iterator[SupportVerdict]:
        passages = [["\n".join(each.contexts)] if combine == "join" else each.contexts for each in answers]
        pairs = zip(answers, passages, strict=True)
        entailment((text, sentence.claim) for each, texts in pairs for sentence in each.sentences for text in texts)
        for answer, texts in zip(answers, passages, strict=True):
            highest = [max(entailment((text, each.claim) for text in texts), default=0) for each in answer.sentences]
            yield judge_sentences(answer, highest, threshold)

    return score_answers(prediction, contexts, entailment, judge, DETAILS)


def judge_sentences(answer: Answer, probabilities: Sequence[float], threshold: float) -> SupportVerdict:
    """The share of sentences that are likely enough, the first other one, and its probability."""
    pairs = zip(answer.sentences, probabilities, strict=True)
    low = [(sentence.text, probability) for sentence, probability in pairs if not probability >= threshold]
    return (len(probabilities) - len(low)) / len(probabilities), *(low[0] if low else (None, None))
