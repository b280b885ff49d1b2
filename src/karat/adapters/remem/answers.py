"""REMem's metrics of answers: exact match, F1 and BLEU, aggregated over the gold answers of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_list
from karat.core.columns.kinds import Score, Text, to_arrow
from karat.core.errors import RowError
from karat.core.metric.decorator import metric
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows
from karat.core.metric.score import score_columns, score_rows
from karat.metrics import bleu, exact_match, sentence_bleu, token_f1
from karat.metrics.answers.locomo import ComparedParts, gold_scores, why_not

Pooled: TypeAlias = dict[str, float]
PerExample: TypeAlias = list[dict[str, float]]

_NAMED: dict[Any, str] = {np.max: "max", max: "max", np.mean: "mean", np.min: "min", min: "min"}
"""The aggregations that the core knows by name, which are faster than a callable."""


class BaseMetric:
    """A metric as REMem calls it: metrics of your own extend this class, name themselves and compute scores.

    >>> class Length(BaseMetric):
    ...     metric_name = "length"
    ...     def calculate_metric_scores(self, gold_answers, predicted_answers):
    ...         lengths = [{"Length": float(len(answer))} for answer in predicted_answers]
    ...         return {"Length": sum(each["Length"] for each in lengths) / len(lengths)}, lengths
    >>> Length().calculate_metric_scores([["Paris"]], ["Rome"])
    ({'Length': 4.0}, [{'Length': 4.0}])
    """

    metric_name: ClassVar[str] = "base"

    def __init__(self, global_config: Any = None) -> None:
        self.global_config = global_config

    def calculate_metric_scores(self, *columns: Any, **options: Any) -> tuple[Pooled, PerExample]:
        """The pooled result of all rows, and the result of each row, by key."""
        raise NotImplementedError(f"{type(self).__name__}.calculate_metric_scores")


class _AnswerMetric(BaseMetric):
    """The common part of the metrics of answers: a metric is scored for each gold answer and aggregated by row."""

    key: str
    metric: Metric

    def calculate_metric_scores(
        self,
        gold_answers: Sequence[Sequence[str]],
        predicted_answers: Sequence[str],
        aggregation_fn: Callable[[Sequence[float]], float] = np.max,
        **_: Any,
    ) -> tuple[Pooled, PerExample]:
        """The mean over all rows, and the score of each row; further arguments are ignored, as in REMem.

        `gold_answers`: a list of acceptable answers for each row. `aggregation_fn`: combines a row's scores, one for
        each gold answer; a row without gold answers scores 0. Raises `RowError` for lists of unequal length and
        for a null.
        """
        gold, predicted = answer_columns(gold_answers, predicted_answers)
        across = _NAMED.get(aggregation_fn, aggregation_fn)
        scores = self.metric(predicted, gold, across=across).fill_null(0.0).to_numpy(zero_copy_only=False)
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


class QAF1ScoreLocomo(BaseMetric):
    """F1 of stems by the category of each question, as LoCoMo's script has it: `karat.metrics.locomo_f1`.

    Of categories 2 to 4 only what precedes the prediction's first comma counts, and only the first gold answer, as in
    REMem; `QAF1ScoreLocomo(compared="all")` compares the whole answer with each. Scores are rounded to four decimals.

    >>> QAF1ScoreLocomo().calculate_metric_scores([["May 2023"]], ["In May, 2023"], question_types=[2])
    ({'F1': 0.5}, [{'F1': 0.5}])
    """

    metric_name = "qa_f1_score_locomo"

    def __init__(self, global_config: Any = None, *, compared: ComparedParts = "first") -> None:
        super().__init__(global_config)
        self.compared: ComparedParts = compared

    def calculate_metric_scores(
        self,
        gold_answers: Sequence[Sequence[str]],
        predicted_answers: Sequence[str],
        aggregation_fn: Callable[[Sequence[float]], float] = np.max,
        *,
        question_types: Sequence[int] = (),
        **_: Any,
    ) -> tuple[Pooled, PerExample]:
        """The mean over all rows, and the score of each row; `question_types` are its categories, 1 to 5.

        Raises `RowError` for lists of unequal length, a null, another category, and a row of 1 to 4 without gold.
        """
        gold, predicted = answer_columns(gold_answers, predicted_answers)
        if len(question_types) != len(gold):
            raise RowError(f"question_types has {len(question_types)} rows, gold_answers has {len(gold)} rows")
        rows: list[dict[str, float]] = []
        for answers, answer, category in zip(gold.to_pylist(), predicted.to_pylist(), question_types, strict=True):
            if (reason := why_not(answers, category)) is not None:
                raise RowError(f"row {len(rows)} of question_types: {reason}")
            score = aggregation_fn(gold_scores(answer, answers, category, self.compared))
            rows.append({"F1": float(round(score, 4))})
        return {"F1": sum(row["F1"] for row in rows) / len(rows) if rows else 0.0}, rows


@metric(source="Hugging Face evaluate, metrics/bleu at 4ec931ef, called once per gold answer", register=False)
def pair_bleu(prediction: Text, reference: Text, *, order: int = 4) -> Score:
    """BLEU of one prediction against one gold answer, unsmoothed, with the tokeniser of `evaluate`.

    >>> pair_bleu(["the cat sat"], [["the cat", "cats"]], order=1).to_pylist()
    [0.666...]
    """
    alone = sentence_bleu.using(smooth="none", effective_order=False, reference_length="shortest", order=order)
    columns = {"prediction": _join_lines(prediction), "reference": _join_lines(reference)}
    rows: Rows = score_rows(alone, columns)
    return rows


def _join_lines(texts: pa.Array) -> pa.Array:
    """Texts on one line, as the tokeniser of `evaluate` joins it: sacrebleu's drops a last line break first."""
    for markup, plain in (("<skipped>", ""), ("-\n", ""), ("\n", " ")):
        texts = pc.replace_substring(texts, markup, plain)
    return texts


