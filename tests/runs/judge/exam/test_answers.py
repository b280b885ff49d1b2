"""Answers of known truth: the types of gold, each kind of edit, and the guard against wrong answers that are right."""

from random import Random

import pytest

from karat.core.errors import SpecError
from karat.runs.judge.exam.answers.answer import Drawn, Question
from karat.runs.judge.exam.answers.classes import CLASSES, choose_classes
from karat.runs.judge.exam.answers.gold_types import PartialDate, find_dates, find_number, find_type, list_items
from karat.runs.judge.exam.answers.guard import why_right


@pytest.mark.parametrize(
    ("gold", "question", "expected"),
    [
        ("Yes", "Is it?", "yes/no"), ("false.", None, "yes/no"),
        ("4 March 1961", None, "date"), ("March 4th, 1961", None, "date"), ("1961-03-04", None, "date"),
        ("1961", "When was it?", "date"), ("1961", "How many were there?", "number"), ("the 1980s", None, "date"),
        ("early May", None, "date"), ("5th century", None, "date"), ("September", None, "date"),
        ("44 BC", None, "date"),
        ("twelve", None, "number"), ("about 300 km", None, "number"), ("$1.5 million", None, "number"),
        ("50 %", None, "number"), ("Apollo 11", None, "other"), ("3 or 4", None, "other"),
        ("red, white and blue", None, "list"), ("a; b; c", None, "list"), ("1,234,567", None, "number"),
        ("Marie Curie", "Who found radium?", "person"), ("Ada", "Which singer was it?", "person"),
        ("Louis XIV", "Who reigned longest?", "person"), ("the committee", "Who decided?", "person"),
        ("a committee", "Who decided?", "other"), ("Bern", "Which city is the capital?", "place"),
        ("Bern, Switzerland", "Where is it?", "place"), ("Bern", None, "other"), ("copper", "What is it?", "other"),
    ],
)  # fmt: skip
def test_the_type_of_a_gold_follows_from_its_spelling_and_the_question(gold, question, expected):
    assert find_type(gold, question) == expected


def test_dates_numbers_and_lists_are_read():
    assert find_dates("from 4 March 1939 to 1945") == [PartialDate(1939, 3, 4), PartialDate(1945)]
    assert find_dates("route 1961b, 19612 and 3.1961") == []
    assert [find_number(text) for text in ("two hundred and five", "three million", "-4", "1.5 km long")] == [
        200, 3_000_000, -4, 1.5]  # fmt: skip
    assert find_number("fifteen people in the room") is None
    assert list_items("Washington, D.C.") == []
    assert list_items("tea, coffee and milk.") == ["tea", "coffee", "milk"]


@pytest.mark.parametrize(
    ("claim", "references"),
    [
        ("the Beatles", ["Beatles"]), ("Beatles", ["The Beatles (band)"]), ("Café", ["cafe"]),
        ("NYC", ["New York City"]),
        ("WHO", ["World Health Organization"]), ("four", ["4"]), ("1000", ["1,000"]), ("5 million", ["5,000,000"]),
        ("980", ["about 1,000"]), ("March 4, 1961", ["4 March 1961"]), ("1961", ["4 March 1961"]), ("1984", ["1980s"]),
        ("1942", ["1939 to 1945"]), ("Kennedy", ["John F. Kennedy"]), ("John Kennedy", ["Robert Kennedy"]),
        ("Beyonce", ["Beyoncé Knowles"]), ("Shakespear", ["Shakespeare"]), ("19th century", ["1850"]),
        ("x", ["y", "X"]), ("twenty-two", ["22"]), ("", ["a"]), ("tables", ["table"]),
    ],
)  # fmt: skip
def test_the_guard_drops_what_might_be_right(claim, references):
    assert why_right(claim, references) is not None


@pytest.mark.parametrize(
    ("claim", "reference"),
    [
        ("Carolina Panthers", "Denver Broncos"), ("1961", "1962"), ("4 March", "4 May"), ("7", "8"), ("no", "yes"),
        ("30 km", "50 km"), ("Bern", "Geneva"), ("1970s", "1984"), ("12 May 1905", "12 May 1906"), ("two", "three"),
    ],
)  # fmt: skip
def test_the_guard_keeps_what_is_wrong(claim, reference):
    assert why_right(claim, [reference]) is None


def test_a_reference_may_leave_a_range_open():
    assert why_right("sixty", ["over fifty"], edited=True) is not None
    assert why_right("forty", ["over fifty"], edited=True) is None
    assert why_right("2010", ["October 2003 – present"], edited=True) is not None
    assert why_right("the 1930s", ["the 1920s", "the 1940s"], edited=True) == "it is between two references"


