"""Comparisons of two systems agree with scipy, statsmodels and sacrebleu wherever these have the method."""

from __future__ import annotations

import gzip
import json
from functools import partial

import numpy as np
import pytest
from scipy import optimize, special, stats

from karat.metrics.text.bleu import finish_bleu
from karat.stats.aggregate import Scale
from karat.stats.paired.compare import compare
from karat.stats.paired.mcnemar import mcnemar_test, tango_interval
from karat.stats.paired.multiple import holm
from karat.stats.paired.power import power_of, rows_needed, smallest_visible

BLEU = pytest.importorskip("sacrebleu.metrics").BLEU
PairedTest = pytest.importorskip("sacrebleu.significance").PairedTest
statsmodels_mcnemar = pytest.importorskip("statsmodels.stats.contingency_tables").mcnemar
multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
TTestPower = pytest.importorskip("statsmodels.stats.power").TTestPower

SHARE = (0.0, 1.0)
FINISH = partial(finish_bleu, smooth="exp", smooth_value=None, order=4, effective_order=False)


@pytest.mark.parametrize(
    ("wins", "losses"), [(0, 0), (1, 0), (3, 3), (9, 2), (2, 9), (40, 61), (700, 640), (250_900, 250_000)]
)
def test_mcnemars_test(wins, losses):
    """The mid-p is the exact p less the chance of the counts themselves."""
    theirs = statsmodels_mcnemar([[5, wins], [losses, 5]], exact=True).pvalue if wins + losses else 1.0
    same = 0.0 if wins == losses else stats.binom.pmf(wins, wins + losses, 0.5)
    assert mcnemar_test(wins, losses) == pytest.approx(theirs - same, rel=1e-8)


def test_mcnemars_mid_p_as_published():
    """M. Fagerland, S. Lydersen and P. Laake, BMC Medical Research Methodology 13:91 (2013), table 6: 1 and 7."""
    assert mcnemar_test(1, 7) == pytest.approx(0.039, abs=5e-4)


@pytest.mark.parametrize("shift", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("clusters", [None, 60])
def test_students_p_is_near_that_of_random_sign_flips(shift, clusters):
    random = np.random.default_rng(0)
    a = random.random((300, 1))
    b = a + shift + 0.2 * random.normal(size=a.shape)
    keys = None if clusters is None else np.arange(300, dtype=np.uint64) % clusters
    sums = (b - a)[:, 0] if keys is None else np.bincount(keys.astype(int), (b - a)[:, 0])
    theirs = stats.permutation_test(
        (sums,), np.mean, permutation_type="samples", n_resamples=9_999, vectorized=True, rng=1
    ).pvalue
    found = compare(a, b, Scale(bounds=(None, None)), keys=keys)
    assert found.p == pytest.approx(theirs, abs=5 * np.sqrt(2 * theirs / 10_000) + 5e-3)


def test_bounded_and_open_means_of_many_rows_get_students_interval():
    random = np.random.default_rng(4)
    a, b = random.random((2, 20_000, 1))
    theirs = stats.ttest_rel(b[:, 0], a[:, 0]).confidence_interval()
    for bounds, close in ((SHARE, 2e-4), ((None, None), 2e-4)):
        found = compare(a, b, Scale(bounds=bounds))
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=close)


@pytest.mark.parametrize("size", [1, 2, 9, 40])
def test_holms_correction(size):
    ps = np.random.default_rng(size).beta(0.5, 5, size).round(2).tolist()  # rounded, so that some are equal
    rejected, theirs, _, _ = multipletests(ps, alpha=0.05, method="holm")
    assert holm(ps) == pytest.approx(theirs.tolist())
    assert [p <= 0.05 for p in holm(ps)] == rejected.tolist()


@pytest.mark.parametrize("rows", [3, 10, 60, 4_000])
@pytest.mark.parametrize("effect", [0.02, 0.2, 0.9])
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_power_of_a_paired_t_test(rows, effect, level):
    theirs = TTestPower().power(effect, rows, level)
    assert power_of(effect * np.sqrt(rows), rows - 1, level=level) == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("effect", [0.05, 0.3, 1.5])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_rows_for_a_power(effect, power):
    theirs = TTestPower().solve_power(effect_size=effect, alpha=0.05, power=power)
    assert rows_needed(effect * 3, 3.0, power=power) == np.ceil(theirs)
    rows = 50
    visible = TTestPower().solve_power(nobs=rows, alpha=0.05, power=power)
    assert smallest_visible(1 / np.sqrt(rows), rows - 1, power=power) == pytest.approx(visible, rel=1e-5)


