"""karat's operators in DataFlow's registry."""

from __future__ import annotations

from importlib import import_module

from karat.adapters.dataflow.evaluator import BenchDatasetEvaluator, BenchDatasetEvaluatorQuestion
from karat.adapters.dataflow.scores import AgenticRAGQAF1SampleEvaluator, BertSampleEvaluator, BleuSampleEvaluator
from karat.adapters.dataflow.unified import UnifiedBenchDatasetEvaluator

OPERATORS = (
    AgenticRAGQAF1SampleEvaluator,
    BenchDatasetEvaluator,
    BenchDatasetEvaluatorQuestion,
    BertSampleEvaluator,
    BleuSampleEvaluator,
    UnifiedBenchDatasetEvaluator,
)


def register_operators() -> None:
    """Let karat's operators take the place of DataFlow's in DataFlow's registry of operators.

    Without this call DataFlow finds its own. Raises `ModuleNotFoundError` if DataFlow is not installed.
    """
    operators = import_module("dataflow.utils.registry").OPERATOR_REGISTRY.get_obj_map()
    operators.update({each.__name__: each for each in OPERATORS})
