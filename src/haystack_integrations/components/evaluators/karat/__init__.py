"""karat's evaluators under the path of Haystack's integrations, which `Pipeline.loads` trusts.

The components are stored under this path. They are defined in `karat.adapters.haystack`.
"""

from typing import TYPE_CHECKING

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
)
from karat.core.lazy import lazy_names

if TYPE_CHECKING:
    from karat.adapters.haystack import SASEvaluator

__getattr__ = lazy_names(__name__, {"karat.adapters.haystack.sas": "SASEvaluator"})[0]  # it loads sentence-transformers

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