class QABleuScore(_AnswerMetric):
    """BLEU of up to `max_order` consecutive words; case and punctuation matter, nothing is normalised.

    >>> QABleuScore(max_order=2).calculate_metric_scores([["the cat sat"]], ["the cat ran"])
    ({'BLEU-2': 0.577...}, [{'BLEU-2': 0.577...}])
    """

    metric_name = "qa_bleu_score"

    def __init__(self, global_config: Any = None, max_order: int = 1) -> None:
        super().__init__(global_config)
        self.max_order, self.key = max_order, f"BLEU-{max_order}"
        self.metric = pair_bleu.using(order=max_order)

    def calculate_corpus_bleu(
        self, gold_answers: Sequence[Sequence[str]], predicted_answers: Sequence[str], **_: Any
    ) -> Pooled:
        """BLEU of all answers together, each against its first gold answer.

        Rows without gold answers are left out; REMem returns 0 if there is one, since it drops that row from the gold
        side only. Raises `RowError` as `calculate_metric_scores` does.
        """
        gold, predicted = answer_columns(gold_answers, predicted_answers)
        known = pc.greater(pc.list_value_length(gold), 0)
        first, predicted = pc.list_element(gold.filter(known), 0), predicted.filter(known)
        corpus = bleu.using(smooth="none", reference_length="shortest", order=self.max_order)
        (rows,) = score_columns([corpus], {"prediction": _join_lines(predicted), "reference": _join_lines(first)})
        totals = rows.statistics.sum(axis=0)
        value = float(corpus.finish(totals)) if corpus.finish is not None and len(predicted) else 0.0
        return {f"Corpus_BLEU-{self.max_order}": value}


class QABleu1Score(QABleuScore):
    """BLEU of single words; case and punctuation matter, nothing is normalised.

    >>> QABleu1Score().calculate_metric_scores([["Paris"]], ["Paris."])
    ({'BLEU-1': 0.5}, [{'BLEU-1': 0.5}])
    """

    metric_name = "qa_bleu1_score"

    def __init__(self, global_config: Any = None) -> None:
        super().__init__(global_config, max_order=1)


class QABleu4Score(QABleuScore):
    """BLEU of up to four consecutive words; an answer of fewer than four words scores 0, even if it is right.

    >>> QABleu4Score().calculate_metric_scores([["Paris"], ["the cat sat down"]], ["Paris", "the cat sat down"])
    ({'BLEU-4': 0.5}, [{'BLEU-4': 0.0}, {'BLEU-4': 1.0}])
    >>> pooled = QABleu4Score().calculate_corpus_bleu([["the cat sat down here"]], ["the cat sat down"])
    >>> round(pooled["Corpus_BLEU-4"], 4)
    0.7788
    """

    metric_name = "qa_bleu4_score"

    def __init__(self, global_config: Any = None) -> None:
        super().__init__(global_config, max_order=4)


def answer_columns(gold_answers: Any, predicted_answers: Any) -> tuple[pa.Array, pa.Array]:
    """Both columns as Arrow arrays; `RowError` for input that REMem would score by accident."""
    gold, predicted = _to_array(gold_answers, "gold_answers"), _to_array(predicted_answers, "predicted_answers")
    if len(gold) != len(predicted):
        raise RowError(f"gold_answers has {len(gold)} rows, predicted_answers has {len(predicted)} rows")
    if not len(gold):
        return pa.array([], pa.list_(pa.string())), pa.array([], pa.string())
    if not is_list(gold.type):
        raise RowError(f"gold_answers: a list of answers for each row is expected, row 0 holds {gold[0].as_py()!r:.80}")
    if pa.types.is_null(gold.type.value_type):
        gold = gold.cast(pa.list_(pa.string()))
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