def translations(real_data, *names, rows=None):
    with gzip.open(real_data("bleu") / "wmt17_en_de.jsonl.gz", "rt", encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines][:rows]
    return [row["ref"] for row in read], [[row[name] for row in read] for name in names]


@pytest.mark.parametrize(
    ("first", "second", "rows"),
    [("LIUM-NMT", "C-3MA", 500), ("online-G", "C-3MA", 300), ("uedin-nmt", "LIUM-NMT", 60), ("C-3MA", "C-3MA", 60)],
)
def test_sacrebleus_paired_tests_of_corpus_bleu(first, second, rows, real_data):
    references, systems = translations(real_data, first, second, rows=rows)
    named = list(zip(["A", "B"], systems, strict=True))

    def theirs(kind, samples):
        _, scores = PairedTest(named, {"BLEU": BLEU()}, [references], test_type=kind, n_samples=samples)()
        return [result.score / 100 for result in scores["BLEU"]], scores["BLEU"][1].p_value

    a, b = (np.array(BLEU()._extract_corpus_statistics(predicted, [references]), float) for predicted in systems)
    found = compare(a, b, Scale(FINISH, bounds=SHARE))
    values, randomised = theirs("ar", 4_000)
    assert [found.a, found.b] == pytest.approx(values, rel=1e-9)
    if first == second:
        assert found.p == 1.0  # theirs is 1/4001: it counts only differences that are larger
        return
    assert found.test == "student"
    assert found.p == pytest.approx(randomised, abs=5 * np.sqrt(1.4 * randomised / 4_000) + 0.02)
    _, bootstrapped = theirs("bs", 1_000)
    assert (found.p < 0.05) == (bootstrapped < 0.05)


def test_the_error_of_a_difference_in_bleu_is_that_of_a_paired_bootstrap(real_data):
    references, systems = translations(real_data, "LIUM-NMT", "C-3MA", rows=400)
    a, b = (np.array(BLEU()._extract_corpus_statistics(predicted, [references]), float) for predicted in systems)

    def gap(rows):
        return float(FINISH(b[rows].sum(axis=0)) - FINISH(a[rows].sum(axis=0)))

    theirs = stats.bootstrap((np.arange(400),), gap, vectorized=False, n_resamples=1_500, rng=0, method="percentile")
    found = compare(a, b, Scale(FINISH, SHARE))
    assert found.deviation / 20 == pytest.approx(theirs.standard_error, rel=0.08)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.3 * theirs.standard_error)


@pytest.mark.parametrize(("wins", "losses", "rows"), [(12, 2, 50), (0, 0, 20), (5, 0, 9), (40, 20, 160), (0, 7, 7)])
def test_the_ends_of_tangos_interval_are_where_a_score_test_turns(wins, losses, rows):
    """The variance under each end is that of the likeliest shares with this difference, found by search."""

    def statistic(difference):
        def unlikely(losing):
            shares = np.array([losing + difference, losing, 1 - difference - 2 * losing])
            return -special.xlogy([wins, losses, rows - wins - losses], np.maximum(shares, 0)).sum()

        room = (max(0.0, -difference), (1 - difference) / 2)
        losing = optimize.minimize_scalar(unlikely, bounds=room, method="bounded", options={"xatol": 1e-12}).x
        variance = rows * (2 * losing + difference - difference**2)
        return abs(wins - losses - rows * difference) / np.sqrt(variance)

    for end in tango_interval(wins, losses, rows, 1.959964):
        assert abs(end) == 1 or statistic(end) == pytest.approx(1.959964, abs=2e-4)


def test_tangos_interval_as_published():
    """M. Fagerland, S. Lydersen and P. Laake, Statistics in Medicine 33 (2014): airway reactivity of 21 children."""
    assert tango_interval(1, 7, 21, 1.959964) == pytest.approx((-0.517, -0.026), abs=5e-4)
