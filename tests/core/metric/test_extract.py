"""What `extract` does to both sides: a text equal to its reference is right, and each side is read as the other is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.core.metric.registry import all_metrics
from karat.core.metric.spec import parse
from karat.metrics import exact_match, label_accuracy, levenshtein, math_match, numeric_match, token_f1

MATHS = ["2x", "x + 1", "(1, 2)", r"\frac{1}{2}", "x^2+1", "sqrt(2)", "3:30", "x = 4", "5!", "25π", "10^5", r"48^\circ"]
WORDS = ["Paris", "Apollo 11", "May 5, 1990", "H2O", "7 or 11", "B) 42", "The answer is 4.", "It cost $5.", '{"a": 1}']
TEXTS_OF_ALL_KINDS = [*MATHS, *WORDS, "42", "$1,234.50", "50%", "1/2", r"\boxed{7}", r"So \boxed{x^2}, I think 3"]
NEEDED = {
    **{f"label_{name}": {"labels": TEXTS_OF_ALL_KINDS} for name in ("precision", "recall", "f")},
    "matches_regex": {"pattern": ".*"},
    "json_schema": {"schema": {}},
    "column": {"name": "x"},
    "percentile": {"name": "x"},
}
EXTRACTING = [
    metric.using(**NEEDED.get(metric.name, {}))
    for metric in all_metrics()
    if "extract" in metric.settings
    and set(metric.definition.columns) == {"prediction", "reference"}
    and not metric.definition.remote
]


@pytest.mark.parametrize("extract", ["auto", "answer_is"])
@pytest.mark.parametrize("metric", EXTRACTING, ids=lambda metric: metric.name)
def test_a_text_equal_to_its_reference_has_the_score_that_it_has_as_it_is(metric, extract):
    if metric.name == "math_match":
        pytest.importorskip("sympy")
    for references in ([[text] for text in TEXTS_OF_ALL_KINDS], [["Rome", text] for text in TEXTS_OF_ALL_KINDS]):
        plain = metric(TEXTS_OF_ALL_KINDS, references).to_pylist()
        found = metric(TEXTS_OF_ALL_KINDS, references, extract=extract).to_pylist()
        best = 1 if metric.definition.direction == "maximize" else 0
        wrong = [
            (text, *both)
            for text, *both in zip(TEXTS_OF_ALL_KINDS, plain, found, strict=True)
            if both[0] != both[1] and both[1] != best
        ]
        assert wrong == []
    assert len(EXTRACTING) > 15


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab1 2.,=x+^(){}\\$:%\n", min_size=1, max_size=12) | st.sampled_from(TEXTS_OF_ALL_KINDS))
def test_any_text_is_equal_to_itself(text):
    for how in ("auto", "answer_is") if text.strip() else ():
        assert exact_match([text.strip()], [text.strip()], extract=how).to_pylist() == [1]
        assert token_f1([text], ["other", text][1:], extract=how).to_pylist() == [1]


@pytest.mark.parametrize("how", ["after_thoughts", "auto"])
def test_thoughts_before_a_reply_do_not_count(how):
    replies = [
        "<think>Sydney? The answer is no.</think>\nCanberra",
        "It is \\boxed{no}.</think>Canberra",
        "<think>Canberra",
    ]
    assert exact_match([*replies, "Canberra"], ["Canberra"] * 4, extract=how).to_pylist() == [1, 1, None, 1]


def test_the_last_number_is_the_answer_where_a_number_is_expected():
    pytest.importorskip("sympy")
    replies = [
        "So f'(x) = 2x.",
        "It leaves 6, the result is x + 1",
        "That makes 5 apples",
        "In 1889, in Paris",
        "2 + 4 = 6",
    ]
    gold = ["2x", "x + 1", "5", "Paris", "6"]
    assert math_match(replies, gold, extract="auto").to_pylist() == [1, 1, 1, 0, 1]
    assert token_f1(replies[3:4], ["Paris"], extract="auto").to_pylist()[0] > 0
    assert exact_match(replies[2:], gold[2:], extract="auto").to_pylist() == [1, 0, 1]
    assert numeric_match(["We pay $6, so 7."], ["7 dollars"], extract="auto").to_pylist() == [1]


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [("2x", "2"), (r"\frac{1}{2}", "2"), ("(1, 2)", "2"), ("x^2+1", "1"), ("3:30", "30"), ("2", "2x")],
)
def test_a_part_of_an_expression_is_not_the_answer(reply, wrong):
    pytest.importorskip("sympy")
    assert math_match([reply], [wrong], extract="auto").to_pylist() == [0]
    assert exact_match([reply], [wrong], extract="auto").to_pylist() == [0]


@pytest.mark.parametrize(
    ("extract", "reply", "gold"),
    [
        ("boxed", r"So \boxed{4}.", r"2 + 2 = \boxed{4}"),
        ("answer_is", "The answer is Paris.", "Answer: Paris"),
        ("auto", "Paris it is. The answer is Paris.", r"\boxed{Paris}"),
        ("last_number", "It was $1,234.50", "all in all 1234.50 dollars"),
        ("letter", "I choose (B).", "The answer is B"),
        ("json:a", 'Yes: {"a": 1}'[5:], '{"a": 1, "b": 2}'),
        ("regex:#(.)", "I think #7", "see #7"),
    ],
)
def test_what_one_side_is_put_through_is_tried_on_the_other(extract, reply, gold):
    for metric in (exact_match, token_f1, label_accuracy):
        assert metric([reply], [gold], extract=extract).to_pylist() == [1], metric
        assert metric([reply, reply], [["x", gold], ["x"]], extract=extract).to_pylist() == [1, 0]
    assert levenshtein([reply], [gold], extract=extract).to_pylist() == [1]
    assert parse("wer").using(extract=extract)([reply], [gold]).to_pylist() == [0]


def test_the_references_as_they_are_still_count():
    assert exact_match(["The answer is 4."], ["4"], extract="answer_is").to_pylist() == [1]
    assert token_f1([r"\boxed{a b}"], [[r"a \boxed{c}", "a b"]], extract="boxed", across="mean").to_pylist()[0] > 0
    assert exact_match(["So 2.", "#### 3"], ["2", "#### 3"], extract="gsm8k_strict", missing="wrong").to_pylist() == [
        0,
        0,
    ]


def test_votes_are_of_the_answers_that_are_scored():
    pytest.importorskip("sympy")
    replies = [["So it is 2x.", "f'(x) = 2x", "It is 3x + 2"]]
    assert parse("majority(math_match(extract='auto'))")(replies, ["2x"]).to_pylist() == [1]


def test_counts_and_details_are_those_of_the_better_reading():
    replies, gold = [r"\boxed{a b}", r"\boxed{a}"], [r"so \boxed{a b}", "a c"]
    assert np.allclose(parse("wer").using(extract="boxed")(replies, gold).to_pylist(), [0, 0.5])
