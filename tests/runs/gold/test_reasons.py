"""Each reason against the gold of a row, by an example."""

import pytest

from karat.runs.gold.answers import find_agreement
from karat.runs.gold.reasons import find_reasons
from karat.runs.gold.rows import GoldRow, SystemAnswer


def row(gold, *answers, hits=(), question=None, contexts=None, accepted=(), at="1"):
    answered = tuple(
        SystemAnswer(f"s{n}", text, float(n in hits), n in hits, n in accepted or None)
        for n, text in enumerate(answers)
    )
    return GoldRow(at, question, gold if isinstance(gold, tuple) else (gold,), contexts, answered)


def reasons(*rows):
    found = find_reasons(rows, [find_agreement(each) for each in rows], [0.01] * len(rows))
    return [{each.reason: each for each in found(at)} for at in range(len(rows))]


def test_systems_agree_against_the_gold():
    found = reasons(row("Bern", "Oslo", "Oslo", "Bern", hits=[2]))[0]["agreement"]
    assert found.says == "2 of 3 systems agree on “Oslo”, 1 on the gold"
    assert found.numbers == {"systems": 2, "of": 3, "gold": 1, "p": 0.01}
    apart = reasons(row("Bern", "Oslo", "Rome"), row("Bern", "Oslo"))
    assert apart[0]["agreement"].says == "none of 2 systems has the gold, and no two agree"
    assert apart[1] == {}
    near = reasons(row("sharecropping", "sharecroppers", "sharecroppers"))[0]["agreement"]
    assert near.says == "2 of 2 systems agree on “sharecroppers”, which resembles the gold (it is spelled alike)"


def test_a_judge_accepts_what_the_metric_does_not():
    found = reasons(row("Bern", "Oslo", "Rome", accepted=[1]))[0]
    assert found["judge"].says == "the judge accepts 1 answer that the metric does not: “Rome”"


def test_strong_systems_miss_what_a_weak_one_gets():
    usual = [row("Bern", "Bern", "Bern", "Bern", "Oslo", hits=[0, 1, 2]) for _ in range(40)]
    found = reasons(*usual, row("Rome", "Paris", "Paris", "Paris", "Rome", hits=[3]))
    assert found[0].keys() == set()
    assert found[-1]["strength"].says == "weak systems have the gold (s3), and strong ones miss it"
    assert found[-1]["strength"].numbers["deviations"] > 2.5


def test_answers_mean_the_gold_and_the_metric_does_not_see_it():
    found = reasons(row("4 March 1961", "1961-03-04", "March 4, 1961"))[0]
    expected = "2 answers may mean the gold, and the metric does not see it: of “1961-03-04”, it is the same date"
    assert found["spelling"].says == expected
    assert found["form"].says == "all answers spell the date otherwise than the gold, “4 March 1961”"


def test_the_same_question_with_other_gold():
    first, other = row("Bern", question="The capital?"), row("Oslo", question="the capital", at="9")
    found = reasons(first, other, row("Rome", question="Another?"))
    assert found[0]["question"].says == "row 9 has the same question, and the gold “Oslo”"
    assert found[1]["question"].says == "row 1 has the same question, and the gold “Bern”"
    assert found[2] == {}
    for same in ("Bern", "the city of Bern", " "):
        assert reasons(first, row(same, question="the capital")) == [{}, {}]
    passage = row("Oslo", question="the capital", contexts=("Oslo is.",))
    assert reasons(passage, row("Bern", question="the capital", contexts=("Bern is.",))) == [{}, {}]


def test_no_passage_has_the_gold():
    found = reasons(row("Bern", "Oslo", "Oslo", contexts=("It is Oslo.", "Rome is old.")))[0]
    assert found["contexts"].says == "no passage has the gold in it, and one has “Oslo”"
    assert "contexts" not in reasons(row("Bern", "Oslo", contexts=("Bern it is.",)))[0]


@pytest.mark.parametrize(
    ("gold", "says"),
    [
        ("<b>Bern</b> it is", "the gold has markup in it, which answers have not"),
        ("red, white, blue and green", "the gold is a list of 4 in one text"),
        ("he went to the sea because the war was over", "the gold is a text of 10 words, and answers have 1"),
    ],
)
def test_gold_as_no_answer_is_spelled(gold, says):
    assert reasons(row(gold, "Oslo", "Rome"))[0]["form"].says == says
    assert "form" not in reasons(row(gold, "Oslo", "Rome", hits=[1]))[0]
