"""Citation recall and precision of ALCE: whether the contexts that a sentence cites, as in `[1]`, support it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from karat.core.columns.kinds import Score, Text, Texts
from karat.core.metric.decorator import metric
from karat.core.metric.setting import Fraction, OptionalCount
from karat.metrics.similarity.semantic import EncoderSetting, require_model, uses_endpoint
from karat.metrics.support.answers import Answer, SupportVerdict, score_answers
from karat.metrics.support.entailment import Entailment, EntailmentLabel
from karat.metrics.support.sentences import Sentence
from karat.metrics.support.supported import DETAILS, details, judge_sentences
from karat.models.encoders.encoder import Choice, Dtype, Pair

ALCE = "Gao et al. 2023, ALCE, arXiv:2305.14627; https://github.com/princeton-nlp/ALCE/tree/3fdc2ed05e, eval.py"
PRECISION_DETAILS = {"irrelevant": pa.string(), "citation": pa.int64(), "truncated": pa.bool_()}


def precision_details(_: Mapping[str, Any]) -> Mapping[str, pa.DataType]:
    """The columns beside the score: the first sentence with a citation that does not count, its number, whether cut."""
    return PRECISION_DETAILS


@metric(source=ALCE, remote=uses_endpoint, details=details)
def citation_recall(
    prediction: Text,
    contexts: Texts,
    *,
    at_most_citations: OptionalCount = 3,
    threshold: Fraction = 0.5,
    label: EntailmentLabel = None,
    language: str = "en",
    model: EncoderSetting = None,
    revision: str | None = None,
    dtype: Dtype = "float32",
    max_length: OptionalCount = None,
) -> Score:
    """The share of a prediction's sentences that are supported by the contexts they cite, taken together.

    `[2]` cites the second context. The first `at_most_citations` of a sentence count, None: all. A sentence that cites
    nothing, or a context that there is not, is not supported. A prediction without a sentence is unscored. `threshold`,
    `label` and the model are as in `supported`.

    >>> def repeats(pairs):
    ...     return [float(sentence.rstrip(".") in passage) for passage, sentence in pairs]
    >>> citation_recall(["Rain falls [1]. Pigs fly [1]."], [["Rain falls often."]], model=repeats).to_pylist()
    [0.5]
    """
    choice = Choice(require_model(model), revision, dtype, None, max_length)
    entailment = Entailment(choice, label, language)

    def judge(answers: Sequence[Answer]) -> Iterator[SupportVerdict]:
        cited = [_read(answer, at_most_citations) for answer in answers]
        entailment(each.pair() for row in cited for each in row)
        for answer, row in zip(answers, cited, strict=True):
            yield judge_sentences(answer, entailment(each.pair() for each in row), threshold)

    return score_answers(prediction, contexts, entailment, judge, DETAILS)


@metric(source=ALCE, remote=uses_endpoint, details=precision_details)
def citation_precision(
    prediction: Text,
    contexts: Texts,
    *,
    at_most_citations: OptionalCount = 3,
    threshold: Fraction = 0.5,
    label: EntailmentLabel = None,
    language: str = "en",
    model: EncoderSetting = None,
    revision: str | None = None,
    dtype: Dtype = "float32",
    max_length: OptionalCount = None,
) -> Score:
    """The share of a prediction's citations that their sentence needs.

    None counts in a sentence that its citations together do not support. In a supported one, a citation counts unless
    it alone does not support the sentence while the others do without it. Citations are read as in `citation_recall`;
    the citations of a sentence that cites a context that does not exist are left out. A prediction that cites nothing
    scores 0, one without a sentence is unscored.

    >>> def repeats(pairs):
    ...     return [float(sentence.rstrip(".") in passage) for passage, sentence in pairs]
    >>> citation_precision(["Rain falls [1][2]."], [["Rain falls often.", "Pigs fly."]], model=repeats).to_pylist()
    [0.5]
    """
    choice = Choice(require_model(model), revision, dtype, None, max_length)
    entailment = Entailment(choice, label, language)

    def supports(pair: Pair) -> bool:
        return entailment([pair])[0] >= threshold

    def counts(each: _Cited, number: int) -> bool:
        return supports(each.pair()) and (supports(each.pair([number])) or not supports(each.without(number)))

    def judge(answers: Sequence[Answer]) -> Iterator[SupportVerdict]:
        cited = [_read(answer, at_most_citations) for answer in answers]
        entailment(each.pair() for row in cited for each in row)
        rest = [each for row in cited for each in row if len(each.numbers) > 1 and supports(each.pair())]
        entailment(each.pair([number]) for each in rest for number in each.numbers)
        entailment(each.without(n) for each in rest for n in each.numbers if not supports(each.pair([n])))
        for row in cited:
            citations = [(each, number) for each in row for number in each.numbers]
            wrong = [(each.sentence.text, number) for each, number in citations if not counts(each, number)]
            share = (len(citations) - len(wrong)) / max(1, len(citations))
            yield share, *(wrong[0] if wrong else (None, None))

    return score_answers(prediction, contexts, entailment, judge, PRECISION_DETAILS)


class _Cited(NamedTuple):
    """A sentence, the numbers that it cites, and the contexts."""

    sentence: Sentence
    numbers: list[int]
    contexts: list[str]

    def pair(self, numbers: Sequence[int] | None = None) -> Pair:
        """The cited contexts as one passage, with the sentence."""
        numbers = self.numbers if numbers is None else numbers
        return "\n".join(self.contexts[number - 1] for number in numbers), self.sentence.claim

    def without(self, number: int) -> Pair:
        """The pair of the other citations; of a context cited twice, one citation is left."""
        others = self.numbers.copy()
        others.remove(number)
        return self.pair(others)


def _read(answer: Answer, most: int | None) -> list[_Cited]:
    """The citations of each sentence: none where one of them is the number of no context."""
    known = range(1, len(answer.contexts) + 1)
    return [
        _Cited(each, [*each.citations[:most]] if set(each.citations) <= set(known) else [], answer.contexts)
        for each in answer.sentences
    ]
