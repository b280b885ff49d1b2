"""The kinds of column that a metric of your own reads, and what it returns: annotations of its parameters.

>>> import karat
>>> from karat.kinds import Score, Text
>>> @karat.metric(source="this page", register=False)
... def same_length(prediction: Text, reference: Text) -> Score:
...     "1 if an answer is as long as its reference, else 0."
...     return [float(len(a) == len(b)) for a, b in zip(prediction.to_pylist(), reference.to_pylist())]
>>> same_length(["Rome"], ["Oslo"]).to_pylist()
[1.0]
"""

from karat.core.columns.kinds import Counts, Graded, Ids, Json, Messages, Number, Score, Subtopics, Text, Texts
from karat.core.metric.inner import Samples
from karat.core.metric.rows import Rows
from karat.core.metric.score import Inner

__all__ = [
    "Counts",
    "Graded",
    "Ids",
    "Inner",
    "Json",
    "Messages",
    "Number",
    "Rows",
    "Samples",
    "Score",
    "Subtopics",
    "Text",
    "Texts",
]
