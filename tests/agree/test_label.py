"""Precision, recall and F of labels equal to scikit-learn's."""

import random

import numpy as np
import pytest

import karat
from karat.core.columns.kinds import to_arrow
from karat.core.metric.score import score_rows
from karat.errors import SpecError
from karat.metrics import label_accuracy, label_f, label_precision, label_recall

accuracy_score = pytest.importorskip("sklearn.metrics").accuracy_score
precision_recall_fscore_support = pytest.importorskip("sklearn.metrics").precision_recall_fscore_support

METRICS = [label_precision, label_recall, label_f]
LABELS = ["a", "b", "c", "never"]


def draw(seed, pool, n=60):
    return random.Random(seed).choices(pool, k=n)  # noqa: S311


SETS = {
    "all known": (draw(1, "abc"), draw(2, "abc")),
    "a stray prediction": (draw(3, [*"abc", "I do not know"]), draw(4, "abc")),
    "a stray reference": (draw(5, "abc"), draw(6, [*"abc", "other"])),
    "one class": (["a"] * 5, ["a"] * 5),
    "never right": (["b"] * 5, ["a"] * 5),
    "none of the labels": (["x"] * 3, ["y"] * 3),
}


def value(metric, predicted, expected):
    return karat.score({"prediction": predicted, "reference": expected}, metric).values[metric.spec].value


def official(predicted, expected, **settings):
    beta = settings.pop("beta", 1.0)
    figures = precision_recall_fscore_support(expected, predicted, beta=beta, **settings)
    return dict(zip(("label_precision", "label_recall", "label_f"), figures, strict=False))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_averages_over_given_labels_equal_scikit_learn(metric, name, average, zero_division):
    predicted, expected = SETS[name]
    settings = {"average": average, "labels": LABELS, "zero_division": zero_division}
    figure = official(predicted, expected, **settings)[metric.name]
    assert value(metric.using(**settings), predicted, expected) == pytest.approx(figure, abs=1e-12)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_any_beta(average, beta):
    predicted, expected = SETS["a stray prediction"]
    settings = {"average": average, "labels": ["a", "b", "c"], "beta": beta}
    assert value(label_f.using(**settings), predicted, expected) == pytest.approx(
        official(predicted, expected, **settings)["label_f"], abs=1e-12
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("positive", [1, 7])
@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_one_positive_label_equals_scikit_learn_on_numbers(metric, positive, zero_division):
    predicted, expected = draw(7, [0, 1]), draw(8, [0, 1])
    binary = metric.using(average="binary", positive=positive, zero_division=zero_division)
    figures = official(predicted, expected, labels=[positive], average="macro", zero_division=zero_division)
    assert value(binary, predicted, expected) == pytest.approx(figures[metric.name], abs=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_micro_over_every_label_needs_no_list_and_is_the_accuracy(metric):
    predicted, expected = SETS["all known"]
    figure = accuracy_score(expected, predicted)
    assert value(metric.using(average="micro"), predicted, expected) == pytest.approx(figure, abs=1e-12)
    assert value(label_accuracy, predicted, expected) == pytest.approx(figure, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_the_average_does_not_depend_on_which_labels_occur(metric):
    """Which average is computed never depends on the labels that happen to occur."""
    macro = metric.using(labels=[0, 1])
    assert value(macro, [1, 1], [1, 1]) == 0.5


def test_counts_of_halves_add_up():
    predicted, expected = (to_arrow(column, "any") for column in SETS["all known"])
    metric = label_f.using(labels=LABELS)
    whole, left, right = (
        score_rows(metric, {"prediction": predicted[part], "reference": expected[part]}).statistics.sum(axis=0)
        for part in (slice(None), slice(0, 20), slice(20, None))
    )
    np.testing.assert_array_equal(left + right, whole)


def test_labels_are_normalised_as_the_columns_are():
    assert value(label_f.using(labels=["Spam", "HAM"], normalize="unicode"), ["spam."], ["SPAM"]) == 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"average='macro'\) needs labels=\[...\].*the references are: 'a', 'b'"),
        ({"average": "weighted"}, "needs labels"),
        ({"positive": "a"}, r"positive='a'\) needs average='binary'.*average='macro' is over all labels"),
        ({"positive": "a", "labels": ["a", "b"]}, "needs average='binary'"),
        ({"average": "binary"}, "needs positive=.*the references are: 'a', 'b'"),
        ({"labels": []}, "one or more labels"),
        ({"average": "micro", "zero_division": 2.0}, "0 to 1"),
        ({"average": "micro", "beta": 0.0}, "above 0"),
        ({"labels": ["a", "A"], "normalize": "unicode"}, "each different"),
    ],
)
def test_a_missing_label_setting_is_an_error_that_lists_the_labels(settings, message):
    with pytest.raises(SpecError, match=message):
        label_f(["a", "b"], ["b", "a"], **settings)
