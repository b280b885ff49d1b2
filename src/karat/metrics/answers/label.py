"""Accuracy, precision, recall and F of labels, as counts that add up.

Counts add up only where it is known beforehand what is counted. So classes are named and not gathered from the data:
all of them (`labels`) where classes are averaged, one (`positive`) where one is looked for.
"""

# ruff: noqa: ARG001  (a metric declares the settings that only its finish reads)
from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array, Counts, Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.metrics.text.pairs import equal
from karat.text.columns import Normalizer, normalise

SOURCE = "https://scikit-learn.org/stable/modules/model_evaluation.html, classification metrics, with labels="
SHOWN = 10  # labels named in an error message

Average: TypeAlias = Literal["macro", "micro", "weighted", "binary"]
Labels: TypeAlias = list[Any] | None
Label: TypeAlias = str | int | None


@metric(source="the share of equal labels; scikit-learn's accuracy_score", aliases=("accuracy",), encoded=True)
def label_accuracy(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """1 where the predicted label is the expected one, else 0.

    >>> label_accuracy(["spam", "Spam"], ["spam", "spam"]).to_pylist()
    [1.0, 0.0]
    """
    return equal(normalise(prediction, normalize), normalise(reference, normalize))


def _share(value: float) -> None:
    if not 0 <= value <= 1:
        raise SpecError("0 to 1 is expected")


def _above_0(value: float) -> None:
    if not 0 < value < np.inf:
        raise SpecError("a number above 0 is expected")


def precision_of(totals: Array, *, average: str, zero_division: float) -> Array:
    """Precision from the counts right, predicted and expected of each class."""
    right, predicted, expected = _split(totals)
    return _average(_ratio(right, predicted, zero_division), expected, average, zero_division)


def recall_of(totals: Array, *, average: str, zero_division: float) -> Array:
    """Recall from the counts right, predicted and expected of each class."""
    right, _, expected = _split(totals)
    return _average(_ratio(right, expected, zero_division), expected, average, zero_division)


def f_of(totals: Array, *, average: str, beta: float, zero_division: float) -> Array:
    """F from the counts right, predicted and expected of each class."""
    right, predicted, expected = _split(totals)
    scores = _ratio((1 + beta**2) * right, beta**2 * expected + predicted, zero_division)
    return _average(scores, expected, average, zero_division)


@metric(source=SOURCE, finish=precision_of)
def label_precision(
    prediction: Text,
    reference: Text,
    *,
    average: Average = "macro",
    labels: Labels = None,
    positive: Label = None,
    zero_division: Annotated[float, _share] = 0.0,
    normalize: Normalizer = "none",
) -> Counts:
    """Of the rows predicted to be of a class the share that is; averaged as in `label_f`.

    >>> import karat
    >>> rows = {"prediction": ["spam", "spam", "ham"], "reference": ["spam", "ham", "ham"]}
    >>> metric = label_precision.using(average="binary", positive="spam")
    >>> karat.score(rows, metric).values[metric.spec].value
    0.5
    """
    return _count(prediction, reference, "label_precision", average, labels, positive, normalize)


@metric(source=SOURCE, finish=recall_of)
def label_recall(
    prediction: Text,
    reference: Text,
    *,
    average: Average = "macro",
    labels: Labels = None,
    positive: Label = None,
    zero_division: Annotated[float, _share] = 0.0,
    normalize: Normalizer = "none",
) -> Counts:
    """Of the rows that are of a class the share predicted to be; averaged as in `label_f`.

    >>> import karat
    >>> rows = {"prediction": ["spam", "spam", "ham"], "reference": ["spam", "ham", "ham"]}
    >>> metric = label_recall.using(average="binary", positive="spam")
    >>> karat.score(rows, metric).values[metric.spec].value
    1.0
    """
    return _count(prediction, reference, "label_recall", average, labels, positive, normalize)


@metric(source=SOURCE, finish=f_of)
def label_f(
    prediction: Text,
    reference: Text,
    *,
    average: Average = "macro",
    beta: Annotated[float, _above_0] = 1.0,
    labels: Labels = None,
    positive: Label = None,
    zero_division: Annotated[float, _share] = 0.0,
    normalize: Normalizer = "none",
) -> Counts:
    """F of labels: of the class `positive`, or averaged over `labels`; recall weighs `beta` times as much as precision.

    `average="macro"`: the mean over `labels`, whether they occur or not; `"weighted"`: weighted by how often each is
    expected; `"micro"`: of all rows together (of the rows of `labels`, where given; over all labels it is the
    accuracy); `"binary"`: of `positive` alone. `zero_division` is the value of a class that neither is expected nor
    predicted.

    A predicted label that is not among `labels` is a miss of the expected one; an expected one that is not
    makes the predicted label a false one. A row's own score is that of a data set of one row. Each row takes 24 bytes
    for each of `labels` while it is scored.

    >>> import karat
    >>> rows = {"prediction": ["spam", "spam", "ham"], "reference": ["spam", "ham", "ham"]}
    >>> metric = label_f.using(labels=["spam", "ham"])
    >>> round(karat.score(rows, metric).values[metric.spec].value, 4)
    0.6667
    """
    return _count(prediction, reference, "label_f", average, labels, positive, normalize)


def _count(
    prediction: Text, reference: Text, name: str, average: str, labels: Labels, positive: Label, normalize: str
) -> Array:
    """Of each row the counts right, predicted and expected of each class, or of all: shape (rows, 3 * classes)."""
    said, sought = normalise(prediction, normalize), normalise(reference, normalize)
    if average == "binary":
        if positive is None:
            raise SpecError(f"{name}(average='binary') needs positive=, the label looked for; {_seen(sought)}")
        labels = [positive]
    if labels is None:
        if average != "micro":
            raise SpecError(f"{name}(average={average!r}) needs labels=[...], all that are averaged; {_seen(sought)}")
        ones = np.ones(len(said))
        return np.column_stack([equal(said, sought), ones, ones])
    classes = normalise(pa.array([str(label) for label in labels], said.type), normalize)
    if not labels or len(classes.unique()) < len(classes):
        raise SpecError(f"{name}: labels={labels!r} must be one or more labels that differ")
    predicted, expected = (_one_hot(column, classes) for column in (said, sought))
    counts = np.stack([predicted & expected, predicted, expected], axis=-1)
    if average == "micro":
        counts = counts.sum(axis=1, keepdims=True)
    return counts.reshape(len(counts), -1).astype(np.float64)


def _one_hot(column: pa.Array, classes: pa.Array) -> Array:
    """Which class each text is: shape (rows, classes), bool."""
    places = pc.index_in(column, classes.cast(column.type)).fill_null(-1).to_numpy(zero_copy_only=False)
    found: Array = places[:, None] == np.arange(len(classes))
    return found


def _seen(column: pa.Array) -> str:
    found = sorted(column.unique().to_pylist())
    return "expected are: " + ", ".join(map(repr, found[:SHOWN])) + (", ..." if len(found) > SHOWN else "")


def _split(totals: Array) -> tuple[Array, Array, Array]:
    right, predicted, expected = np.moveaxis(totals.reshape(*totals.shape[:-1], -1, 3), -1, 0)
    return right, predicted, expected


def _average(scores: Array, expected: Array, average: str, zero_division: float) -> Array:
    if average == "weighted":
        return _ratio((scores * expected).sum(axis=-1), expected.sum(axis=-1), zero_division)
    mean: Array = scores.mean(axis=-1)
    return mean


def _ratio(part: Array, whole: Array, otherwise: float) -> Array:
    ratio: Array = np.divide(part, whole, out=np.full(np.shape(part), float(otherwise)), where=whole != 0)
    return ratio
