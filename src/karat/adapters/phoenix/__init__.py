"""Phoenix's scores and evaluators over karat's metrics and judges: the same names, calls and columns.

>>> scores = exact_match.evaluate({"output": "Paris", "expected": "Paris"})
>>> scores[0]
Score(name='exact_match', score=1.0, label=True, kind='code', direction='maximize')

Here live Phoenix's `Score`, records and mappings, evaluators (`evaluators/`, `llm/`), their use on frames and in
experiments (`frame/`, `experiment.py`), and a running server (`server/`, the only part that needs Phoenix's package).
Scoring and judging live in `karat.core` and `karat.judges`. Open `evaluators/evaluator.py` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core.lazy import lazy_names

if TYPE_CHECKING:
    from karat.adapters.phoenix.evaluators.evaluator import Evaluator as Evaluator
    from karat.adapters.phoenix.evaluators.evaluator import bind_evaluator as bind_evaluator
    from karat.adapters.phoenix.evaluators.function import create_evaluator as create_evaluator
    from karat.adapters.phoenix.evaluators.karat_metric import as_evaluator as as_evaluator
    from karat.adapters.phoenix.evaluators.metrics import MatchesRegex as MatchesRegex
    from karat.adapters.phoenix.evaluators.metrics import PrecisionRecallFScore as PrecisionRecallFScore
    from karat.adapters.phoenix.evaluators.metrics import exact_match as exact_match
    from karat.adapters.phoenix.evaluators.metrics import matches_regex as matches_regex
    from karat.adapters.phoenix.experiment import experiment_evaluator as experiment_evaluator
    from karat.adapters.phoenix.frame.evaluate import EvaluationStopped as EvaluationStopped
    from karat.adapters.phoenix.frame.evaluate import async_evaluate_dataframe as async_evaluate_dataframe
    from karat.adapters.phoenix.frame.evaluate import evaluate_dataframe as evaluate_dataframe
    from karat.adapters.phoenix.llm.classifier import ClassificationEvaluator as ClassificationEvaluator
    from karat.adapters.phoenix.llm.classifier import create_classifier as create_classifier
    from karat.adapters.phoenix.llm.judges import ConcisenessEvaluator as ConcisenessEvaluator
    from karat.adapters.phoenix.llm.judges import DocumentRelevanceEvaluator as DocumentRelevanceEvaluator
    from karat.adapters.phoenix.llm.judges import FaithfulnessEvaluator as FaithfulnessEvaluator
    from karat.adapters.phoenix.llm.judges import RefusalEvaluator as RefusalEvaluator
    from karat.adapters.phoenix.llm.judges import ToxicityEvaluator as ToxicityEvaluator
    from karat.adapters.phoenix.llm.model import LLM as LLM
    from karat.adapters.phoenix.mapping import extract_with_jsonpath as extract_with_jsonpath
    from karat.adapters.phoenix.mapping import remap_eval_input as remap_eval_input
    from karat.adapters.phoenix.schema import Schema as Schema
    from karat.adapters.phoenix.score import Column as Column
    from karat.adapters.phoenix.score import Score as Score
    from karat.adapters.phoenix.server.connection import ServerError as ServerError
    from karat.adapters.phoenix.server.connection import spans as spans
    from karat.adapters.phoenix.server.frame_annotations import to_annotation_dataframe as to_annotation_dataframe
    from karat.adapters.phoenix.server.outbox import NotLogged as NotLogged
    from karat.adapters.phoenix.server.outbox import log_annotations as log_annotations
    from karat.adapters.phoenix.server.outbox import send_annotations as send_annotations
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".evaluators.evaluator": "Evaluator bind_evaluator",
            ".evaluators.function": "create_evaluator",
            ".evaluators.karat_metric": "as_evaluator",
            ".evaluators.metrics": "MatchesRegex PrecisionRecallFScore exact_match matches_regex",
            ".experiment": "experiment_evaluator",
            ".frame.evaluate": "EvaluationStopped async_evaluate_dataframe evaluate_dataframe",
            ".llm.classifier": "ClassificationEvaluator create_classifier",
            ".llm.judges": "ConcisenessEvaluator DocumentRelevanceEvaluator FaithfulnessEvaluator RefusalEvaluator "
            "ToxicityEvaluator",
            ".llm.model": "LLM",
            ".mapping": "extract_with_jsonpath remap_eval_input",
            ".schema": "Schema",
            ".score": "Column Score",
            ".server.connection": "ServerError spans",
            ".server.frame_annotations": "to_annotation_dataframe",
            ".server.outbox": "NotLogged log_annotations send_annotations",
        },
    )
