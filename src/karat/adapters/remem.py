"""REMem's metrics of answers and retrieval over karat's metrics: the same classes, keys and numbers.

>>> QAF1Score().calculate_metric_scores([["Paris", "City of Paris"], ["Lyon"]], ["Paris, France", "Lyon"])
({'F1': 0.833...}, [{'F1': 0.666...}, {'F1': 1.0}])

For input that REMem rejects with an unclear error or scores by accident (lists of unequal length, rows without gold
answers, nulls) a `karat.RowError` names the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_list
from karat.core.columns.kinds import Score, Text, to_arrow
from karat.core.errors import RowError, SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.metric.score import score_columns, score_rows
from karat.metrics import bleu, exact_match, sentence_bleu, token_f1

Pooled: TypeAlias = dict[str, float]
PerExample: TypeAlias = list[dict[str, float]]

_NAMED: dict[Any, str] = {np.max: "max", max: "max", np.mean: "mean", np.min: "min", min: "min"}
"""The aggregations that the core knows by name, which are faster than a callable."""


class _AnswerMetric:
    """The common part of the metrics of answers: a metric is scored for each gold answer and aggregated by row."""

    metric_name: ClassVar[str]
    key: ClassVar[str]
    metric: ClassVar[Metric]

    def __init__(self, global_config: Any = None) -> None:
        self.global_config = global_config

    def calculate_metric_scores(
        self,
        gold_answers: Sequence[Sequence[str]],
        predicted_answers: Sequence[str],
        aggregation_fn: Callable[[Sequence[float]], float] = np.max,
        **_: Any,
    ) -> tuple[Pooled, PerExample]:
        """The mean over all rows, and the score of each row; further arguments are ignored, as in REMem.

        `gold_answers`: a list of acceptable answers for each row. `aggregation_fn`: combines a row's scores, one for
        each gold answer. Raises `karat.RowError` for lists of unequal length, a row without gold answers and a null.
        """
        gold, predicted = _columns(gold_answers, predicted_answers)
        across = _NAMED.get(aggregation_fn, aggregation_fn)
        scores = self.metric(predicted, gold, across=across).to_numpy(zero_copy_only=False)
        pooled = float(scores.mean()) if len(scores) else 0.0
        return {self.key: pooled}, [{self.key: score} for score in scores.tolist()]


class QAExactMatch(_AnswerMetric):
    """Whether an answer equals a gold answer after SQuAD's normalisation.

    >>> QAExactMatch().calculate_metric_scores([["Paris"], ["Lyon", "Lyons"]], ["the Paris.", "Nice"])
    ({'ExactMatch': 0.5}, [{'ExactMatch': 1.0}, {'ExactMatch': 0.0}])
    """

    metric_name = "qa_exact_match"
    key = "ExactMatch"
    metric = exact_match.using(normalize="squad")


class QAF1Score(_AnswerMetric):
    """F1 of an answer's and a gold answer's tokens after SQuAD's normalisation; 0 if neither has a token.

    >>> QAF1Score().calculate_metric_scores([["red cat", "cat"]], ["the cat"], aggregation_fn=np.mean)
    ({'F1': 0.833...}, [{'F1': 0.833...}])
    """

    metric_name = "qa_f1_score"
    key = "F1"
    metric = token_f1.using(normalize="squad", empty="v1")


@metric(source="Hugging Face evaluate, metrics/bleu at 4ec931ef, called once per gold answer", register=False)
def pair_bleu(prediction: Text, reference: Text, *, order: int = 4) -> Score:
    """BLEU of one prediction against one gold answer, unsmoothed, with the tokeniser of `evaluate`.

    >>> pair_bleu(["the cat sat"], [["the cat", "cats"]], order=1).to_pylist()
    [0.666...]
    """
    alone = sentence_bleu.using(smooth="none", effective_order=False, reference_length="shortest", order=order)
    rows: Rows = score_rows(alone, {"prediction": prediction, "reference": reference})
    return rows


class _BleuMetric(_AnswerMetric):
    order: ClassVar[int]

    def calculate_corpus_bleu(
        self, gold_answers: Sequence[Sequence[str]], predicted_answers: Sequence[str], **_: Any
    ) -> Pooled:
        """BLEU of all answers together, each against its first gold answer.

        Raises `karat.RowError` as `calculate_metric_scores` does. REMem returns 0 if any row has no gold answer, since
        it drops that row from the gold side only.
        """
        gold, predicted = _columns(gold_answers, predicted_answers)
        corpus = bleu.using(smooth="none", reference_length="shortest", order=self.order)
        (rows,) = score_columns([corpus], {"prediction": predicted, "reference": pc.list_element(gold, 0)})
        totals = rows.statistics.sum(axis=0)
        value = float(corpus.finish(totals)) if corpus.finish is not None and len(predicted) else 0.0
        return {f"Corpus_BLEU-{self.order}": value}


class QABleu1Score(_BleuMetric):
    """BLEU of single words; case and punctuation matter, nothing is normalised.

    >>> QABleu1Score().calculate_metric_scores([["Paris"]], ["Paris."])
    ({'BLEU-1': 0.5}, [{'BLEU-1': 0.5}])
    """

    metric_name = "qa_bleu1_score"
    key = "BLEU-1"
    order = 1
    metric = pair_bleu.using(order=1)


class QABleu4Score(_BleuMetric):
    """BLEU of up to four consecutive words; an answer of fewer than four words scores 0, even if it is right.

    >>> QABleu4Score().calculate_metric_scores([["Paris"], ["the cat sat down"]], ["Paris", "the cat sat down"])
    ({'BLEU-4': 0.5}, [{'BLEU-4': 0.0}, {'BLEU-4': 1.0}])
    >>> QABleu4Score().calculate_corpus_bleu([["the cat sat down here"]], ["the cat sat down"])
    {'Corpus_BLEU-4': 0.7788007830714049}
    """

    metric_name = "qa_bleu4_score"
    key = "BLEU-4"
    order = 4
    metric = pair_bleu.using(order=4)


class RetrievalRecall:
    """The share of the gold documents among the first k retrieved.

    >>> RetrievalRecall().calculate_metric_scores([["a", "b"]], [["a", "c", "b"]], k_list=[1, 5])
    ({'Recall@1': 0.5, 'Recall@5': 1.0}, [{'Recall@1': 0.5, 'Recall@5': 1.0}])
    """

    metric_name = "retrieval_recall"

    def __init__(self, global_config: Any = None) -> None:
        self.global_config = global_config

    def calculate_metric_scores(
        self,
        gold_docs: Sequence[Sequence[str]],
        retrieved_docs: Sequence[Sequence[str]] | None = None,
        k_list: Sequence[int] = (1, 5, 10, 20),
        *,
        retrieved_chunks: Sequence[Sequence[str]] = (),
        **_: Any,
    ) -> tuple[Pooled, PerExample]:
        """The mean over all rows, rounded to four decimals, and the recall of each row, at every k.

        Documents are compared as sets: a duplicate counts once. A row without gold documents has recall 0, as in REMem,
        and so has a table without rows. `retrieved_chunks` is REMem's name for `retrieved_docs`.

        Raises `karat.RowError` for lists of unequal length, `karat.SpecError` if `k_list` is empty or below 1.
        """
        retrieved = retrieved_chunks if retrieved_docs is None else retrieved_docs
        if len(gold_docs) != len(retrieved):
            raise RowError(f"gold_docs has {len(gold_docs)} rows, retrieved_docs has {len(retrieved)} rows")
        if not k_list or min(k_list) < 1:
            raise SpecError(f"k_list={k_list!r}: whole numbers from 1 are expected")
        cutoffs = sorted(set(k_list))
        rows = [
            {f"Recall@{k}": len(gold.intersection(documents[:k])) / max(len(gold), 1) for k in cutoffs}
            for gold, documents in zip(map(set, gold_docs), retrieved, strict=True)
        ]
        keys = [f"Recall@{k}" for k in cutoffs]
        return {key: round(sum(row[key] for row in rows) / max(len(rows), 1), 4) for key in keys}, rows


def _columns(gold_answers: Any, predicted_answers: Any) -> tuple[pa.Array, pa.Array]:
    """Both columns as Arrow arrays; `RowError` for input that REMem would score by accident."""
    gold, predicted = _to_array(gold_answers, "gold_answers"), _to_array(predicted_answers, "predicted_answers")
    if len(gold) != len(predicted):
        raise RowError(f"gold_answers has {len(gold)} rows, predicted_answers has {len(predicted)} rows")
    if not len(gold):
        return pa.array([], pa.list_(pa.string())), pa.array([], pa.string())
    if not is_list(gold.type):
        raise RowError(f"gold_answers: a list of answers for each row is expected, row 0 holds {gold[0].as_py()!r:.80}")
    _refuse(pc.equal(pc.list_value_length(gold), 0), "gold_answers", "holds no answer")
    _refuse(pc.is_null(gold), "gold_answers", "is null")
    _refuse(pc.is_null(predicted), "predicted_answers", "is null")
    if gold.flatten().null_count:
        holding = pc.is_in(pa.array(range(len(gold))), pc.list_parent_indices(gold).filter(gold.flatten().is_null()))
        _refuse(holding, "gold_answers", "holds a null")
    return gold, predicted


def _to_array(column: Any, role: str) -> pa.Array:
    array = to_arrow(column, role)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _refuse(bad: pa.Array, role: str, what: str) -> None:
    rows = pc.indices_nonzero(bad.fill_null(False))
    if len(rows):
        raise RowError(f"row {rows[0]} of {role} {what}" + (f", and {len(rows) - 1} more" if len(rows) > 1 else ""))