def test_an_edit_may_keep_words_of_the_gold_but_not_become_another_reference():
    assert why_right("Carolina Broncos", ["Denver Broncos"], edited=True) is None
    assert why_right("Carolina Broncos", ["Denver Broncos", "the Broncos"], edited=True) == "it contains a reference"
    assert why_right("tea and milk", ["tea, coffee and milk"], edited=True) is None
    assert why_right("milk and tea", ["tea, coffee and milk", "tea and milk"], edited=True) is not None


OTHERS = {
    "Who?": ["Ada Byron", "Grace Hopper", "Alan Turing"],
    "How many?": ["90 km", "17"],
    "When?": ["July 1720", "1888"],
    "What?": ["iron, tin and lead", "wood"],
    "Where?": ["Lake Como"],
}


def make(name, gold, question="What is it?", references=(), rng=1):
    """All candidates of a class, as texts."""
    asked = Question(question, (gold, *references))
    others = [Question(f"{text} {at}", (each,)) for text, golds in OTHERS.items() for at, each in enumerate(golds)]
    alike = [each for each in others if each.type == asked.type]
    return [each.text for each in CLASSES[name].make(Drawn(asked, alike, others), Random(rng))]  # noqa: S311


@pytest.mark.parametrize(
    ("gold", "question", "expected"),
    [
        ("4 March 1961", "When?", {"March 4, 1961", "1961-03-04"}), ("12", "How many?", {"twelve"}),
        ("four", "How many?", {"4"}), ("1,250 people", "How many?", {"1250 people"}),
        ("20000", "How many?", {"20,000"}),
        ("12 km", "How far?", {"12 kilometres"}), ("a, b and c", "What?", {"c, b and a"}),
        ("a, b and c", "In what order?", {"a, b and c."}), ("UK", "Where?", {"U.K.", "United Kingdom", "Great Britain",
        "the United Kingdom"}), ("the Red Cross", "Who?", {"Red Cross"}), ("copper", "What?", {"copper."}),
        ("Ada Byron", "Who?", {"ada byron", "Ada Byron."}),
    ],
)  # fmt: skip
def test_harmless_changes_keep_the_meaning(gold, question, expected):
    found = {text for rng in range(20) for text in make("harmless change", gold, question, rng=rng)}
    assert found
    assert found <= expected


@pytest.mark.parametrize("rng", range(8))
def test_wrong_answers_are_of_the_kind_that_they_are_named_after(rng):
    assert set(make("other gold", "Mary Shelley", "Who?", rng=rng)) == set(OTHERS["Who?"])
    assert all(find_number(each) not in {300, None} for each in make("changed number", "300 km", "How far?", rng=rng))
    assert all(each.endswith(" people") for each in make("changed number", "three people", "How many?", rng=rng))
    assert all(find_type(each) == "date" for each in make("changed date", "4 March 1961", "When?", rng=rng))
    assert "4 March 1961" not in make("changed date", "4 March 1961", "When?", rng=rng)
    assert make("changed unit", "12 km", "How far?", rng=rng) == ["12 miles"]
    assert make("changed name", "Mary Shelley", "Who?", rng=rng) == ["Ada Shelley", "Grace Shelley", "Alan Shelley"]
    assert make("negation", "yes", "Is it?", rng=rng) == ["No"]
    assert "not" in make("negation", "Bern", rng=rng)[0] or "wrong" in make("negation", "Bern", rng=rng)[0]
    three = {len(list_items(each)) or 2 for each in make("wrong list", "tea, coffee and milk", "Which three?", rng=rng)}
    assert three == {2, 4}
    assert [len(list_items(each)) for each in make("wrong list", "tea, coffee and milk", rng=rng)] == [4]
    assert all("Mary Shelley" in each for each in make("hedge", "Mary Shelley", "Who?", rng=rng))
    assert make("empty", "Bern") == [""]
    assert len(make("length", "Mary Shelley", "Who?")[0].split()) > 180


def test_a_class_makes_nothing_where_it_does_not_apply():
    assert make("changed number", "Bern") == make("changed date", "Bern") == make("changed unit", "Bern") == []
    assert make("wrong list", "Bern") == make("changed name", "Bern") == make("other reference", "Bern") == []
    assert make("refusal", "unknown") == make("empty", "no answer") == make("off the point", "None.") == []
    assert make("negation", "Bern", "Which is not a country?") == []
    assert make("wrong list", "drinks such as tea, coffee and milk") == []
    assert make("changed number", "ten to fifteen") == make("changed number", "One in five") == []
    assert make("changed date", "5th century") == []


def test_a_class_that_does_not_exist_gets_the_nearest_name():
    with pytest.raises(SpecError, match="no class 'hedges' of exam answers; did you mean 'hedge'"):
        choose_classes(["hedges"])
