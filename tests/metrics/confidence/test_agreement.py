"""Values of confidences agree with scikit-learn, with torchmetrics and with definitions written out row by row."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat

torch = pytest.importorskip("torch")
sklearn = pytest.importorskip("sklearn.metrics")
calibration_curve = pytest.importorskip("sklearn.calibration").calibration_curve
binary_calibration_error = pytest.importorskip("torchmetrics.functional.classification").binary_calibration_error

SURE = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0]), st.just(1 / 3))
ROWS = st.lists(st.tuples(SURE, st.sampled_from([0.0, 1.0])), min_size=1, max_size=40)
GRADED = st.lists(st.tuples(SURE, st.sampled_from([0.0, 0.25, 2 / 3, 1.0])), min_size=1, max_size=40)


def value(rows, spec):
    confidence, right = zip(*rows, strict=True)
    result = karat.score(
        {"confidence": list(confidence), "right": list(right)}, spec.replace("(", "(column(right),", 1)
    )
    return next(iter(result.values.values())).value


def real(n=20_000, seed=0, digits=None):
    """Confidences as models give them, mostly high, and answers that are right less often than they say."""
    random = np.random.default_rng(seed)
    confidence = random.beta(5, 1.2, n)
    confidence = confidence if digits is None else confidence.round(digits)
    return list(zip(confidence.tolist(), (random.random(n) < confidence**1.5).astype(float).tolist(), strict=True))


def both(rows):
    return len({right for _, right in rows}) == 2


LARGE = [real(), real(digits=2, seed=1), real(n=60, seed=2)]


def check_against_scikit_learn(rows):
    confidence, right = map(np.array, zip(*rows, strict=True))
    wanted = {
        "brier()": sklearn.brier_score_loss(right, confidence, pos_label=1),
        "log_loss()": sklearn.log_loss(right, confidence, labels=[0, 1]),
        "auroc()": sklearn.roc_auc_score(right, confidence) if both(rows) else None,
        "auprc()": sklearn.average_precision_score(right, confidence) if right.any() else None,
    }
    for spec, expected in wanted.items():
        assert value(rows, spec) == (expected if expected is None else pytest.approx(expected, abs=1e-9)), spec


@given(ROWS)
def test_scores_and_areas_are_those_of_scikit_learn(rows):
    check_against_scikit_learn(rows)


@pytest.mark.parametrize("rows", LARGE)
def test_scores_and_areas_of_many_rows_are_those_of_scikit_learn(rows):
    check_against_scikit_learn(rows)


@given(GRADED, st.sampled_from([1, 2, 7, 15]), st.sampled_from(["l1", "l2", "max"]))
def test_calibration_errors_are_those_of_torchmetrics(rows, bins, norm):
    edges = np.linspace(0, 1, bins + 1)
    rows = [each for each in rows if abs(edges - each[0]).min() > 1e-9]  # there an edge is in the bin above it
    if rows:
        confidence, right = (torch.tensor(each, dtype=torch.float64) for each in zip(*rows, strict=True))
        expected = float(binary_calibration_error(confidence, right, bins, norm, validate_args=False))
        assert value(rows, f"ece(bins={bins}, norm={norm})") == pytest.approx(expected, abs=1e-9)


@given(ROWS, st.sampled_from([2, 5, 10]), st.sampled_from(["width", "mass"]))
def test_bins_and_their_edges_are_those_of_scikit_learn(rows, bins, binning):
    check_bins(rows, bins, binning)


@pytest.mark.parametrize("rows", LARGE)
@pytest.mark.parametrize("binning", ["width", "mass"])
def test_bins_of_many_rows_are_those_of_scikit_learn(rows, binning):
    check_bins(rows, 15, binning)


def check_bins(rows, bins, binning):
    confidence, right = map(np.array, zip(*rows, strict=True))
    if binning == "mass":
        edges = np.percentile(confidence, np.linspace(0, 1, bins + 1) * 100)
    else:
        edges = np.linspace(0, 1, bins + 1)
    counts = np.bincount(np.searchsorted(edges[1:-1], confidence))
    strategy = "quantile" if binning == "mass" else "uniform"
    share, sure = calibration_curve(right, confidence, n_bins=bins, strategy=strategy, pos_label=1)
    expected = (counts[counts > 0] * abs(share - sure)).sum() / len(rows)
    assert value(rows, f"ece(bins={bins}, binning={binning})") == pytest.approx(expected, abs=1e-9)


@given(GRADED, st.integers(1, 12))
def test_the_terms_add_up_to_the_brier_score(rows, bins):
    reliability, resolution, uncertainty, within = (
        value(rows, f"brier_term(term={term}, bins={bins})")
        for term in ("reliability", "resolution", "uncertainty", "within")
    )
    assert reliability - resolution + uncertainty + within == pytest.approx(value(rows, "brier()"), abs=1e-9)


def test_the_terms_are_murphys_where_each_bin_has_one_confidence():
    rows = real(n=500, digits=1)
    confidence, right = map(np.array, zip(*rows, strict=True))
    share, sure = calibration_curve(right, confidence, n_bins=10)
    counts = np.bincount(np.searchsorted(np.linspace(0, 1, 11)[1:-1], confidence))
    counts = counts[counts > 0] / len(rows)
    assert value(rows, "brier_term()") == pytest.approx(counts @ (share - sure) ** 2, abs=1e-9)
    assert value(rows, "brier_term(term=resolution)") == pytest.approx(counts @ (share - right.mean()) ** 2, abs=1e-9)
    assert value(rows, "brier_term(term=uncertainty)") == pytest.approx(right.mean() * (1 - right.mean()), abs=1e-9)


def risks(rows):
    """The mean risk of the first row, of the first two, and so on: Geifman's area, one row after another."""
    lost, areas = 0.0, 0.0
    for number, (_, right) in enumerate(sorted(rows, key=lambda row: -row[0]), 1):
        lost += 1 - right
        areas += lost / number
    return areas / len(rows)


