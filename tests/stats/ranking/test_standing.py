"""Orders, corrections and sets of ranks: published ranks, another implementation of corrections, and simulation."""

import numpy as np
import pytest
from scipy.stats import norm

from karat.core.errors import SpecError
from karat.stats.aggregate import Scale
from karat.stats.paired.pair_tests import PairTests
from karat.stats.paired.systems import Systems
from karat.stats.ranking.standing import stand

multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests

# Mathematics of PISA 2018 in the countries of the OECD: mean scores and their standard errors (OECD), and their ranks
# as the authors of the sets of ranks publish them (Mogstad, Romano, Shaikh and Wilhelm; README of csranks 1.2.3).
PISA = """491.3600252 1.939833031 24|498.9423138 2.970998694 18|508.0703063 2.262662011 10|512.0169429 2.357475749 7
417.4065563 2.41588757 35|390.9322732 2.989559274 37|499.4676508 2.460661531 17|509.3983746 1.735002337 8
523.4145802 1.743602224 3|507.3013618 1.967920411 11|495.4075794 2.320214487 20|500.0437805 2.647083096 15
451.3703438 3.091228197 34|481.0826364 2.319596741 30|495.1873762 1.953082603 21|499.632894 2.198621128 16
463.0345488 3.498563228 32|486.5898573 2.780045867 25|526.9732502 2.471475318 1|525.933002 3.121394315 2
496.1263306 1.962766789 19|481.1911884 1.953282039 29|483.421485 1.097632409 27|408.8014734 2.493225544 36
519.2309824 2.632277885 4|494.489676 1.705942856 22|500.9637885 2.219044878 14|515.6478747 2.602085176 5
492.4874062 2.684570081 23|486.1648542 2.555595707 26|508.8975441 1.363877596 9|481.3926126 1.462417763 28
502.3877022 2.654250935 12|515.3147131 2.908003898 6|453.5077774 2.260406789 33|501.7698992 2.564428111 13
478.2447174 3.235444099 31"""


def pair_up(values, errors):
    difference = values[:, None] - values
    error = np.sqrt(errors[:, None] ** 2 + errors**2)
    return PairTests(difference, difference, difference, 2 * norm.sf(np.abs(difference) / error), error, "wald")


def test_published_ranks_are_in_sets_of_ranks_that_follow_from_separated_pairs():
    values, errors, ranks = np.array([row.split() for row in PISA.replace("\n", "|").split("|")], float).T
    (found,) = stand([values.tolist()], [pair_up(values, errors)], ["maximize"])
    assert found.ranks == ranks.tolist()
    higher = found.separated & (values[:, None] > values)
    assert found.least == (1 + higher.sum(axis=0)).tolist()
    assert found.most == (37 - higher.sum(axis=1)).tolist()


@pytest.mark.parametrize(("ours", "theirs"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrections_agree_with_statsmodels_over_all_rankings(ours, theirs):
    random = np.random.default_rng(0)
    values, errors = random.normal(0, 2, (2, 6)), np.ones(6)
    tests = [pair_up(own, errors) for own in values]
    upper = np.triu_indices(6, 1)
    expected = multipletests(np.concatenate([each.p[upper] for each in tests]), method=theirs)[1]
    found = stand(values.tolist(), tests, ["maximize", "minimize"], correction=ours)
    assert np.concatenate([each.adjusted[upper] for each in found]) == pytest.approx(expected, rel=1e-12)
    assert found[1].ranks == (7 - np.array(stand([values[1].tolist()], tests[1:], ["maximize"])[0].ranks)).tolist()


def test_the_less_strict_correction_does_not_make_sets_of_ranks_smaller():
    values = np.array([0.0, 1, 2, 3, 4, 5])
    tests = pair_up(values, np.ones(6))
    holm, bh = (stand([values.tolist()], [tests], ["maximize"], correction=name)[0] for name in ("holm", "bh"))
    assert bh.separated.sum() > holm.separated.sum()
    assert (bh.least, bh.most) == (holm.least, holm.most)


def test_equal_values_have_equal_ranks_and_unknown_values_are_last():
    p = np.full((4, 4), np.nan)
    p[:3, :3] = 0.001
    values = np.array([1.0, 2, 2, np.nan])
    difference = values[:, None] - values
    (found,) = stand([[1.0, 2.0, 2.0, None]], [PairTests(difference, p, p, p, p, "student")], ["maximize"])
    assert found.order == [1, 2, 0, 3]
    assert found.ranks == [3, 1, 1, 4]
    assert (found.least, found.most) == ([3, 1, 1, 1], [4, 3, 3, 4])


@pytest.mark.parametrize(("p", "apart"), [(0.05, True), (np.nextafter(0.05, 1), False)])
def test_a_p_at_the_level_separates_and_orders(p, apart):
    difference = np.array([[0.0, 1], [-1, 0]])
    pair = PairTests(difference, difference, difference, np.array([[1, p], [p, 1]]), difference, "student")
    (standing,) = stand([[2.0, 1.0]], [pair], ["maximize"])
    assert standing.separated[0, 1] == apart
    assert (standing.least, standing.most) == (([1, 2], [1, 2]) if apart else ([1, 1], [2, 2]))


def test_another_correction_is_an_error():
    with pytest.raises(SpecError, match="'holm' or 'bh' expected"):
        stand([], [], [], correction="bonferroni")


@pytest.mark.slow
def test_all_sets_of_ranks_together_hold_the_true_ranks_by_simulation():
    """As `bench/ranking.py`, with fewer samples: at least 95 %, and more where systems are equal in pairs."""
    random = np.random.default_rng(11)
    true = np.array([0.45, 0.5, 0.5, 0.55, 0.7])
    lowest, highest = (true[:, None] < true).sum(axis=1) + 1, (true[:, None] <= true).sum(axis=1)
    held = 0
    for _ in range(200):
        hard = random.random((300, 1))
        rows = (0.5 * hard + 0.5 * random.random((300, 5)) < np.quantile(hard, 0.5) + (true - 0.5) / 2).astype(float)
        systems = Systems(5, 1, Scale())
        systems.add(rows[:, :, None], np.arange(300, dtype=np.uint64))
        (found,) = stand([systems.values.tolist()], [systems.test()], ["maximize"])
        held += bool((np.array(found.least) <= lowest).all() and (np.array(found.most) >= highest).all())
    assert held >= 186  # of 200, where 190 are expected: at most two standard errors below
