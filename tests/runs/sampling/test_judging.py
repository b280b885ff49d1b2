"""A judge beside people: when all rows are asked, when some, and what it is asked."""

import re

import numpy as np
import pytest

import karat
from karat.core.errors import SpecError
from karat.core.metric.spec import parse
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel
from karat.runs.labels.rows_to_label import open_rows_to_label
from karat.runs.labels.session import Session
from karat.runs.sampling.free_metrics import read_rule
from karat.runs.sampling.judging import read_judge
from karat.stats.sequential.until import Until

ROWS = [{"id": at, "question": "?", "prediction": f"{at}", "gold": "g"} for at in range(60)]


@pytest.fixture(autouse=True)
def _own_folder(own_replies, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read_row(messages):
    return int(re.search(r'"prediction": "(\d+)"', " ".join(each["content"] for each in messages))[1])


def make(**limits):
    """A judge to whom every answer is right whose number is not of three, and its model; one reply cannot be read."""

    def answer(messages):
        at = read_row(messages)
        return "?" if at == 7 else {"explanation": "", "label": "correct" if at % 3 else "incorrect"}

    model = FakeModel(answer)
    return Judge("correctness", model=model, governor=Governor(**limits)), model


def test_it_is_asked_through_score_about_rows_without_its_verdict(tmp_path):
    judge, model = make()
    karat.score(ROWS[:60], ["em", judge], run="first", until=Until(width=0.7))
    known = {read_row(each.messages) for each in model.requests}
    assert 0 < len(known) < 40
    model.requests.clear()
    beside = read_judge("first", judge, Until(width=0.7), 0.3, 0.01)
    assert beside.ratio == 3  # the root of a third of 31
    assert np.isnan(beside.known).sum() >= 60 - len(known)
    assert str(beside) == f"{judge.spec} is asked about each row that you label, and 3 of all rows drawn for it"
    rule = read_rule(["first"], (), Until(width=0.7), 0.3, beside)
    assert list(rule.free) == ["em"]
    rows = open_rows_to_label(["first"]).rows
    for _ in range(2):
        session = Session(rows, tmp_path / "labels.jsonl", "ada", {"good": 1, "bad": 0}, rule=rule)
        session.prepare(session.current)
        session.label("good", session.current)
    asked = [read_row(each.messages) for each in model.requests]
    assert session.interval.verdicts == len(set(asked))
    assert len({at for at in asked if at != 7}) == sum(at != 7 for at in asked)  # a reply is asked for again if unread
    np.testing.assert_array_equal(beside.ask([3, 7, 4]), [0, np.nan, 1])


def test_prices_decide_whether_all_rows_are_asked_first():
    judge, model = make()
    karat.score(ROWS, "em", run="first")
    for until, price, ratio in (
        (Until(width=0.1), 0.01, 0),
        (Until(width=0.7), 0.01, 3),
        (Until(width=0.1, cost=0.8), 0.01, 3),  # all rows and a label would cost 0.9
        (Until(width=0.1), 0.1, 0),
        (Until(width=0.7), 0.1, 1),
    ):
        assert read_judge("first", judge, until, 0.3, price).ratio == ratio, until
    with pytest.raises(SpecError, match="costs more than it saves: leave --model away"):
        read_judge("first", judge, Until(width=0.1), 0.3, 0.2)
    with pytest.raises(SpecError, match="exact_match: expected a judge"):
        read_judge("first", parse("exact_match"), Until(width=0.1), 0.3, 0.01)
    assert not model.requests
    karat.score([row for row in ROWS if row["id"] != 7], judge, run="all")
    assert read_judge("all", judge, Until(width=0.1), 0.3, 0.01) is None


def test_where_a_cap_ends_a_call_none_of_its_rows_has_a_verdict():
    judge, _ = make(max_calls=4)
    karat.score(ROWS, "em", run="first")
    beside = read_judge("first", judge, Until(width=0.7), 0.3, 0.01)
    np.testing.assert_array_equal(beside.ask([3, 4]), [0, 1])
    assert np.isnan(beside.ask([5, 6, 8, 9])).all()
