"""Phoenix's scores and evaluators over karat's metrics and judges: the same names, calls and columns.

>>> scores = exact_match.evaluate({"output": "Paris", "expected": "Paris"})
>>> scores[0]
Score(name='exact_match', score=1.0, label=True, kind='code', direction='maximize')

The Phoenix package is not needed for it. Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.adapters.phoenix.annotation import to_annotation_dataframe as to_annotation_dataframe
    from karat.adapters.phoenix.classifier import ClassificationEvaluator as ClassificationEvaluator
    from karat.adapters.phoenix.classifier import create_classifier as create_classifier
    from karat.adapters.phoenix.created import create_evaluator as create_evaluator
    from karat.adapters.phoenix.evaluator import Evaluator as Evaluator
    from karat.adapters.phoenix.evaluator import bind_evaluator as bind_evaluator
    from karat.adapters.phoenix.experiment import experiment_evaluator as experiment_evaluator
    from karat.adapters.phoenix.frame import EvaluationStopped as EvaluationStopped
    from karat.adapters.phoenix.frame import async_evaluate_dataframe as async_evaluate_dataframe
    from karat.adapters.phoenix.frame import evaluate_dataframe as evaluate_dataframe
    from karat.adapters.phoenix.judged import ConcisenessEvaluator as ConcisenessEvaluator
    from karat.adapters.phoenix.judged import DocumentRelevanceEvaluator as DocumentRelevanceEvaluator
    from karat.adapters.phoenix.judged import FaithfulnessEvaluator as FaithfulnessEvaluator
    from karat.adapters.phoenix.judged import RefusalEvaluator as RefusalEvaluator
    from karat.adapters.phoenix.judged import ToxicityEvaluator as ToxicityEvaluator
    from karat.adapters.phoenix.llm import LLM as LLM
    from karat.adapters.phoenix.mapping import extract_with_jsonpath as extract_with_jsonpath
    from karat.adapters.phoenix.mapping import remap_eval_input as remap_eval_input
    from karat.adapters.phoenix.metrics import MatchesRegex as MatchesRegex
    from karat.adapters.phoenix.metrics import PrecisionRecallFScore as PrecisionRecallFScore
    from karat.adapters.phoenix.metrics import exact_match as exact_match
    from karat.adapters.phoenix.metrics import matches_regex as matches_regex
    from karat.adapters.phoenix.outbox import NotLogged as NotLogged
    from karat.adapters.phoenix.outbox import log_annotations as log_annotations
    from karat.adapters.phoenix.outbox import send_annotations as send_annotations
    from karat.adapters.phoenix.schema import Schema as Schema
    from karat.adapters.phoenix.score import Column as Column
    from karat.adapters.phoenix.score import Score as Score
    from karat.adapters.phoenix.server import ServerError as ServerError
    from karat.adapters.phoenix.server import spans as spans
    from karat.adapters.phoenix.wrapped import as_evaluator as as_evaluator

_HOMES = {
    "annotation": ("to_annotation_dataframe",),
    "classifier": ("ClassificationEvaluator", "create_classifier"),
    "created": ("create_evaluator",),
    "evaluator": ("Evaluator", "bind_evaluator"),
    "experiment": ("experiment_evaluator",),
    "frame": ("EvaluationStopped", "async_evaluate_dataframe", "evaluate_dataframe"),
    "judged": (
        *("ConcisenessEvaluator", "DocumentRelevanceEvaluator", "FaithfulnessEvaluator", "RefusalEvaluator"),
        "ToxicityEvaluator",
    ),
    "llm": ("LLM",),
    "mapping": ("extract_with_jsonpath", "remap_eval_input"),
    "metrics": ("MatchesRegex", "PrecisionRecallFScore", "exact_match", "matches_regex"),
    "outbox": ("NotLogged", "log_annotations", "send_annotations"),
    "schema": ("Schema",),
    "score": ("Column", "Score"),
    "server": ("ServerError", "spans"),
    "wrapped": ("as_evaluator",),
}
_home = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [*_home]  # noqa: PLE0604  (strings all)


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415

    if name not in _home:
        raise AttributeError(f"module 'karat.adapters.phoenix' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"karat.adapters.phoenix.{_home[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
