"""Judges of statements: karat numbers the sentences, and a row is scored only where each number has its verdict."""

import json
import re

import pytest

import karat
from karat.errors import SpecError
from karat.judges import Judge
from karat.judges.replies.forms import Statements
from karat.judges.replies.sentences import split_sentences
from karat.judges.rubric import load, own_judges, parse
from karat.models.testing.fake import FakeModel

FIVE = "Rain falls. Snow melts. Wind blows. Ice holds. Fog lifts."
SPLIT = {name: load(name).form for name in own_judges() if isinstance(load(name).form, Statements)}
ROW = {"question": "Is it so? And why?", "prediction": FIVE, "reference": [FIVE], "contexts": [FIVE, "Sun shines."]}


def numbers(messages):
    given = json.loads(
        next(m["content"] for m in reversed(messages) if "<data" in m["content"]).split("\n", 1)[1].rpartition("\n")[0]
    )
    found = []

    def walk(value):
        if isinstance(value, dict) and "number" in value:
            found.append(value["number"])
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(each)

    walk(given)
    return found


def item(verdict):
    return {"statement": "s", "reason": "r", "verdict": verdict}


def score(name, answer, governor, **row):
    model = FakeModel(answer)
    result = karat.score([{**ROW, **row}], Judge(name, model=model, governor=governor))
    (cell,) = result.table[result.metrics[0].spec].to_pylist()
    return cell, result.table["reason"][0].as_py(), model.requests


@pytest.mark.parametrize("name", SPLIT)
def test_every_number_has_a_verdict_or_the_row_is_asked_again_and_unscored(name, governor):
    best = max(SPLIT[name].verdicts, key=SPLIT[name].verdicts.get)
    cell, reason, requests = score(name, lambda messages: {str(n): [item(best)] for n in numbers(messages)}, governor)
    assert (cell, reason, len(requests)) == (1, None, 1)
    count = len(numbers(requests[0].messages))
    assert count == {"prediction": 5, "reference": 5, "contexts": 6, "question": 2}[SPLIT[name].split]
    assert requests[0].schema["required"] == [str(n) for n in range(1, count + 1)]
    for lacking in (
        {"1": [item(best)]},
        {str(n): [item(best)] for n in range(1, count)},
        {str(n): [item(best)] for n in range(1, count + 2)},
        {str(n): [item(best)] * (n != 2) for n in range(1, count + 1)},
        {"statements": [item(best)]},
        [item(best)],
    ):
        cell, reason, requests = score(name, lambda _, said=lacking: json.dumps(said), governor)
        assert (cell, len(requests)) == (None, 2), lacking
        assert re.search(r"no key '\d'|has the key '\d'|no verdict on number 2|an object is expected", reason), reason


def test_a_verdict_that_is_missing_is_asked_for_again(governor):
    def answer(messages):
        asked = numbers(messages)
        return {
            str(n): [item("supported")] for n in (asked if "cannot be read" in messages[-1]["content"] else asked[:1])
        }

    cell, reason, requests = score("faithfulness", answer, governor)
    assert (cell, reason, len(requests)) == (1, None, 2)
    assert "has no key '2'" in requests[1].messages[-1]["content"]


def test_the_score_is_the_mean_of_all_statements_without_the_sentences_that_claim_nothing(governor):
    said = {"1": [item("supported"), item("unsupported")], "2": [item("no_claim")], "3": [item("supported")]}
    said |= {"4": [item("unsupported")], "5": [item("no_claim")]}
    assert score("faithfulness", said, governor)[0] == 0.5
    assert score("faithfulness", {str(n): [item("no_claim")] for n in range(1, 6)}, governor)[:2] == (
        None,
        "no sentence of prediction has anything to judge",
    )


def test_a_text_without_a_sentence_is_not_asked_about(governor):
    for empty in ("", " \n", "..."):
        cell, reason, requests = score("faithfulness", {}, governor, prediction=empty)
        assert (cell, reason, requests) == (None, "no sentence of prediction has anything to judge", [])


def test_of_references_that_are_alternatives_the_best_counts(governor):
    said = {"1": [item("missing")], "2": [item("covered")], "3": [item("covered")], "4": [item("missing")]}
    found = score("completeness", said, governor, reference=["One.", "One. Two.", "Three."])
    assert found[0] == 1
    assert score("completeness", said, governor, reference=["One. Two.", "Three. Four."])[0] == 0.5


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "reply.split is missing"),
        ('split = "tools"', "an input of texts is expected"),
        ('split = "gone"', "an input of texts is expected"),
        ('split = "prediction"\nuncounted = "a"', "has no score"),
    ],
)
def test_a_judge_of_statements_says_what_it_splits(line, problem):
    text = 'name="x"\nsummary="y"\nsource="z"\ninputs={ prediction = "text", tools = "json" }\n[prompt]\ntask="t"\n'
    with pytest.raises(SpecError, match=problem):
        parse(f'{text}[reply]\nkind="statements"\nverdicts={{ a = 1, b = 0 }}\n{line}\n'.encode(), "x.toml")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (FIVE, ["Rain falls.", "Snow melts.", "Wind blows.", "Ice holds.", "Fog lifts."]),
        ('Dr. Wu, e.g., paid $3.50. Why?! "So," he said.', ["Dr. Wu, e.g., paid $3.50.", "Why?!", '"So," he said.']),
        ("1. First. 2. Second.", ["1. First.", "2. Second."]),
        ("- one\n- two\n\n---", ["- one", "- two ---"]),
        ("Is it? (a) Yes. (b) No.", ["Is it?", "(a) Yes.", "(b) No."]),
        ("雨が降る。「晴れる。」", ["雨が降る。", "「晴れる。」"]),
        ("J. K. Rowling wrote it", ["J. K. Rowling wrote it"]),
        ("42.", ["42."]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text, sentences):
    assert split_sentences(text) == sentences


def test_no_letter_of_a_text_is_lost_between_its_sentences():
    for text in (FIVE, "A.B. C! d? 1. 2. x\n\n(y) … z", "1. 1. 1.", "...a", "a" * 99 + ". B"):
        assert "".join("".join(split_sentences(text)).split()) in (
            "".join(text.split()),
            "".join(text.split()).lstrip("."),
        )
