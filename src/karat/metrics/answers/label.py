"""Metrics of labels: accuracy, precision, recall and F, from counts that add up over rows.

Counts of two batches add up only if both batches count the same classes. So classes are settings and not collected from
the data: `labels` for all classes of an average, `positive` for the one class of `average="binary"`.
"""

# ruff: noqa: ARG001  (a metric declares the settings that only its finish reads)
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array, Counts, Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.rows import divide
from karat.core.metric.setting import Fraction, Positive
from karat.metrics.text.string_comparison import equal
from karat.text.columns import Normalizer, normalise

SOURCE = "https://scikit-learn.org/stable/modules/model_evaluation.html, classification metrics, with labels="
SHOWN = 10  # labels named in an error message

Average: TypeAlias = Literal["macro", "micro", "weighted", "binary"]
LabelSettings: TypeAlias = list[Any] | None
LabelSetting: TypeAlias = str | int | None


@metric(
    source="the share of equal labels; scikit-learn's accuracy_score",
    aliases=("accuracy",),
    encoded=True,
    lowered_by=("longer",),
)
def label_accuracy(prediction: Text, reference: Text, *, normalize: Normalizer = "none") -> Score:
    """1 where the predicted label equals the reference, else 0; the value is the accuracy.

    >>> label_accuracy(["spam", "Spam"], ["spam", "spam"]).to_pylist()
    [1.0, 0.0]
    """
    return equal(normalise(prediction, normalize), normalise(reference, normalize))


def precision_of(totals: Array, *, average: str, zero_division: float) -> Array:
    """Precision from three counts of each class: rows predicted right, rows predicted, rows expected."""
    right, predicted, expected = _split(totals)
    return _average(divide(right, predicted, zero_division), expected, average, zero_division)


def recall_of(totals: Array, *, average: str, zero_division: float) -> Array:
    """Recall from three counts of each class: rows predicted right, rows predicted, rows expected."""
    right, _, expected = _split(totals)
    return _average(divide(right, expected, zero_division), expected, average, zero_division)


def f_of(totals: Array, *, average: str, beta: float, zero_division: float) -> Array:
    """F from three counts of each class: rows predicted right, rows predicted, rows expected."""
    right, predicted, expected = _split(totals)
    scores = divide((1 + beta**2) * right, beta**2 * expected + predicted, zero_division)
    return _average(scores, expected, average, zero_division)


@metric(source=SOURCE, finish=precision_of, lowered_by=("longer",))
def label_precision(
    prediction: Text,
    reference: Text,
    *,
    average: Average = "macro",
    labels: LabelSettings = None,
    positive: LabelSetting = None,
    zero_division: Fraction = 0.0,
    normalize: Normalizer = "none",
) -> Counts:
    """The share of the rows predicted to be of a class that are of it, averaged over classes as in `label_f`.

    >>> import karat
    >>> rows = {"prediction": ["spam", "spam", "ham"], "reference": ["spam", "ham", "ham"]}
    >>> metric = label_precision.using(average="binary", positive="spam")
    >>> karat.score(rows, metric).values[metric.spec].value
    0.5
    """
    return _Classes("label_precision", average, labels, positive).count(prediction, reference, normalize)


@metric(source=SOURCE, finish=recall_of, lowered_by=("longer",))
def label_recall(
    prediction: Text,
    reference: Text,
    *,
    average: Average = "macro",
    labels: LabelSettings = None,
    positive: LabelSetting = None,
    zero_division: Fraction = 0.0,
    normalize: Normalizer = "none",
) -> Counts:
    """The share of the rows of a class that are predicted to be of it, averaged over classes as in `label_f`.

    >>> import karat
    >>> rows = {"prediction": ["spam", "spam", "ham"], "reference": ["spam", "ham", "ham"]}
    >>> metric = label_recall.using(average="binary", positive="spam")
    >>> karat.score(rows, metric).values[metric.spec].value
    1.0
    """
    return _Classes("label_recall", average, labels, positive).count(prediction, reference, normalize)


