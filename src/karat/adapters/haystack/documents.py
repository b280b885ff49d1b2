"""Haystack's four evaluators of retrieved documents, over karat's metrics of rankings.

A retrieved document matches a ground truth document if their values under `document_comparison_field` are equal in
Python (1 equals 1.0). None, NaN and the empty text match nothing; lists and dicts are compared like any other value.
"""

# No `from __future__ import annotations`: older releases of Haystack cannot read sockets whose types are texts.

import math
from enum import Enum
from typing import Any, Self

import numpy as np
import pyarrow as pa
from haystack import Document, component, default_to_dict

from karat.adapters.haystack.field import Field, reader, restore_field, store
from karat.adapters.haystack.output import (
    INTEGRATION,
    check_lengths,
    declare_details,
    interval_of,
    mean_of,
    restore,
)
from karat.adapters.haystack.ranking import grade, to_columns, warn_of_missing_retrievals
from karat.core.errors import RowError, SpecError
from karat.core.metric.metric import Metric
from karat.metrics import average_precision, hit_rate, ndcg, recall, reciprocal_rank


class RecallMode(Enum):
    """How the recall of a question is computed: whether any relevant document was retrieved, or the share of them.

    >>> str(RecallMode.from_str("multi_hit"))
    'multi_hit'
    """

    SINGLE_HIT = "single_hit"
    MULTI_HIT = "multi_hit"

    def __str__(self) -> str:
        return self.value

    @staticmethod
    def from_str(string: str) -> "RecallMode":
        """The mode with this name; `SpecError`, a `ValueError`, if there is none."""
        modes = {mode.value: mode for mode in RecallMode}
        if string not in modes:
            raise SpecError(f"Unknown recall mode '{string}'. Supported modes are: {list(modes)}")
        return modes[string]


class _DocumentEvaluator:
    """The common part of the evaluators: a metric of rankings, and the field by which documents are compared.

    `first_match_only`: documents after the first relevant one do not change the score, so they are not read.
    """

    metric: Metric
    first_match_only: bool = False
    warn_of_missing_retrievals: bool = False

    def __init__(
        self, document_comparison_field: Field = "content", *, k: int | None = None, details: bool = False
    ) -> None:
        """An evaluator of the first `k` retrieved documents, or of all.

        With `details`, its results have the 95 % confidence interval of the score.

        `document_comparison_field`: `"content"`, `"id"`, `"meta.<key>"` (with dots between nested keys), a function
        of a document, or a list of these that must all be equal. Raises `SpecError` for `k` < 1; another field is
        an error of `run`, as in Haystack.
        """
        self.metric.using(k=k)
        self.document_comparison_field = document_comparison_field
        self.k, self.details = k, details
        declare_details(self)

    def _mode(self) -> dict[str, str]:
        return {}

    def _relevant(self, _: list[list[Document]], ids: pa.Array) -> pa.Array:
        """The column of ground truth documents: ids, or ids with grades."""
        return ids

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
        relevant = self._relevant(ground_truth_documents, relevant)
        scores = self.metric.using(k=self.k)(retrieved, relevant).to_numpy(zero_copy_only=False)
        listed = scores.tolist()
        if math.isnan(total := sum(listed)):
            question = int(np.isnan(scores).argmax()) + 1
            raise RowError(f"ground_truth_documents, question {question}: a finite score is expected")
        outputs = mean_of(listed, total)
        return outputs | {"details": {"interval": interval_of(listed)}} if self.details else outputs

    @staticmethod
    def validate_inputs(gt_docs: list[list[Document]], ret_docs: list[list[Document]]) -> None:
        """`RowError`, a `ValueError`, for lists of unequal length and for empty ones."""
        check_lengths(ground_truth_documents=gt_docs, retrieved_documents=ret_docs)

    def to_dict(self) -> dict[str, Any]:
        """The component as a dict, as Haystack stores it; `SerializationError` for a field that is a lambda."""
        own = {name: value for name, value in (("k", self.k), ("details", self.details)) if value}
        field = store(self.document_comparison_field)
        return default_to_dict(self, **self._mode(), document_comparison_field=field, **own)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component from a dict of `to_dict`, its own or that of Haystack's component of the same name."""
        field = data.get("init_parameters", {}).get("document_comparison_field", "content")
        return restore(cls, data, document_comparison_field=restore_field(field))


@component
class DocumentMAPEvaluator(_DocumentEvaluator):
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
class DocumentMRREvaluator(_DocumentEvaluator):
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
class DocumentRecallEvaluator(_DocumentEvaluator):
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
        """Like the other evaluators; `SpecError`, a `ValueError`, for an unknown `mode`."""
        self.mode = RecallMode.from_str(str(mode))
        self.first_match_only = self.mode is RecallMode.SINGLE_HIT
        self.metric = hit_rate if self.first_match_only else recall
        # No super(): `component` replaces the class.
        _DocumentEvaluator.__init__(self, document_comparison_field, k=k, details=details)

    def _mode(self) -> dict[str, str]:
        return {"mode": str(self.mode)}


@component
class DocumentNDCGEvaluator(_DocumentEvaluator):
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

    def _relevant(self, documents: list[list[Document]], ids: pa.Array) -> pa.Array:
        self._check_scores(documents)
        return grade(ids, [document.score for each in documents for document in each])

    @staticmethod
    def validate_inputs(gt_docs: list[list[Document]], ret_docs: list[list[Document]]) -> None:
        """`RowError`, a `ValueError`, for lists of unequal length, empty lists, and missing scores.

        Of a question's ground truth documents either all have a score or none has.
        """
        check_lengths(ground_truth_documents=gt_docs, retrieved_documents=ret_docs)
        DocumentNDCGEvaluator._check_scores(gt_docs)

    @staticmethod
    def _check_scores(lists: list[list[Document]]) -> None:
        for documents in lists:
            if len({document.score is None for document in documents}) > 1:
                raise RowError("Either none or all documents in each list of ground_truth_documents must have a score.")

    def calculate_dcg(self, gt_docs: list[Document], ret_docs: list[Document]) -> float:
        """The discounted cumulative gain of one question's retrieved documents; each value counts once."""
        gains, read = self._gains(gt_docs), reader(self.document_comparison_field)
        return _discount([gains.pop(read(document), 0.0) for document in ret_docs[: self.k]])

    def calculate_idcg(self, gt_docs: list[Document]) -> float:
        """The discounted cumulative gain of the best possible ranking of one question's ground truth documents."""
        return _discount(sorted(self._gains(gt_docs).values(), reverse=True)[: self.k])

    def _gains(self, documents: list[Document]) -> dict[Any, float]:
        read = reader(self.document_comparison_field)
        gains: dict[Any, float] = {}
        for document in documents:
            value, gain = read(document), 1.0 if document.score is None else max(document.score, 0.0)
            if value is not None and value != "":
                gains[value] = max(gain, gains.get(value, 0.0))
        return gains


def _discount(gains: list[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1)) if gains else 0.0
