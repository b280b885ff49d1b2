"""REMem's metrics of answers and retrieval over karat's metrics: the same classes, keys and numbers.

`answers` holds exact match, F1 and BLEU, and `BaseMetric`, which metrics of your own extend; `documents` the metrics of
retrieval; `verdicts` those that ask a language model. Open `answers` first.

>>> QAF1Score().calculate_metric_scores([["Paris", "City of Paris"], ["Lyon"]], ["Paris, France", "Lyon"])
({'F1': 0.833...}, [{'F1': 0.666...}, {'F1': 1.0}])

For input that REMem rejects with an unclear error or scores by accident (lists of unequal length, nulls) a
`RowError` names the row. A row without gold answers scores 0.
"""

from karat.adapters.remem.answers import (
    BaseMetric,
    QABleu1Score,
    QABleu4Score,
    QABleuScore,
    QAExactMatch,
    QAF1Score,
    QAF1ScoreLocomo,
)
from karat.adapters.remem.documents import (
    RetrievalNDCGAny,
    RetrievalRecall,
    RetrievalRecallAll,
    RetrievalRecallLocomo,
)
from karat.adapters.remem.verdicts import QAEvalSuitLLMJudge, QALongMemEvalLLMJudge, QAMem0LLMJudge

__all__ = [
    "BaseMetric",
    "QABleu1Score",
    "QABleu4Score",
    "QABleuScore",
    "QAEvalSuitLLMJudge",
    "QAExactMatch",
    "QAF1Score",
    "QAF1ScoreLocomo",
    "QALongMemEvalLLMJudge",
    "QAMem0LLMJudge",
    "RetrievalNDCGAny",
    "RetrievalRecall",
    "RetrievalRecallAll",
    "RetrievalRecallLocomo",
]
