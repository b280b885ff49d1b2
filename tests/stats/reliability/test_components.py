"""Components of variance equal lme4's published estimates and the analysis of variance; intervals with them cover."""

from __future__ import annotations

import numpy as np
import pytest

from karat.core.errors import DataError
from karat.stats.reliability.components import find_components
from karat.stats.reliability.instrument import measure_instrument

PENICILLIN = """
    958553 958553 737662 857552 748452 647541 625341 848663 636442 636541 858663 748662 868674 858552
    857664 747552 736552 746551 635331 858663 736440 747442 636461 636430
"""
"""Diameters less 18 mm on 24 plates (rows) by six samples: O. Davies and P. Goldsmith (1972), as in R's lme4."""

DYESTUFF = [
    [1545, 1440, 1440, 1520, 1580], [1540, 1555, 1490, 1560, 1495], [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545], [1595, 1630, 1515, 1635, 1625], [1520, 1455, 1450, 1480, 1445],
]  # fmt: skip
"""Yields of six batches (rows): the same book, as in R's lme4."""

SHAPES = {
    "row": (1, 0, 0, 0), "prompt": (0, 1, 0, 0), "judge": (0, 0, 1, 0), "prompt × judge": (0, 1, 1, 0),
    "row × prompt": (1, 1, 0, 0), "row × judge": (1, 0, 1, 0), "row × prompt × judge": (1, 1, 1, 0),
    "repeat": (1, 1, 1, 1),
}  # fmt: skip


def crossed(random, sizes, variances):
    """Scores of shape (rows, prompts · judges · repeats), with the levels of their columns."""
    _, prompts, judges, repeats = sizes
    shapes = {
        name: [size if used else 1 for size, used in zip(sizes, each, strict=True)] for name, each in SHAPES.items()
    }
    scores = sum(random.normal(0, variances.get(name, 0.0) ** 0.5, shape) for name, shape in shapes.items())
    levels = {
        "prompt": np.repeat(np.arange(prompts), judges * repeats),
        "judge": np.tile(np.repeat(np.arange(judges), repeats), prompts),
    }
    return (scores + np.zeros(sizes)).reshape(sizes[0], -1), levels


def test_crossed_data_give_the_estimates_that_lme4_publishes():
    scores = np.array([[float(each) for each in row] for row in PENICILLIN.split()])
    found = find_components(scores, {"sample": np.arange(6)})
    published = {"row": 0.716908, "sample": 3.730918, "repeat": 0.302415}  # lmer(diameter ~ (1|plate) + (1|sample))
    assert found.variances == pytest.approx(published, abs=1e-6)
    assert not found.repeated


def test_repetitions_alone_give_the_estimates_that_lme4_publishes():
    found = find_components(np.array(DYESTUFF, float), {"prompt": np.zeros(5, int)})
    assert found.variances == pytest.approx({"row": 1764.05, "repeat": 2451.25}, abs=1e-6)
    assert found.repeats == 5


@pytest.mark.parametrize("repeats", [1, 3])
def test_balanced_designs_are_the_analysis_of_variance(repeats):
    """The mean squares of statsmodels, solved for the components by their expectations (Brennan 2001, chapter 3)."""
    pd, formula = pytest.importorskip("pandas"), pytest.importorskip("statsmodels.formula.api")
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    sizes = rows, prompts, judges, _ = 12, 4, 3, repeats
    scores, levels = crossed(np.random.default_rng(2), sizes, dict.fromkeys(SHAPES, 0.5))
    at = np.indices(sizes).reshape(4, -1)
    frame = pd.DataFrame({"y": scores.ravel(), "r": at[0], "p": at[1], "j": at[2]})
    terms = "C(r) * C(p) * C(j)" if repeats > 1 else "(C(r) + C(p) + C(j)) ** 2"
    table = anova_lm(formula.ols(f"y ~ {terms}", frame).fit())
    square = {name.replace("C(", "").replace(")", ""): each for name, each in table["mean_sq"].items()}
    error = square["Residual"]
    square.setdefault("r:p:j", error)
    expected = {
        "row": (square["r"] - square["r:p"] - square["r:j"] + square["r:p:j"]) / (prompts * judges * repeats),
        "prompt": (square["p"] - square["r:p"] - square["p:j"] + square["r:p:j"]) / (rows * judges * repeats),
        "judge": (square["j"] - square["r:j"] - square["p:j"] + square["r:p:j"]) / (rows * prompts * repeats),
        "prompt × judge": (square["p:j"] - square["r:p:j"]) / (rows * repeats),
        "row × prompt": (square["r:p"] - square["r:p:j"]) / (judges * repeats),
        "row × judge": (square["r:j"] - square["r:p:j"]) / (prompts * repeats),
        "repeat": error,
    }
    if repeats > 1:
        expected["row × prompt × judge"] = (square["r:p:j"] - error) / repeats
    found = find_components(scores, levels)
    assert found.variances == pytest.approx({name: max(0, each) for name, each in expected.items()}, abs=1e-9)
    assert set(found.negative) == {name for name, each in expected.items() if each < 0}


