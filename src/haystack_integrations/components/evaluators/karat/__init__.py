"""karat's evaluators under the path of Haystack's integrations, which `Pipeline.loads` trusts.

The components are stored under this path. They are defined in `karat.adapters.haystack`.
"""

from karat.adapters.haystack import (
    AnswerExactMatchEvaluator,
    ContextRelevanceEvaluator,
    DocumentMAPEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
    EvaluationError,
    EvaluationRunResult,
    FaithfulnessEvaluator,
    KaratEvaluator,
    LLMEvaluator,
    RecallMode,
    SASEvaluator,
)

__all__ = [
    "AnswerExactMatchEvaluator",
    "ContextRelevanceEvaluator",
    "DocumentMAPEvaluator",
    "DocumentMRREvaluator",
    "DocumentNDCGEvaluator",
    "DocumentRecallEvaluator",
    "EvaluationError",
    "EvaluationRunResult",
    "FaithfulnessEvaluator",
    "KaratEvaluator",
    "LLMEvaluator",
    "RecallMode",
    "SASEvaluator",
]
