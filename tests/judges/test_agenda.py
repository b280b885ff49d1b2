"""A judge asks the rows that an agenda names, in its order, and starts no call once it has ended."""

import asyncio

import pyarrow as pa
import pytest

from karat.core.context import change_context
from karat.core.metric.rows import LEFT_OUT
from karat.core.metric.score import score_columns
from karat.judges import Judge
from karat.models.governor.governor import Governor

RIGHT = {"explanation": "as the reference", "label": "correct"}
COLUMNS = {
    "question": pa.array(["?"] * 20),
    "prediction": pa.array([f"answer {at}" for at in range(20)]),
    "reference": pa.array([["x"]] * 20),
}


class Until:
    """Ends when so many votes are known; the rows of further votes are left out."""

    def __init__(self, most, order=range(20)):
        self.most, self.order, self.votes, self.ended = most, list(order), {}, False

    def __iter__(self):
        for number in self.order:
            if self.ended:
                return
            yield number

    async def turn(self, number):
        pass

    def add(self, number, vote):
        if not self.ended:
            self.votes[number] = vote
        self.ended = len(self.votes) >= self.most

    def why_left_out(self, number):
        return "" if number in self.votes else f"{LEFT_OUT} has ended"


class SlowModel:
    """Answers after a while, so that many calls are in flight; `most` at the same time so far."""

    name = "slow"

    def __init__(self):
        self.asked, self.running, self.most = [], 0, 0

    async def __call__(self, messages, _schema, _settings):
        self.asked.append(messages[-1]["content"])
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.002)
        self.running -= 1
        return RIGHT


def judge(model, agenda, concurrency, **options):
    metric = Judge("correctness", model=model, governor=Governor(concurrency=concurrency), **options)
    with change_context(agenda=agenda):
        (rows,) = score_columns([metric], COLUMNS)
    return rows


def test_rows_are_asked_in_its_order():
    model, order = SlowModel(), [7, 3, 19, 0, *(set(range(20)) - {7, 3, 19, 0})]
    rows = judge(model, Until(4, order), 1)
    assert [
        next(at for at in range(20) if f"answer {at}\n" in text or f'answer {at}"' in text) for text in model.asked
    ] == order[:4]
    assert rows.scored.nonzero()[0].tolist() == [0, 3, 7, 19]
    assert rows.reasons[1] == f"{LEFT_OUT} has ended"
    assert rows.details["error"].null_count == 20  # a row that was left out is no failure


@pytest.mark.parametrize("concurrency", [1, 4, 12])
def test_no_call_starts_once_it_has_ended(concurrency):
    model = SlowModel()
    rows = judge(model, agenda := Until(5), concurrency)
    assert rows.scored.sum() == len(agenda.votes) == 5
    assert len(model.asked) <= 5 + concurrency - 1 == 5 + model.most - 1
    assert not model.running  # the calls in flight have ended, and their replies are kept


def test_rows_that_wait_for_a_permit_are_not_asked_either():
    """64 rows are in progress, and 8 calls are in flight."""
    model = SlowModel()
    rows = judge(model, Until(1), None)
    assert rows.scored.sum() == 1
    assert len(model.asked) == model.most == 8


def test_the_calls_of_a_panel_that_are_in_flight_end():
    model, other = SlowModel(), SlowModel()
    other.name = "other"
    judge([model, other], Until(2), 3)
    assert not model.running
    assert not other.running
