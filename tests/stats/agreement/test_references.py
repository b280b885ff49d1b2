"""Coefficients equal to scikit-learn's, krippendorff's, scipy's, statsmodels', and figures of irrCAC, to 1e-9."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from karat.stats.agreement.accuracy import accuracy
from karat.stats.agreement.alpha import krippendorff_alpha
from karat.stats.agreement.auroc import auroc
from karat.stats.agreement.confusion import confusion_matrix as count_labels
from karat.stats.agreement.correlation import correlation, dominated
from karat.stats.agreement.gwet import gwet_ac
from karat.stats.agreement.kappa import cohen_kappa

krippendorff = pytest.importorskip("krippendorff")
cohen_kappa_score = pytest.importorskip("sklearn.metrics").cohen_kappa_score
confusion_matrix = pytest.importorskip("sklearn.metrics").confusion_matrix
roc_auc_score = pytest.importorskip("sklearn.metrics").roc_auc_score
cohens_kappa = pytest.importorskip("statsmodels.stats.inter_rater").cohens_kappa

CLOSE = {"abs": 1e-9}
LABELS = st.integers(0, 4).map(float)
PAIRS = st.lists(st.tuples(LABELS, LABELS), min_size=2, max_size=40).map(lambda rows: np.array(rows).T)
RATINGS = st.lists(st.lists(LABELS | st.just(np.nan), min_size=3, max_size=3), min_size=2, max_size=30).map(np.array)
NAN = np.nan
# The example of irrCAC's documentation, `cac.raw4raters`: K. L. Gwet, "Handbook of Inter-Rater Reliability" (2014).
FOUR_RATERS = np.array([
    [1, 1, NAN, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [NAN, 5, 5, 5], [NAN, NAN, 1, 1], [NAN, NAN, 3, NAN],
])  # fmt: skip
IRRCAC = [  # level, coefficient, standard error
    ("nominal", 0.622188905547226, 0.192143067288194),
    ("linear", 0.762572135201979, 0.133555582960252),
    ("quadratic", 0.864355689525245, 0.089071502067547),
]


def varies(*raters):
    return all(np.ptp(each) > 0 for each in raters)


def error(coefficient):
    """The standard error by rows, as irrCAC defines it."""
    n = coefficient.n
    return np.sqrt((coefficient.influence**2).sum() * n / (n - 1))


@given(PAIRS, st.sampled_from([("nominal", None), ("linear", "linear"), ("quadratic", "quadratic")]))
def test_kappa_is_that_of_scikit_learn_and_its_error_that_of_statsmodels(pair, levels):
    a, b = pair
    level, theirs = levels
    every = np.arange(5.0)
    found = cohen_kappa(a, b, level=level, categories=every)
    if not varies(a, b):
        assert found.reason is not None
        return
    assert found.value == pytest.approx(cohen_kappa_score(a, b, labels=every, weights=theirs), **CLOSE)
    table = confusion_matrix(a, b, labels=every)
    with np.errstate(all="ignore"):
        variance = cohens_kappa(table, wt=theirs).var_kappa
    assert (found.influence**2).sum() == pytest.approx(variance, **CLOSE)
    assert accuracy(a, b).value == pytest.approx(np.trace(table) / table.sum(), **CLOSE)
    seen = np.union1d(a, b)
    assert [list(row) for row in count_labels(a, b).counts] == confusion_matrix(a, b, labels=seen).tolist()


def test_weighted_kappa_of_labels_with_uneven_steps_is_that_of_statsmodels():
    random = np.random.default_rng(1)
    codes = random.integers(0, 3, (2, 200))
    codes[1] = np.where(random.random(200) < 0.6, codes[0], codes[1])
    values = np.array([0.0, 1.0, 10.0])
    table = confusion_matrix(*codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohens_kappa(table, weights=values, wt="linear").kappa
    assert cohen_kappa(*values[codes], level="linear").value == pytest.approx(theirs, **CLOSE)


@given(RATINGS, st.sampled_from([("nominal", "nominal"), ("ordinal", "ordinal"), ("quadratic", "interval")]))
def test_alpha_is_that_of_krippendorff(ratings, levels):
    level, theirs = levels
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) > 1]
    found = krippendorff_alpha(ratings, level=level)
    if len(np.unique(pairable[~np.isnan(pairable)])) < 2:
        assert found.reason is not None
        return
    assert found.value == pytest.approx(krippendorff.alpha(pairable.T, level_of_measurement=theirs), **CLOSE)


def test_the_published_example_of_four_raters():
    assert gwet_ac(FOUR_RATERS).value == pytest.approx(0.77544, abs=5e-6)
    assert krippendorff_alpha(FOUR_RATERS).value == pytest.approx(0.74342, abs=5e-6)
    assert krippendorff_alpha(FOUR_RATERS, level="ordinal").value == pytest.approx(
        krippendorff.alpha(FOUR_RATERS.T, level_of_measurement="ordinal"), **CLOSE
    )


def test_gwets_coefficients_and_errors_are_those_of_irrcac_where_no_label_is_missing():
    """The figures are those of irrCAC 0.4.4 for the first three raters of the rows that all three labelled."""
    complete = FOUR_RATERS[~np.isnan(FOUR_RATERS[:, :3]).any(axis=1), :3]
    for level, value, standard_error in IRRCAC:
        found = gwet_ac(complete, level=level)
        assert found.value == pytest.approx(value, **CLOSE)
        assert error(found) == pytest.approx(standard_error, **CLOSE)


@given(PAIRS)
def test_correlations_are_those_of_scipy(pair):
    a, b = pair
    for kind, theirs in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        found = correlation(a, b, kind)
        if not varies(a, b):
            assert found.reason is not None
            continue
        assert found.value == pytest.approx(theirs(a, b).statistic, **CLOSE)


@given(PAIRS)
def test_auroc_is_that_of_scikit_learn_and_its_error_that_of_delong(pair):
    scores, labels = pair[0], (pair[1] > 2) * 1.0
    found = auroc(scores, labels)
    if not varies(labels):
        assert found.reason is not None
        return
    assert found.value == pytest.approx(roc_auc_score(labels, scores), **CLOSE)
    yes, no = scores[labels == 1], scores[labels == 0]
    wins = (yes[:, None] > no) + 0.5 * (yes[:, None] == no)
    if min(wins.shape) > 1:
        delong = wins.mean(axis=1).var(ddof=1) / len(yes) + wins.mean(axis=0).var(ddof=1) / len(no)
        assert error(found) == pytest.approx(np.sqrt(delong), **CLOSE)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=50).map(np.array))
def test_the_rows_below_in_both_are_counted(points):
    x, y = points.T
    weights = np.arange(1.0, len(x) + 1)
    below = (x < x[:, None]) & (y < y[:, None])
    assert dominated(x, y, weights) == pytest.approx(below @ weights)
