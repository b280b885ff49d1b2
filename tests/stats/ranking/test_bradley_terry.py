"""Strengths from verdicts: published figures, `choix`, statsmodels, and what has no estimate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from karat.core.errors import DataError
from karat.stats.ranking.bradley_terry import Effects, estimate_strengths, find_unbeaten

choix = pytest.importorskip("choix")
sm = pytest.importorskip("statsmodels.api")

# Games of the American League in 1987, wins of the home team and of the visitors (A. Agresti, Categorical Data
# Analysis, 2002, section 10.6), in the order Milwaukee, Detroit, Toronto, New York, Boston, Cleveland, Baltimore; the
# figures are those that H. Turner and D. Firth print (Bradley-Terry models in R, J. Statistical Software 48, 2012).
BASEBALL = [
    "434243614260",
    "334243606143",
    "254324434260",
    "335125434261",
    "512533425260",
    "253334434224",
    "251516241634",
]


def read_games():
    games = []
    for home, row in enumerate(BASEBALL):
        others = [team for team in range(7) if team != home]
        for away, won, lost in zip(others, row[::2], row[1::2], strict=True):
            games += [(home, away, 1.0)] * int(won) + [(home, away, 0.0)] * int(lost)
    first, second, shares = np.array(games).T
    return first.astype(int), second.astype(int), shares


def draw(n=2_000, systems=5, seed=0):
    """Verdicts from the model with ties and an order effect."""
    random = np.random.default_rng(seed)
    strengths = random.normal(0, 0.6, systems)
    first = random.integers(systems, size=n)
    second = (first + random.integers(1, systems, size=n)) % systems
    logs = [strengths[first] + 0.4, strengths[second], (strengths[first] + strengths[second]) / 2 - 0.5]
    odds = np.exp(np.stack(logs, axis=1))
    chosen = (np.cumsum(odds, axis=1) / odds.sum(axis=1, keepdims=True) < random.random((n, 1))).sum(axis=1)
    return first, second, np.array([1, 0, 0.5])[chosen]


@pytest.mark.parametrize(
    ("order_effect", "strengths", "errors"),
    [
        (False, [1.5814, 1.4364, 1.2945, 1.2476, 1.1077, 0.6839], [0.3433, 0.3396, 0.3367, 0.3359, 0.3339, 0.3319]),
        (True, [1.6196, 1.4754, 1.3271, 1.2813, 1.1438, 0.7047], [0.3474, 0.3446, 0.3403, 0.3404, 0.3378, 0.3350]),
    ],
)
def test_published_strengths_of_teams_and_what_playing_at_home_does(order_effect, strengths, errors):
    found = estimate_strengths(*read_games(), Effects(order=order_effect))
    tests, own = found.test(), np.diag(found.covariance)
    assert (found.values - found.values[6])[:6] == pytest.approx(strengths, abs=5e-5)
    assert np.sqrt(own + own[6] - 2 * found.covariance[6])[:6] == pytest.approx(errors, abs=5e-5)
    assert (tests.high - tests.difference)[:6, 6] == pytest.approx(np.array(errors) * 1.959964, abs=1e-4)
    assert found.ties is None
    if order_effect:
        assert (found.order.value, (found.order.high - found.order.low) / 3.919928) == pytest.approx(
            (0.3023, 0.1309), abs=6e-5
        )


def test_strengths_without_ties_agree_with_choix():
    first, second, shares = draw()
    first, second, shares = (each[shares != 0.5] for each in (first, second, shares))
    wins = [(a, b) if share else (b, a) for a, b, share in zip(first, second, shares, strict=True)]
    reference = choix.ilsr_pairwise(5, wins, tol=1e-12)
    found = estimate_strengths(first, second, shares, Effects(order=False))
    assert found.values == pytest.approx(reference - reference.mean(), abs=1e-6)


def test_a_covariate_agrees_with_a_logistic_regression():
    first, second, _ = draw(600, systems=4)
    random = np.random.default_rng(1)
    longer = random.uniform(-0.8, 0.8, len(first)).round(1)
    logs = 0.3 + 0.5 * (first - second) + 1.2 * longer
    shares = (random.random(len(first)) < 1 / (1 + np.exp(-logs))).astype(float)
    sides = np.eye(4)[first] - np.eye(4)[second]
    reference = sm.Logit(shares, np.column_stack([sides[:, 1:], np.ones(len(first)), longer])).fit(disp=0, tol=1e-12)
    found = estimate_strengths(first, second, shares, Effects(covariate=longer))
    assert found.values[1:] - found.values[0] == pytest.approx(reference.params[:3], abs=1e-7)
    tests = found.test()
    assert (tests.high - tests.difference)[1:, 0] / 1.959964 == pytest.approx(reference.bse[:3], rel=1e-5)
    assert (found.order.value, found.effect.value) == pytest.approx(tuple(reference.params[3:]), abs=1e-7)
    assert (found.effect.high - found.effect.low) / 3.919928 == pytest.approx(reference.bse[4], rel=1e-5)


def test_a_covariate_beside_ties_is_the_most_likely_one():
    first, second, shares = draw(300, systems=3, seed=3)
    longer = np.random.default_rng(2).uniform(-1, 1, len(first))

    def loss(found):
        values = np.r_[found[:3] - found[:3].mean(), found[3:]]
        one = values[first] + values[4] + values[5] * longer / 2
        other, tie = values[second] - values[5] * longer / 2, (values[first] + values[second]) / 2 + values[3]
        chosen = np.where(shares == 1, one, np.where(shares == 0, other, tie))
        return (np.logaddexp(np.logaddexp(one, other), tie) - chosen).sum()

    best = minimize(loss, np.zeros(6), method="BFGS", tol=1e-10).x
    found = estimate_strengths(first, second, shares, Effects(covariate=longer))
    assert [*found.values, found.ties.value, found.order.value, found.effect.value] == pytest.approx(
        [*(best[:3] - best[:3].mean()), *best[3:]], abs=1e-4
    )


def test_a_covariate_that_systems_decide_cannot_be_told_from_their_strengths():
    first, second, shares = draw(300, systems=3)
    found = estimate_strengths(first, second, shares, Effects(covariate=(first - second) / 3))
    plain = estimate_strengths(first, second, shares)
    assert found.effect is None
    assert found.values.tolist() == pytest.approx(plain.values.tolist(), abs=1e-12)


def test_ties_order_effect_and_covariance_agree_with_a_log_linear_model():
    first, second, shares = draw()
    pairs, cell = np.unique(np.stack([first, second], axis=1), axis=0, return_inverse=True)
    counts, design = [], []
    for at, (one, other) in enumerate(pairs):
        for place, outcome in enumerate((1, 0, 0.5)):
            row = np.zeros(7)
            row[one] += (1, 0, 0.5)[place]
            row[other] += (0, 1, 0.5)[place]
            row[5:] = outcome == 0.5, outcome == 1
            counts.append(((cell.reshape(-1) == at) & (shares == outcome)).sum())
            design.append([*row[1:], *np.eye(len(pairs))[at]])
    reference = sm.GLM(np.array(counts), np.array(design), family=sm.families.Poisson()).fit(tol=1e-14)
    found = estimate_strengths(first, second, shares)
    assert (found.values - found.values[0])[1:] == pytest.approx(reference.params[:4], abs=1e-8)
    assert [found.ties.value, found.order.value] == pytest.approx(reference.params[4:6], abs=1e-8)
    spread = found.covariance - found.covariance[:1] - found.covariance[:, :1] + found.covariance[0, 0]
    assert spread[1:, 1:] == pytest.approx(reference.cov_params()[:4, :4], abs=1e-10)


def test_verdicts_that_are_counted_twice_tell_no_more_where_they_are_of_one_cluster():
    first, second, shares = draw(500)
    one = estimate_strengths(first, second, shares, clusters=np.arange(500))
    twice = estimate_strengths(*(np.repeat(each, 2) for each in (first, second, shares)), clusters=np.arange(1000) // 2)
    plain = estimate_strengths(first, second, shares)
    assert twice.values == pytest.approx(one.values, abs=1e-9)
    assert twice.covariance == pytest.approx(one.covariance, abs=1e-12)
    assert np.diag(one.covariance) == pytest.approx(np.diag(plain.covariance), rel=0.2)


def test_the_covariance_of_few_clusters_agrees_with_a_logit_model():
    first, second, shares = read_games()
    clusters = first + second  # 11 of them
    design = np.zeros((len(first), 7))
    design[np.arange(len(first)), first] += 1
    design[np.arange(len(first)), second] -= 1
    settings = {"groups": clusters, "use_correction": False}
    reference = sm.Logit(shares, design[:, 1:]).fit(disp=0, tol=1e-12, cov_type="cluster", cov_kwds=settings)
    found = estimate_strengths(first, second, shares, Effects(order=False), clusters=clusters - 1)
    spread = found.covariance - found.covariance[:1] - found.covariance[:, :1] + found.covariance[0, 0]
    assert len(set(clusters)) == 11
    # statsmodels's other correction divides by the rows less the parameters, too, as for least squares
    assert spread[1:, 1:] == pytest.approx(reference.cov_params() * 11 / 10, abs=1e-10)


def test_intervals_hold_the_true_strengths_by_simulation():
    random, held = np.random.default_rng(2), 0
    true = np.array([-0.5, 0.0, 0.5])
    for _ in range(150):
        first = random.integers(3, size=300)
        second = (first + random.integers(1, 3, size=300)) % 3
        chance = 1 / (1 + np.exp(true[second] - true[first] - 0.3))
        found = estimate_strengths(first, second, (random.random(300) < chance).astype(float))
        held += sum(each.low <= value <= each.high for each, value in zip(found.intervals(), true, strict=True))
    assert 0.92 < held / 450 < 0.98


def test_an_order_that_never_varies_is_no_order_effect():
    found = estimate_strengths(np.array([0, 0, 0]), np.array([1, 1, 1]), np.array([1, 0, 1.0]))
    assert found.order is None
    assert found.values == pytest.approx([np.log(2) / 2, -np.log(2) / 2])


@pytest.mark.parametrize(
    ("verdicts", "unbeaten"),
    [
        ([(0, 1, 1), (1, 2, 1)], [0]),
        ([(0, 1, 0.5), (1, 2, 1)], [0, 1]),
        ([(0, 1, 1), (1, 0, 1), (2, 3, 0.5)], [0, 1]),  # two pairs that no verdict connects
        ([(0, 1, 1), (1, 2, 1), (2, 0, 1)], []),
    ],
)
def test_systems_that_never_lost_are_named(verdicts, unbeaten):
    first, second, shares = np.array(verdicts).T
    assert find_unbeaten(first.astype(int), second.astype(int), shares) == unbeaten


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([0, 0.5, 1])), min_size=1))
def test_systems_without_finite_strengths_are_strong_components_that_nobody_beats(verdicts):
    first, second, shares = np.array(verdicts).T
    first, second = first.astype(int), second.astype(int)
    systems = 1 + max(first.max(), second.max())
    winners = np.concatenate([first[shares > 0], second[shares < 1]])
    losers = np.concatenate([second[shares > 0], first[shares < 1]])
    graph = coo_array((np.ones(len(winners)), (winners, losers)), (systems, systems))
    number, component = connected_components(graph, connection="strong")
    unbeaten = find_unbeaten(first, second, shares)
    assert (unbeaten == []) == (number == 1)
    if unbeaten:
        assert len(set(component[unbeaten])) == 1
        assert np.isin(np.flatnonzero(component == component[unbeaten[0]]), unbeaten).all()
        assert np.isin(winners[np.isin(losers, unbeaten)], unbeaten).all()


def test_a_first_place_that_always_wins_has_no_estimate():
    with pytest.raises(DataError, match="no finite strengths"):
        estimate_strengths(np.array([0, 1]), np.array([1, 0]), np.array([1.0, 1.0]))
