"""`karat.gold`: planted errors come first, and rows are reported only where that is supported."""

import json
import random

import pytest

import karat
from karat.errors import DataError, JoinError, SpecError


def simulate(n=400, systems=5, planted=20, seed=0, lacking=None):
    """Rows with gold, of which the first `planted` are wrong, and what systems of different strength answer.

    A wrong answer is one of eight that suggest themselves. Answers have nothing in common: they are random letters.
    A passage has the right answer, but not in the share `lacking` of the rows; None: there are no passages.
    """
    draw = random.Random(seed)  # noqa: S311
    word = lambda: "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=8))  # noqa: E731
    right, answers = [word() for _ in range(n)], [[] for _ in range(systems)]
    for row in right:
        hard, others = draw.random(), [word() for _ in range(8)]
        for at, own in enumerate(answers):
            own.append(row if draw.random() > hard * (0.5 + 0.1 * at) else draw.choice(others))
    gold = [word() if at < planted else each for at, each in enumerate(right)]
    rows = {"id": range(n), "gold": gold}
    if lacking is not None:
        rows["contexts"] = [[f"it is {word() if draw.random() < lacking else each} there"] for each in right]
    return [karat.score({**rows, "prediction": own}, "em", keep=True) for own in answers]


@pytest.fixture(scope="module")
def found():
    return karat.gold(*simulate(), first=30)


def test_planted_errors_come_first(found):
    first = [int(row.id) for row in found.rows[:15]]
    assert sum(row < 20 for row in first) >= 14


def test_rows_that_are_reported_are_planted(found):
    reported = [int(row.id) for row in found.rows if row.reported]
    assert len(reported) == found.reported >= 8
    assert sum(row >= 20 for row in reported) <= 0.1 * len(reported)


def test_nothing_is_reported_where_all_gold_is_right():
    clean = [karat.gold(*simulate(planted=0, seed=seed)).reported for seed in (1, 2)]
    assert sum(clean) <= 1


def test_the_file_has_a_row_for_each_that_is_listed(found, tmp_path):
    found.save(tmp_path / "doubts.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "doubts.jsonl").read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == list(found.doubts)
    assert int(rows[0]["id"]) < 20
    assert all(row["doubt"] >= 0.9 for row in rows if row["reported"])
    assert rows[0]["answers"][0].keys() == {"system", "answer", "score"}
    assert rows[0]["reasons"][0]["reason"] == "agreement"


def test_two_systems_are_too_few_to_say_how_often_answers_agree_by_chance():
    found = karat.gold(*simulate(n=60, systems=2, planted=5))
    assert found.reported == 0
    assert "only people can tell" in found.notes[-1]


def test_gold_that_its_passages_lack_is_reported_where_they_always_have_it():
    reported = {int(row.id) for row in karat.gold(*simulate(systems=2, lacking=0), first=0).rows}
    assert len(reported) >= 15
    assert sum(at >= 20 for at in reported) <= 0.1 * len(reported)
    assert karat.gold(*simulate(systems=2, lacking=0.2)).reported == 0


def test_copies_of_a_system_are_named():
    one, two = simulate(n=30, systems=2)
    assert "one, copy answer alike in all rows" in karat.gold(one=one, copy=one, two=two).notes[-2]


def test_labels_of_some_rows_decide_about_others():
    runs = simulate(n=120, systems=2, planted=30)
    listed = [(int(row.id), row.reference[0]) for row in karat.gold(*runs, first=30).rows]
    verdict = lambda at: "wrong" if at < 30 else "right"  # noqa: E731
    patch = [{"id": at, "old": gold, "verdict": verdict(at)} for at, gold in listed[:25:2]]
    found = karat.gold(*runs, first=30, gold_patch=patch)
    wrong = [int(each["id"]) for each in patch if each["verdict"] == "wrong"]
    reported = [int(row.id) for row in found.rows if row.reported]
    assert {*wrong} < {*reported} <= {at for at, _ in listed}
    assert sum(at >= 30 for at in reported) <= 0.2 * len(reported)
    assert (found.share.n, found.share.value, found.reach) == (13, len(wrong) / 13, 25)
    assert found.share.low < found.share.value <= found.share.high
    assert f"of 13 of the first 25 rows, people say of {len(wrong)} that the gold is not right" in found.sentence
    assert found.rows[0].reasons[0].says == f"people say: {verdict(listed[0][0])}"
    other = karat.gold(*runs, first=20, gold_patch=patch)
    assert other.reported == len(wrong)
    assert "people looked at row 25 of this list, of which --first names 20" in other.sentence
    with pytest.raises(DataError, match="row 1, column 'old': the gold of '0' was Oslo"):
        karat.gold(*runs, gold_patch=[{"id": 0, "old": "Oslo", "verdict": "right"}])
    with pytest.raises(JoinError, match="list, row 1: no row of"):
        karat.gold(*runs, gold_patch=[{"id": "x", "old": "Oslo", "verdict": "right"}])


def test_one_system_needs_a_judge():
    rows = {"id": ["a", "b"], "gold": ["Bern", "Oslo"], "prediction": ["Berne", "Oslo"], "judged": [1.0, 1.0]}
    run = karat.score(rows, ["em", "column(judged, low=0, high=1)"], keep=True)
    with pytest.raises(SpecError, match="judge=SPEC"):
        karat.gold(run)
    found = karat.gold(run, judge="column(judged, low=0, high=1)")
    assert [(row.id, [each.reason for each in row.reasons]) for row in found.rows] == [("a", ["judge"])]
