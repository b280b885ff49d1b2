"""DataFlow's operators that add a column of scores: F1 of answers, BLEU, BERTScore."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from karat.adapters.dataflow.operators import find_operator, prepare, read_frame
from karat.adapters.dataflow.storage import cells
from karat.core.errors import ColumnError, SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.metrics.similarity.semantic import token_similarity
from karat.metrics.text.bleu import sentence_bleu
from karat.metrics.text.overlap import token_f1

MissingCells = Literal["unscored", "zero"]
LAYER = 5
"""The layer of distilbert-base-uncased that bert-score takes."""


def score_column(metric: Metric, prediction: Any, reference: Any) -> Any:
    """One score a row, shape (n,), NaN where a cell is null or has no reference; a cell may hold several references."""
    golds = cells(reference)
    answers = [
        None if missing else next(iter(cell), "")
        for cell, missing in zip(cells(prediction), prediction.isna(), strict=True)
    ]
    rows = [row for row, gold in enumerate(golds) if gold and answers[row] is not None]
    scores = np.full(len(golds), np.nan)
    if rows:
        scored = metric([answers[row] for row in rows], [golds[row] for row in rows])
        scores[rows] = [np.nan if score is None else score for score in scored.to_pylist()]
    return scores


class AgenticRAGQAF1SampleEvaluator(find_operator("agentic_rag", "AgenticRAGQAF1SampleEvaluator")):  # type: ignore[misc]
    """Adds a column with the F1 of each answer, the best over its gold answers, by HotpotQA's rule for yes and no.

    `missing`: what a row without an answer or without gold gets: no score (NaN), or 0 as in DataFlow.
    """

    def __init__(self, missing: MissingCells = "unscored") -> None:
        prepare(self)
        if missing not in get_args(MissingCells):
            raise SpecError(f"missing={missing!r}{did_you_mean(missing, get_args(MissingCells))}")
        self.missing = missing
        self.metric = token_f1.using(normalize="squad", empty="v1", yes_no="exact")

    @staticmethod
    def get_desc(lang: str = "en") -> str:
        """The description of the operator, in English or Chinese (`zh`)."""
        if lang == "zh":
            return "计算预测答案与参考答案之间的 F1 分数（取多个参考答案中的最高值）。"
        return "Computes the F1 of each predicted answer, the best over its reference answers."

    def run(
        self,
        storage: Any,
        input_prediction_key: str = "refined_answer",
        input_ground_truth_key: str = "golden_doc_answer",
        output_key: str = "F1Score",
    ) -> list[str]:
        """Read the storage's frame, write it back with the column, and return its name. Raises `ColumnError`."""
        frame = read_frame(storage, (input_prediction_key, input_ground_truth_key))
        if output_key in frame.columns:
            raise ColumnError(f"there is a column {output_key!r} already, which would be overwritten: set output_key")
        scores = score_column(self.metric, frame[input_prediction_key], frame[input_ground_truth_key])
        storage.write(frame.assign(**{output_key: np.nan_to_num(scores) if self.missing == "zero" else scores}))
        return [output_key]


class BleuSampleEvaluator(find_operator("general_text", "BleuSampleEvaluator")):  # type: ignore[misc]
    """Adds a column with the BLEU of each text, whose words are what white space separates.

    `n`: the longest n-grams; DataFlow computes BLEU of this order, but writes that of order 1: `score="bleu_1"`. `eff`:
    which reference's length counts; several in a cell need `"shortest"`.
    """

    def __init__(
        self,
        n: int = 4,
        eff: Literal["shortest", "average", "longest"] = "average",
        special_reflen: None = None,
        score: Literal["bleu_n", "bleu_1"] = "bleu_n",
    ) -> None:
        prepare(self)
        for name, value, values in (
            ("eff", eff, ("shortest", "average", "longest")),
            ("score", score, ("bleu_n", "bleu_1")),
        ):
            if value not in values:
                raise SpecError(f"{name}={value!r}{did_you_mean(value, values)}")
        if special_reflen is not None:
            raise SpecError("special_reflen: a length that no reference has is not supported")
        self.n, self.eff, self.score = n, eff, score
        order = 1 if score == "bleu_1" else n
        nearest = "shortest" if eff == "shortest" else "closest"
        self.metric = sentence_bleu.using(
            order=order, tokenize="none", smooth="none", effective_order=False, reference_length=nearest
        )

    @staticmethod
    def get_desc(lang: str = "en") -> str:
        """The description of the operator, in English or Chinese (`zh`)."""
        return "计算每条文本与参考文本的 BLEU 分数。" if lang == "zh" else "Computes the BLEU of each text."

    def run(self, storage: Any, input_key: str, input_reference_key: str, output_key: str = "BleuScore") -> list[str]:
        """Read the storage's frame, write it back with the column, and return its name. Raises `ColumnError`."""
        frame = read_frame(storage, (input_key, input_reference_key))
        if self.eff != "shortest" and any(len(cell) > 1 for cell in cells(frame[input_reference_key])):
            raise SpecError(f"eff={self.eff!r}: a cell with several references needs eff='shortest'")
        scores = score_column(self.metric, frame[input_key], frame[input_reference_key])
        storage.write(frame.assign(**{output_key: scores}))
        return [output_key]


class BertSampleEvaluator(find_operator("general_text", "BertSampleEvaluator")):  # type: ignore[misc]
    """Adds a column with the F1 of BERTScore: by distilbert-base-uncased and its fifth layer, as in DataFlow.

    `model`, `layers`: others, as in `token_similarity`, which keeps vectors in karat's cache. `lang` and
    `model_cache_dir` are DataFlow's parameters, of which its scores do not depend either.
    """

    def __init__(
        self,
        lang: str = "en",
        model_cache_dir: str = "./dataflow_cache",
        model: str = "distilbert-base-uncased",
        layers: int | None = LAYER,
    ) -> None:
        prepare(self)
        self.lang, self.model_cache_dir = lang, model_cache_dir
        self.metric = token_similarity.using(model=model, layers=layers)

    @staticmethod
    def get_desc(lang: str = "en") -> str:
        """The description of the operator, in English or Chinese (`zh`)."""
        return (
            "计算每条文本与参考文本的 BERTScore F1。" if lang == "zh" else "Computes the F1 of BERTScore of each text."
        )

    def run(self, storage: Any, input_key: str, input_reference_key: str, output_key: str = "BertScore") -> list[str]:
        """Read the storage's frame, write it back with the column, and return its name. Raises `ColumnError`."""
        frame = read_frame(storage, (input_key, input_reference_key))
        scores = score_column(self.metric, frame[input_key], frame[input_reference_key])
        storage.write(frame.assign(**{output_key: scores}))
        return [output_key]
