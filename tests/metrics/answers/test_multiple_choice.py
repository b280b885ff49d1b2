"""Choices are read from free text, and never guessed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.columns.kinds import to_arrow
from karat.core.metric.score import score_rows
from karat.metrics import choice_match, choices_f1
from karat.text.answers.choices import plain_options, read_choice, read_choices

CITIES = ["Paris", "Lyon", "Nice", "Vitamin C"]
OPTIONS = plain_options(CITIES)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        *(
            (text, "B")
            for text in ("B", "b", "(b)", "B.", "b)", "**B**", "$B$", "[B]", "- B", "Ｂ", "（B）", "lyon", "Lyon.")
        ),
        *((text, "C") for text in ("3", "(3)", "3.", "option 3", "Option C", "Answer: C", "answer:c", "ANSWER: C")),
        ("The answer is B", "B"),
        ("A good answer is B", "B"),
        ("I think the answer is B", "B"),
        ("The answer is (B) Lyon.", "B"),
        ("the answer is b.", "B"),
        ("The correct option is (C).", "C"),
        ("Based on the text, the answer is C because of it.", "C"),
        ("The answer is B\n\nThe answer is C", "C"),
        ("A. Paris\nB. Lyon\nC. Nice\nThe answer is B", "B"),
        ("(A) is tempting, but I'd go with (C).", "C"),
        (r"So it is \boxed{C}", "C"),
        (r"$\boxed{\text{(C)}}$", "C"),
        ("Final answer: **D**", "D"),
        ("答案是B", "B"),
        ("答案：（C）", "C"),
        ("A is correct", "A"),
        ("I choose A", "A"),
        ("The answer is Paris.", "A"),
        ("The answer is: Lyon. It is in France.", "B"),
        ("The answer is 2.", "B"),
        ("Vitamin C", "D"),
        ("D. Vitamin C", "D"),
        ("The answer is not B but C", "C"),
        ("Not B, but C.", "C"),
        ("B is incorrect, so C is correct", "C"),
        ("Option A is wrong. Option B is right.", "B"),
        ("neither A nor B, so C", "C"),
        ("The answer is B, not C", "B"),
        ("(B), not (C)", "B"),
        ("A can't be right, therefore B.", "B"),
        ("Option A: it is cold. Option B: it is warm. So B.", "B"),
        ("The answer is B, so x = 3.", "B"),
        ("**Answer**: B", "B"),
        ("**Answer:** (B)", "B"),
        ("Correct answer - B", "B"),
        ("A is tempting. <answer>B</answer>\nA fine day!", "B"),
        ('{"reason": "A is far away", "answer": "B"}', "B"),
        ("The answer is: option B: Lyon", "B"),
    ],
)
def test_a_choice_is_read(text, letter):
    assert read_choice(text, OPTIONS) == "ABCD".index(letter)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Based on this",
        "INCORRECT",
        "It is true",
        "The answer is a city in France",
        "I choose a different approach",
        "The answer is not B",
        "I don't think the answer is B",
        "B is wrong",
        "B isn't right",
        "A or B",
        "It is between A and B",
        "The answer is A or B",
        "A. Paris\nB. Lyon",
        "B. Paris",
        "The answer is 2.5",
        "Answer: B-52",
        "F",
        "The answer is F",
        "9",
        "none of the above",
        "so B is wrong",
        "B cannot be right",
        "The answer is -2",
        "so a good one is hard to find",
    ],
)
def test_a_text_that_chooses_no_option_is_not_guessed(text):
    assert isinstance(read_choice(text, OPTIONS), str)


@pytest.mark.parametrize("count_from", [0, 1])
def test_two_numbers_never_mean_one_option(count_from):
    """3 and 4 of four options were the same option in DataFlow."""
    found = [read_choice(str(number), plain_options("wxyz"), count_from=count_from) for number in range(5)]
    indices = [index for index in found if isinstance(index, int)]
    assert indices == [0, 1, 2, 3]
    assert found.index(0) == count_from


def test_an_options_own_words_come_before_its_number():
    assert read_choice("3", plain_options(["3", "4", "5"])) == 0
    assert read_choice("The answer is 4.", plain_options(["3", "4", "5"])) == 1


def test_a_reference_may_be_an_index_though_options_read_like_numbers():
    columns = (["C", "2"], [2, 0], [["2", "9", "11"]] * 2)
    assert choice_match(*columns, count_from=0, reference_is="index").to_pylist() == [1.0, 1.0]


@pytest.mark.parametrize("reference", ["B", "b", "2", "Lyon", "(B)"])
def test_a_reference_is_letter_number_or_words(reference):
    assert choice_match(["I pick B.", "I pick C."], [reference] * 2, [CITIES] * 2).to_pylist() == [1.0, 0.0]


def test_any_of_several_references_will_do():
    assert choice_match(["B", "B"], [["A", "B"], ["A", "C"]], [CITIES] * 2).to_pylist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("prediction", "reference", "choices", "reason"),
    [
        ("A or B", "A", CITIES, "A and B are both named"),
        ("who knows", "A", CITIES, "no option is named"),
        ("A", "Rome", CITIES, "reference 'Rome' is none of 4 options"),
        ("A", "A", [], "choices is an empty list"),
        ("The answer is F.", "A", CITIES, "'F' is none of 4 options"),
        ("twice", "A", ["twice", "twice"], "no option is named"),
    ],
)
def test_an_unscored_row_says_why(prediction, reference, choices, reason):
    columns = {"prediction": [prediction], "reference": [reference], "choices": [choices]}
    rows = score_rows(choice_match, {role: to_arrow(column, role) for role, column in columns.items()})
    assert rows.reasons.tolist() == [reason]


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("A, C", "AC"),
        ("ACD", "ACD"),
        ("A and C", "AC"),
        ("[A, C]", "AC"),
        ('["A", "lyon"]', "AB"),
        ("[1, 3]", "AC"),
        ("The correct answers are A, B and C.", "ABC"),
        ("Paris; Nice", "AC"),
        ("A\nC", "AC"),
        ("(A), (B)", "AB"),
        ("Vitamin C", "D"),
        ("", ""),
    ],
)
def test_several_choices_are_read(text, letters):
    assert read_choices([text], OPTIONS) == {"ABCD".index(letter) for letter in letters}


@pytest.mark.parametrize("text", ["A, Rome", "AA", "AZ", "A or B", "[0, 1]", "[" * 100_000])
def test_what_is_no_option_is_not_dropped(text):
    assert isinstance(read_choices([text], OPTIONS), str)


@pytest.mark.parametrize(
    ("score", "value"), [("f1", 0.8), ("precision", 2 / 3), ("recall", 1.0), ("jaccard", 2 / 3), ("exact", 0.0)]
)
def test_sets_are_scored_by_their_common_options(score, value):
    assert choices_f1(["A, B, D"], ["A, D"], [CITIES], score=score).to_pylist() == pytest.approx([value])


@pytest.mark.parametrize("score", ["f1", "precision", "recall", "jaccard", "exact"])
def test_two_empty_sets_are_equal_and_one_empty_set_scores_0(score):
    columns = ([[], [], ["A"]], [[], ["A"], []], [CITIES] * 3)
    assert choices_f1(*columns, score=score).to_pylist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["unified_bench_eval_type4", "unified_bench_eval_type5"])
def test_dataflows_examples_read_with_indices_from_0(name, real_data):
    file = real_data("dataflow_bench_examples") / f"{name}.jsonl"
    for row in map(json.loads, file.read_text("utf-8").splitlines()):
        labels = row.get("labels", [row.get("label")])
        predicted = [", ".join("ABCDEFGH"[label] for label in labels)]
        metric = choices_f1 if "labels" in row else choice_match
        expected = [labels] if "labels" in row else labels
        assert metric(predicted, expected, [row["choices"]], count_from=0, reference_is="index").to_pylist() == [1.0], (
            row
        )


WORDS = [
    "A",
    "B",
    "I",
    "a",
    "the answer is",
    "so",
    "not",
    "(",
    ")",
    "**",
    ":",
    "answer",
    "is",
    "correct",
    "wrong",
    "2",
    "3.",
]
ODD = [r"\boxed{", "and", ",", "\n", "选", "答案是", "Ｂ", "-", "Paris", "\ufffd", "İ", "ı", "ſ", "ß", "²", "٣"]


@given(st.lists(st.sampled_from([*WORDS, *ODD]) | st.text(max_size=3), max_size=20).map(" ".join))
def test_every_text_gives_an_existing_option_or_a_reason(text):
    choice, choices = read_choice(text, OPTIONS[:3]), read_choices([text], OPTIONS[:3])
    assert isinstance(choice, str) or choice in {0, 1, 2}
    assert isinstance(choices, str) or choices <= {0, 1, 2}
    assert isinstance(read_choice(text, []), str)


@pytest.mark.parametrize("unit", [" ", "(", "answer is ", "A ", "not ", "the ", r"\text{", "[ ", " is:", "\n", "*"])
def test_a_hostile_text_ends(unit):
    text = f"answer is {unit * 20_000} x"
    assert isinstance(read_choice(text, OPTIONS), int | str)
    assert isinstance(read_choices([text], OPTIONS), set | str)
