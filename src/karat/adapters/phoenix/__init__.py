"""Phoenix's scores and evaluators over karat's metrics and judges: the same names, calls and columns.

>>> scores = exact_match.evaluate({"output": "Paris", "expected": "Paris"})
>>> scores[0]
Score(name='exact_match', score=1.0, kind='code', direction='maximize')

Here live Phoenix's `Score`, records and mappings, evaluators (`code/`, `llm/`), their use on frames and in
experiments (`frame/`, `experiment.py`), and a running server (`server/`, the only part that needs Phoenix's package).
`evaluators`, `llm`, `metrics` and `utils` have the names of Phoenix's modules: an import of Phoenix's works with
`karat.adapters.phoenix` in place of `phoenix.evals`.
Scoring and judging live in `karat.core` and `karat.judges`. Open `code/evaluator.py` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core.lazy import lazy_names

if TYPE_CHECKING:
    from karat.adapters.phoenix.code.evaluator import Evaluator as Evaluator
    from karat.adapters.phoenix.code.evaluator import bind_evaluator as bind_evaluator
    from karat.adapters.phoenix.code.function import create_evaluator as create_evaluator
    from karat.adapters.phoenix.code.karat_metric import as_evaluator as as_evaluator
    from karat.adapters.phoenix.code.metrics import MatchesRegex as MatchesRegex
    from karat.adapters.phoenix.code.metrics import PrecisionRecallFScore as PrecisionRecallFScore
    from karat.adapters.phoenix.code.metrics import exact_match as exact_match
    from karat.adapters.phoenix.code.metrics import matches_regex as matches_regex
    from karat.adapters.phoenix.evaluators import EvalInput as EvalInput
    from karat.adapters.phoenix.evaluators import ToolSchema as ToolSchema
    from karat.adapters.phoenix.exceptions import PhoenixTemplateMappingError as PhoenixTemplateMappingError
    from karat.adapters.phoenix.experiment import experiment_evaluator as experiment_evaluator
    from karat.adapters.phoenix.frame.evaluate import EvaluationStopped as EvaluationStopped
    from karat.adapters.phoenix.frame.evaluate import async_evaluate_dataframe as async_evaluate_dataframe
    from karat.adapters.phoenix.frame.evaluate import evaluate_dataframe as evaluate_dataframe
    from karat.adapters.phoenix.llm.classifier import ClassificationEvaluator as ClassificationEvaluator
    from karat.adapters.phoenix.llm.classifier import create_classifier as create_classifier
    from karat.adapters.phoenix.llm.evaluator import LLMEvaluator as LLMEvaluator
    from karat.adapters.phoenix.llm.judges import CompletenessEvaluator as CompletenessEvaluator
    from karat.adapters.phoenix.llm.judges import ConcisenessEvaluator as ConcisenessEvaluator
    from karat.adapters.phoenix.llm.judges import CorrectnessEvaluator as CorrectnessEvaluator
    from karat.adapters.phoenix.llm.judges import DocumentRelevanceEvaluator as DocumentRelevanceEvaluator
    from karat.adapters.phoenix.llm.judges import FaithfulnessEvaluator as FaithfulnessEvaluator
    from karat.adapters.phoenix.llm.judges import HallucinationEvaluator as HallucinationEvaluator
    from karat.adapters.phoenix.llm.judges import PiiDetectionEvaluator as PiiDetectionEvaluator
    from karat.adapters.phoenix.llm.judges import RefusalEvaluator as RefusalEvaluator
    from karat.adapters.phoenix.llm.judges import RetrievalRelevanceEvaluator as RetrievalRelevanceEvaluator
    from karat.adapters.phoenix.llm.judges import ToolInvocationEvaluator as ToolInvocationEvaluator
    from karat.adapters.phoenix.llm.judges import ToolResponseHandlingEvaluator as ToolResponseHandlingEvaluator
    from karat.adapters.phoenix.llm.judges import ToolSelectionEvaluator as ToolSelectionEvaluator
    from karat.adapters.phoenix.llm.judges import ToxicityEvaluator as ToxicityEvaluator
    from karat.adapters.phoenix.llm.judges import UserFrictionEvaluator as UserFrictionEvaluator
    from karat.adapters.phoenix.llm.model import LLM as LLM
    from karat.adapters.phoenix.llm.prompts import PromptTemplate as PromptTemplate
    from karat.adapters.phoenix.llm.prompts import (
        phoenix_prompt_to_prompt_template as phoenix_prompt_to_prompt_template,
    )
    from karat.adapters.phoenix.llm.template import TemplateFormat as TemplateFormat
    from karat.adapters.phoenix.mapping import extract_with_jsonpath as extract_with_jsonpath
    from karat.adapters.phoenix.mapping import remap_eval_input as remap_eval_input
    from karat.adapters.phoenix.schema.schema import Schema as Schema
    from karat.adapters.phoenix.score import Column as Column
    from karat.adapters.phoenix.score import KindType as KindType
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
            ".code.evaluator": "Evaluator bind_evaluator",
            ".code.function": "create_evaluator",
            ".code.karat_metric": "as_evaluator",
            ".code.metrics": "MatchesRegex PrecisionRecallFScore exact_match matches_regex",
            ".evaluators": "EvalInput ToolSchema",
            ".exceptions": "PhoenixTemplateMappingError",
            ".experiment": "experiment_evaluator",
            ".frame.evaluate": "EvaluationStopped async_evaluate_dataframe evaluate_dataframe",
            ".llm.classifier": "ClassificationEvaluator create_classifier",
            ".llm.evaluator": "LLMEvaluator",
            ".llm.judges": "CompletenessEvaluator ConcisenessEvaluator CorrectnessEvaluator DocumentRelevanceEvaluator "
            "FaithfulnessEvaluator HallucinationEvaluator PiiDetectionEvaluator RefusalEvaluator "
            "RetrievalRelevanceEvaluator ToolInvocationEvaluator ToolResponseHandlingEvaluator "
            "ToolSelectionEvaluator ToxicityEvaluator UserFrictionEvaluator",
            ".llm.model": "LLM",
            ".llm.prompts": "PromptTemplate phoenix_prompt_to_prompt_template",
            ".llm.template": "TemplateFormat",
            ".mapping": "extract_with_jsonpath remap_eval_input",
            ".schema.schema": "Schema",
            ".score": "Column KindType Score",
            ".server.connection": "ServerError spans",
            ".server.frame_annotations": "to_annotation_dataframe",
            ".server.outbox": "NotLogged log_annotations send_annotations",
        },
    )
