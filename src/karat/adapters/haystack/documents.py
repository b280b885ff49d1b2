"""Haystack's four evaluators of retrieved documents, over karat's metrics of rankings.

A retrieved document matches a ground truth document if their values under `document_comparison_field` are equal in
Python (1 equals 1.0). None, NaN and the empty text match nothing; lists and dicts are compared like any other value.
"""

# No `from __future__ import annotations`: older releases of Haystack cannot read sockets whose types are texts.

from typing import Any, ClassVar

import pyarrow as pa
from haystack import Document, component
from haystack.components import evaluators
from haystack.components.evaluators.document_recall import RecallMode

from karat.adapters.haystack.component import INTEGRATION, Detailed, check_lengths
from karat.adapters.haystack.field import Field, reader
from karat.adapters.haystack.ranking import grade, to_columns, warn_of_missing_retrievals
from karat.core.errors import RowError
from karat.core.metric.metric import Metric
from karat.metrics import average_precision, hit_rate, ndcg, recall, reciprocal_rank


class _RankingEvaluator(Detailed):
    """A metric of rankings in a component of Haystack's, and the field by which documents are compared.

    `first_match_only`: documents after the first relevant one do not change the score, so they are not read.
    """

    own: ClassVar = ("k", "details")
    metric: Metric
    k: int | None
    document_comparison_field: Any
    first_match_only: bool = False
    warn_of_missing_retrievals: bool = False

    def __init__(
        self, document_comparison_field: Field = "content", *, k: int | None = None, details: bool = False
    ) -> None:
        """An evaluator of the first `k` retrieved documents, or of all.

        With `details`, its results have the 95 % confidence interval of the score.

        `document_comparison_field`: `"content"`, `"id"`, `"meta.<key>"` (with dots between nested keys), or a list of
        these that must all be equal. Raises `SpecError` for `k` < 1; another field is
        an error of `run`, as in Haystack.
        """
        super().__init__(document_comparison_field=document_comparison_field)  # type: ignore[call-arg]
        self.configure(k=k, details=details)
        self.metric.using(k=k)

    @component.output_types(score=float, individual_scores=list[float])
    def run(
        self, ground_truth_documents: list[list[Document]], retrieved_documents: list[list[Document]]
    ) -> dict[str, Any]:
        """Score the retrieved documents of each question.

        Both are lists of documents for each question: the relevant ones, and the retrieved ones, best first.

        Returns `individual_scores`, floats from 0 to 1, and their mean as `score`. Raises `RowError`, a
        `ValueError`, for lists of unequal length, empty lists, and anything that is not a list of lists of documents,
        and `SpecError`, a `ValueError` too, for an unknown `document_comparison_field`.
        """
        check_lengths(ground_truth_documents=ground_truth_documents, retrieved_documents=retrieved_documents)
        retrieved, relevant = to_columns(
            retrieved_documents, ground_truth_documents, self.document_comparison_field, first=self.first_match_only
        )
        if self.warn_of_missing_retrievals:
            warn_of_missing_retrievals(retrieved_documents, retrieved, self.document_comparison_field)
        scores = self.metric.using(k=self.k)(retrieved, self._graded(ground_truth_documents, relevant)).to_pylist()
        if None in scores:
            question = scores.index(None) + 1
            raise RowError(f"ground_truth_documents, question {question}: a finite score is expected")
        return self.detail({"individual_scores": scores, "score": sum(scores) / len(scores)})

    def _graded(self, _: list[list[Document]], ids: pa.Array) -> pa.Array:
        """The column of ground truth documents: ids, or ids with grades."""
        return ids

    def _get_comparison_value(self, doc: Document) -> Any:
        """The value by which Haystack's own methods compare a document."""
        return reader(self.document_comparison_field)(doc)


@component
class DocumentMAPEvaluator(_RankingEvaluator, evaluators.DocumentMAPEvaluator):
    """Mean average precision: the mean precision at the ranks of the relevant documents.

    >>> from haystack import Document
    >>> gold = [[Document(content="France")], [Document(content="9th century"), Document(content="9th")]]
    >>> retrieved = [gold[0], [gold[1][0], Document(content="10th century"), gold[1][1]]]
    >>> DocumentMAPEvaluator().run(gold, retrieved)
    {'individual_scores': [1.0, 0.8333333333333333], 'score': 0.9166666666666666}
    """

    __module__ = INTEGRATION

    metric = average_precision


@component
class DocumentMRREvaluator(_RankingEvaluator, evaluators.DocumentMRREvaluator):
    """Mean reciprocal rank: one over the rank of the first relevant document.

    >>> from haystack import Document
    >>> gold, retrieved = [[Document(content="9th")]], [[Document(content="8th"), Document(content="9th")]]
    >>> DocumentMRREvaluator().run(gold, retrieved)["score"]
    0.5
    """

    __module__ = INTEGRATION

    metric = reciprocal_rank
    first_match_only = True


@component
class DocumentRecallEvaluator(_RankingEvaluator, evaluators.DocumentRecallEvaluator):
    """Whether a relevant document was retrieved, or with `mode="multi_hit"` the share of the relevant ones that was.

    >>> from haystack import Document
    >>> gold, retrieved = [[Document(content="8th"), Document(content="9th")]], [[Document(content="9th")]]
    >>> DocumentRecallEvaluator().run(gold, retrieved)["score"]
    1.0
    >>> DocumentRecallEvaluator(mode="multi_hit").run(gold, retrieved)["score"]
    0.5
    """

    __module__ = INTEGRATION

    warn_of_missing_retrievals = True

    def __init__(
        self,
        mode: str | RecallMode = RecallMode.SINGLE_HIT,
        document_comparison_field: Field = "content",
        *,
        k: int | None = None,
        details: bool = False,
    ) -> None:
        """Like the other evaluators; a `ValueError` for an unknown `mode`."""
        single = RecallMode.from_str(str(mode)) is RecallMode.SINGLE_HIT
        self.metric, self.first_match_only = hit_rate if single else recall, single
        _RankingEvaluator.__init__(
            self, document_comparison_field, k=k, details=details
        )  # no super(): `component` replaces the class
        self.mode = RecallMode.from_str(str(mode))


@component
class DocumentNDCGEvaluator(_RankingEvaluator, evaluators.DocumentNDCGEvaluator):
    """Normalised discounted cumulative gain; the gain of a ground truth document is its score, or 1 without a score.

    A score below 0 counts as 0.

    >>> from haystack import Document
    >>> gold = [[Document(content="France", score=1.0), Document(content="Paris", score=0.5)]]
    >>> retrieved = [[Document(content="France"), Document(content="Germany"), Document(content="Paris")]]
    >>> round(DocumentNDCGEvaluator().run(gold, retrieved)["score"], 4)
    0.9502
    """

    __module__ = INTEGRATION

    metric = ndcg

    def _graded(self, documents: list[list[Document]], ids: pa.Array) -> pa.Array:
        scores = [document.score for each in documents for document in each]
        missing = scores.count(None)
        if missing == len(scores):
            return ids
        if missing:
            self.validate_inputs(documents, documents)  # of a question either all documents have a score or none has
        return grade(ids, scores)

    def _build_relevance_map(self, gt_docs: list[Document]) -> dict[Any, float]:
        gains = evaluators.DocumentNDCGEvaluator._build_relevance_map(self, gt_docs)  # noqa: SLF001
        return {value: max(gain, 0.0) for value, gain in gains.items()}
