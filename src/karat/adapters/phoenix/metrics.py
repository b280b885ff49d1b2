"""The names of `phoenix.evals.metrics`, so that an import of Phoenix's needs only another package before it.

Phoenix has a module for each metric; here these modules are other names of this one.
"""

from __future__ import annotations

import sys

from karat.adapters.phoenix.code.metrics import MatchesRegex, exact_match
from karat.adapters.phoenix.code.precision_recall import PrecisionRecallFScore
from karat.adapters.phoenix.llm.judges import (
    CompletenessEvaluator,
    ConcisenessEvaluator,
    CorrectnessEvaluator,
    DocumentRelevanceEvaluator,
    FaithfulnessEvaluator,
    HallucinationEvaluator,
    PiiDetectionEvaluator,
    RefusalEvaluator,
    RetrievalRelevanceEvaluator,
    ToolInvocationEvaluator,
    ToolResponseHandlingEvaluator,
    ToolSelectionEvaluator,
    ToxicityEvaluator,
    UserFrictionEvaluator,
)

__all__ = [
    "CompletenessEvaluator",
    "ConcisenessEvaluator",
    "CorrectnessEvaluator",
    "DocumentRelevanceEvaluator",
    "FaithfulnessEvaluator",
    "HallucinationEvaluator",
    "MatchesRegex",
    "PiiDetectionEvaluator",
    "PrecisionRecallFScore",
    "RefusalEvaluator",
    "RetrievalRelevanceEvaluator",
    "ToolInvocationEvaluator",
    "ToolResponseHandlingEvaluator",
    "ToolSelectionEvaluator",
    "ToxicityEvaluator",
    "UserFrictionEvaluator",
    "exact_match",
]

_judges = [value.NAME for value in list(globals().values()) if hasattr(value, "NAME")]
for _name in ("exact_match", "matches_regex", "precision_recall", *_judges):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