def test_unbalanced_designs_are_unbiased():
    """Three verdicts with the first prompt and one with each of the others, a tenth of them missing."""
    random, variances = np.random.default_rng(4), {"row": 1.0, "prompt": 0.3, "row × prompt": 0.5, "repeat": 0.8}
    levels, sums = {"prompt": np.array([0, 0, 0, 1, 2, 3])}, dict.fromkeys(variances, 0.0)
    for _ in range(300):
        every, _ = crossed(random, (60, 4, 1, 3), variances)
        scores = every[:, [0, 1, 2, 3, 6, 9]]
        scores[random.random(scores.shape) < 0.1] = np.nan
        found = find_components(scores, levels)
        assert found.asked == (3, 1, 1, 1)
        for name, each in found.variances.items():
            sums[name] += each / 300
    assert sums == pytest.approx(variances, rel=0.1)


def test_order_and_an_empty_column_or_row_change_nothing():
    scores, levels = crossed(np.random.default_rng(5), (30, 3, 2, 2), dict.fromkeys(SHAPES, 0.5))
    found = find_components(scores, levels)
    order = np.random.default_rng(6).permutation(scores.shape[1])
    turned = find_components(scores[::-1, order], {name: each[order] for name, each in levels.items()})
    assert turned.variances == pytest.approx(found.variances)
    wider = np.full((31, scores.shape[1] + 1), np.nan)
    wider[:-1, :-1] = scores
    more = {name: np.append(each, 9) for name, each in levels.items()}
    assert find_components(wider, more) == found


def test_what_is_not_known():
    for scores in (np.zeros((1, 3)), np.zeros((3, 1)), np.full((3, 3), np.nan)):
        with pytest.raises(DataError, match="two rows with two verdicts"):
            find_components(scores, {"prompt": np.arange(scores.shape[1])})
    never_both = np.array([[1.0, np.nan], [0.0, np.nan], [np.nan, 1.0], [np.nan, 0.0]])
    with pytest.raises(DataError, match="share only row"):
        find_components(never_both, {"prompt": np.arange(2)})


def test_without_an_effect_of_prompts_the_interval_is_the_one_over_rows():
    scores = np.repeat((np.arange(40) < 28).astype(float)[:, None], 3, axis=1)
    found = measure_instrument(scores, {"prompt": np.arange(3)})
    assert found.value == found.rows_alone
    assert found.share == 0


@pytest.mark.parametrize(("prompt", "naive"), [(0.0, (0.92, 0.98)), (0.06, (0.5, 0.85))])
def test_intervals_hold_the_mean_of_all_prompts(prompt, naive):
    """Verdicts of 0 and 1 on 200 rows with five prompts, which move the score of every row."""
    random, held = np.random.default_rng(7), np.zeros(2)
    for _ in range(250):
        chances = 0.6 + random.normal(0, prompt, 5) + random.uniform(-0.25, 0.25, (200, 1))
        scores = (random.random((200, 5)) < chances).astype(float)
        found = measure_instrument(scores, {"prompt": np.arange(5)})
        held += [each.low <= 0.6 <= each.high for each in (found.value, found.rows_alone)]
    assert 0.92 <= held[0] / 250 <= 0.99
    assert naive[0] <= held[1] / 250 <= naive[1]
