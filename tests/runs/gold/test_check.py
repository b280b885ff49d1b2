"""`karat.gold`: planted errors come first, and rows are reported only where that is supported."""

import json
import random

import pytest

import karat
from karat.errors import SpecError


def simulate(n=400, systems=5, planted=20, seed=0):
    """Rows with gold, of which the first `planted` are wrong, and what systems of different strength answer.

    A wrong answer is one of eight that suggest themselves. Answers have nothing in common: they are random letters.
    """
    draw = random.Random(seed)  # noqa: S311
    word = lambda: "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=8))  # noqa: E731
    right, answers = [word() for _ in range(n)], [[] for _ in range(systems)]
    for row in right:
        hard, others = draw.random(), [word() for _ in range(8)]
        for at, own in enumerate(answers):
            own.append(row if draw.random() > hard * (0.5 + 0.1 * at) else draw.choice(others))
    gold = [word() if at < planted else each for at, each in enumerate(right)]
    return [karat.score({"id": range(n), "gold": gold, "prediction": own}, "em", keep=True) for own in answers]


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
    clean = [karat.gold(*simulate(planted=0, seed=seed)).reported for seed in range(1, 4)]
    assert sum(clean) <= 1


def test_the_file_has_a_row_for_each_that_is_listed(found, tmp_path):
    found.save(tmp_path / "doubts.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "doubts.jsonl").read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == list(found.doubts)
    assert int(rows[0]["id"]) < 20
    assert rows[0]["low"] <= rows[0]["doubt"] <= rows[0]["high"]
    assert rows[0]["answers"][0].keys() == {"system", "answer", "score"}
    assert rows[0]["reasons"][0]["reason"] == "agreement"


def test_two_systems_are_too_few_to_say_how_often_answers_agree_by_chance():
    found = karat.gold(*simulate(n=60, systems=2, planted=5))
    assert found.reported == 0
    assert "score more systems or more rows" in found.notes[-1]


def test_one_system_needs_a_judge():
    rows = {"id": ["a", "b"], "gold": ["Bern", "Oslo"], "prediction": ["Berne", "Oslo"], "judged": [1.0, 1.0]}
    run = karat.score(rows, ["em", "column(judged, low=0, high=1)"], keep=True)
    with pytest.raises(SpecError, match="judge=SPEC"):
        karat.gold(run)
    found = karat.gold(run, judge="column(judged, low=0, high=1)")
    assert [(row.id, [each.reason for each in row.reasons]) for row in found.rows] == [("a", ["judge"])]