@metric(source=SOURCE, finish=f_of, lowered_by=("longer",))
def label_f(
    prediction: Text,
    reference: Text,
    *,
    average: Average = "macro",
    beta: Positive = 1.0,
    labels: LabelSettings = None,
    positive: LabelSetting = None,
    zero_division: Fraction = 0.0,
    normalize: Normalizer = "none",
) -> Counts:
    """F of labels, averaged over `labels` or of the class `positive`; recall weighs `beta` times as much as precision.

    `average="macro"`: the mean over `labels`, whether they occur or not; `"weighted"`: weighted by how often each is
    expected; `"micro"`: from the counts of all `labels` together (without `labels` it is the accuracy); `"binary"`: of
    `positive` alone. `zero_division` is the value of a class that is neither expected nor predicted.

    A prediction outside `labels` counts as a missed expected label; an expected label outside `labels` makes the
    prediction a false positive. A row's own score is the value of a data set of one row. Each row takes 24 bytes per
    label of `labels` while it is scored.

    >>> import karat
    >>> rows = {"prediction": ["spam", "spam", "ham"], "reference": ["spam", "ham", "ham"]}
    >>> metric = label_f.using(labels=["spam", "ham"])
    >>> round(karat.score(rows, metric).values[metric.spec].value, 4)
    0.6667
    """
    return _Classes("label_f", average, labels, positive).count(prediction, reference, normalize)


@dataclass(frozen=True)
class _Classes:
    """The classes that a metric counts, by its settings."""

    metric: str
    average: str
    labels: LabelSettings
    positive: LabelSetting

    def count(self, prediction: Text, reference: Text, normalize: str) -> Array:
        """For each row three counts of each class, or of all together: right, predicted, expected. (n, 3 * classes)."""
        predicted_labels, expected_labels = normalise(prediction, normalize), normalise(reference, normalize)
        labels = self._labels(expected_labels)
        if labels is None:
            ones = np.ones(len(predicted_labels))
            return np.column_stack([equal(predicted_labels, expected_labels), ones, ones])
        classes = normalise(pa.array([str(label) for label in labels], predicted_labels.type), normalize)
        if not labels or len(classes.unique()) < len(classes):
            raise SpecError(f"{self.metric}: labels={labels!r} must be one or more labels, each different")
        predicted, expected = (_one_hot(column, classes) for column in (predicted_labels, expected_labels))
        counts = np.stack([predicted & expected, predicted, expected], axis=-1)
        if self.average == "micro":
            counts = counts.sum(axis=1, keepdims=True)
        return counts.reshape(len(counts), -1).astype(np.float64)

    def _labels(self, expected: pa.Array) -> LabelSettings:
        """The labels to count; None for all of them together."""
        if self.average == "binary":
            if self.positive is None:
                raise SpecError(f"{self.metric}(average='binary') needs positive=LABEL; {_list_labels(expected)}")
            return [self.positive]
        if self.positive is not None:
            raise SpecError(
                f"{self.metric}(positive={self.positive!r}) needs average='binary', which scores that class alone; "
                f"average={self.average!r} is over all labels"
            )
        if self.labels is None and self.average != "micro":
            raise SpecError(
                f"{self.metric}(average={self.average!r}) needs labels=[...], all labels to average over; "
                f"{_list_labels(expected)}"
            )
        return self.labels


def _one_hot(column: pa.Array, classes: pa.Array) -> Array:
    """Whether each text is each class: shape (n, classes), bool."""
    places = pc.index_in(column, classes.cast(column.type)).fill_null(-1).to_numpy(zero_copy_only=False)
    one_hot: Array = places[:, None] == np.arange(len(classes))
    return one_hot


def _list_labels(column: pa.Array) -> str:
    labels = sorted(column.unique().to_pylist())
    return "the references are: " + ", ".join(map(repr, labels[:SHOWN])) + (", ..." if len(labels) > SHOWN else "")


def _split(totals: Array) -> Array:
    return np.moveaxis(totals.reshape(*totals.shape[:-1], totals.shape[-1] // 3, 3), -1, 0)


def _average(scores: Array, expected: Array, average: str, zero_division: float) -> Array:
    if average == "weighted":
        return divide((scores * expected).sum(axis=-1), expected.sum(axis=-1), zero_division)
    mean: Array = scores.mean(axis=-1)
    return mean