@given(GRADED)
def test_the_area_under_the_risk_coverage_curve_is_the_mean_of_the_risks(rows):
    rows = list({sure: (sure, right) for sure, right in rows}.values())
    assert value(rows, "aurc()") == pytest.approx(risks(rows), abs=1e-9)


@pytest.mark.parametrize("rows", LARGE[::2])
def test_the_area_of_many_rows_and_its_excess(rows):
    assert value(rows, "aurc()") == pytest.approx(risks(rows), abs=1e-9)
    wrong = 1 - np.mean([right for _, right in rows])
    least = wrong + (1 - wrong) * math.log(1 - wrong)
    assert value(rows, "aurc(excess=true)") == pytest.approx(risks(rows) - least, abs=1e-9)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from([0.2, 0.8]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=6))
def test_of_equal_confidences_the_area_is_the_mean_over_all_orders(rows):
    expected = np.mean([risks(order) for order in permutations(rows)])
    assert value(rows, "aurc()") == pytest.approx(expected, abs=1e-9)


@given(GRADED, st.sampled_from([0.1, 0.25, 0.5, 0.8, 1.0]))
def test_accuracy_at_a_coverage_is_the_mean_of_the_most_confident(rows, share):
    rows = list({sure: (sure, right) for sure, right in rows}.values())
    scores = [right for _, right in sorted(rows, reverse=True)]
    whole, part = divmod(share * len(rows), 1)
    within = sum(scores[: int(whole)]) + (part * scores[int(whole)] if part else 0)
    assert value(rows, f"accuracy_at_coverage(c={share})") == pytest.approx(within / (share * len(rows)), abs=1e-9)


def test_equal_confidences_at_the_edge_count_alike():
    rows = [(0.9, 1.0), (0.5, 1.0), (0.5, 0.0), (0.5, 0.0)]
    assert value(rows, "accuracy_at_coverage(c=0.5)") == pytest.approx((1 + 1 / 3) / 2)
