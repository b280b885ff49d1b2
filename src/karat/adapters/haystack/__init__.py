"""Haystack's evaluators over karat's metrics: components of a pipeline with Haystack's names, calls and outputs.

`answers`, `documents`, `sas` and `llm` hold the components that Haystack has too, `metric` holds `KaratEvaluator` for
any metric of karat, `result` the reports of an evaluation run. No metric is defined here: they come from
`karat.metrics`. Open `documents` first.

>>> evaluator = AnswerExactMatchEvaluator()
>>> evaluator.run(ground_truth_answers=["Berlin", ["Paris", "City of Paris"]], predicted_answers=["Bern", "Paris"])
{'individual_scores': [0, 1], 'score': 0.5}

With `details=True` an evaluator also returns `details`: the 95 % confidence interval of the mean, and why rows are
unscored. Pipelines store the components under `haystack_integrations.components.evaluators.karat`, where they can be
imported too. Needs `karat[haystack]`.
"""

from typing import TYPE_CHECKING

from karat.core.errors import MissingExtra
from karat.core.lazy import lazy_names
from karat.core.version import warn_of_newer

if TYPE_CHECKING:
    from karat.adapters.haystack.sas import SASEvaluator

try:
    from haystack.components.evaluators.document_recall import RecallMode

    from karat.adapters.haystack.answers import AnswerExactMatchEvaluator
    from karat.adapters.haystack.documents import (
        DocumentMAPEvaluator,
        DocumentMRREvaluator,
        DocumentNDCGEvaluator,
        DocumentRecallEvaluator,
    )
    from karat.adapters.haystack.llm.evaluator import LLMEvaluator
    from karat.adapters.haystack.llm.rows import EvaluationError
    from karat.adapters.haystack.llm.statements import ContextRelevanceEvaluator, FaithfulnessEvaluator
    from karat.adapters.haystack.metric import KaratEvaluator
    from karat.adapters.haystack.result import EvaluationRunResult
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "haystack":
        raise
    raise MissingExtra("haystack-ai", extra="haystack", need="karat.adapters.haystack") from None

warn_of_newer("haystack-ai", "3.4")
__getattr__ = lazy_names(__name__, {".sas": "SASEvaluator"})[0]  # Haystack's own loads sentence-transformers

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
