"""A judge asked about two systems until their difference is decided."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

import karat
from karat.core.metric.rows import LEFT_OUT
from karat.errors import DataError, SpecError
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply
from karat.stats.sequential.difference import DifferenceSequence
from karat.stats.sequential.population import Population

ROWS = 160
DRAWS = np.random.default_rng(3).random((2, ROWS))
RIGHT = {"a": DRAWS[0] < 0.5, "b": (DRAWS[0] < 0.5) ^ (DRAWS[1] < 0.4), "c": DRAWS[0] < 0.5}
RIGHT["b"] |= DRAWS[1] < 0.4  # b is right where a is, and in 40 % of the other rows
DECIDED = karat.Until(decided=True)


@pytest.fixture(autouse=True)
def _own_folder(own_replies, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))


class Endpoint:
    """Says which answers are right, after a while; `asked` has the answers in the order of the calls."""

    name = "fake"

    def __init__(self, *, seconds=0.0, unreadable=(), most=10**6, endpoint=None):
        self.seconds, self.unreadable, self.most, self.endpoint = seconds, unreadable, most, endpoint
        self.asked = []

    async def __call__(self, messages, _schema, _settings):
        answer = json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])["prediction"]
        if len(self.asked) == self.most:
            raise KeyboardInterrupt
        self.asked.append(answer)
        who, at = answer.split()
        await asyncio.sleep(self.seconds * (1 + int(at) % 3))  # replies come in another order
        if answer in self.unreadable:
            return Reply("?", cost=0.01)
        label = "correct" if RIGHT[who][int(at)] else "incorrect"
        return Reply(json.dumps({"explanation": "", "label": label}), cost=0.01)


def table(who, rows=range(ROWS), **columns):
    found = {"id": [f"q{at}" for at in rows], "question": [f"question {at}?" for at in rows]}
    gold = [f"b {at}" if (RIGHT["a"][at] < RIGHT["b"][at]) ^ (at % 20 == 0) else "x" for at in rows]
    return {**found, "prediction": [f"{who} {at}" for at in rows], "gold": gold, **columns}


def answers(who, rows=range(ROWS), **columns):
    """A file of answers."""
    listed = table(who, rows, **columns)
    lines = (json.dumps(dict(zip(listed, row, strict=True))) for row in zip(*listed.values(), strict=True))
    path = f"{who}.jsonl"
    Path(path).write_text("\n".join(lines))
    return path


def decide(endpoint, *systems, metrics=(), concurrency=4, store=None, until=DECIDED, **options):
    judge = Judge("correctness", model=endpoint, governor=Governor(concurrency=concurrency, store=store))
    return karat.compare(*systems, metrics=[*metrics, judge], until=until, **options)


def the_stop(compared):
    return compared.findings[-1].stop


def test_both_answers_of_rows_in_a_random_order_until_it_is_decided():
    one, many = Endpoint(), Endpoint(seconds=0.001)
    systems = answers("a"), answers("b")
    first, other = decide(one, *systems, concurrency=1), decide(many, *systems, concurrency=16)
    finding, stop = first.findings[0], the_stop(first)
    assert (finding.verdict, stop.met, other.findings[0]) == ("better", "decided: better", finding)
    assert 0 < finding.comparison.low < (RIGHT["b"].mean() - RIGHT["a"].mean()) < finding.comparison.high
    assert finding.comparison.p <= 0.05
    assert len(one.asked) == 2 * stop.asked < ROWS
    assert [each.partition(" ")[0] for each in one.asked] == ["a", "b"] * stop.asked
    assert [each[2:] for each in one.asked[::2]] == [each[2:] for each in one.asked[1::2]]
    assert set(one.asked) <= set(many.asked)
    assert len(many.asked) <= len(one.asked) + 2 * 16
    assert f"stopped at {stop.asked} of {ROWS} rows, by its rule (decided: better)" in finding.sentence


def test_the_interval_is_the_sequence_of_the_differences():
    compared = decide(endpoint := Endpoint(), answers("a"), answers("b"), concurrency=1)
    order = [int(each[2:]) for each in endpoint.asked[::2]]
    sequence = DifferenceSequence(Population(np.ones(ROWS), (-1.0, 1.0)))
    sequence.add((RIGHT["b"].astype(float) - RIGHT["a"])[order], np.ones(len(order)))
    comparison = compared.findings[0].comparison
    ends = comparison.difference, comparison.low, comparison.high, comparison.p
    assert ends == pytest.approx((sequence.value, sequence.low, sequence.high, sequence.p))
    assert (comparison.a, comparison.b) == pytest.approx((RIGHT["a"][order].mean(), RIGHT["b"][order].mean()))


def test_equivalent_within_a_margin_and_to_the_end_without_one():
    systems = answers("a", range(60)), answers("c", range(60))
    within = decide(endpoint := Endpoint(), *systems, margin=0.3)
    assert (within.findings[0].verdict, the_stop(within).met) == ("equivalent", "decided: equivalent")
    assert len(endpoint.asked) < 120
    test = within.findings[0].comparison.margin
    assert -0.3 < test.low < 0 < test.high < 0.3
    whole = decide(Endpoint(), *systems)
    comparison = whole.findings[0].comparison
    assert (comparison.low, comparison.difference, comparison.high, comparison.p) == (0, 0, 0, 1)
    assert str(the_stop(whole)) == "stopped at 60 of 60 rows, by the end of the rows"


def test_money_and_a_width_end_it_too():
    systems = answers("a"), answers("c")
    assert the_stop(decide(Endpoint(), *systems, until=karat.Until(cost=0.4), concurrency=1)).asked == 20
    compared = decide(Endpoint(), *systems, until=karat.Until(width=0.5))
    comparison = compared.findings[0].comparison
    assert comparison.high - comparison.low <= 0.5
    assert the_stop(compared).met == "width 0.5"


def test_kept_runs_show_the_same_again_whatever_their_order():
    rows = list(range(ROWS))
    compared = decide(Endpoint(), answers("a"), answers("b", rows[::-1]), metrics=["em"], run="first", margin=0.05)
    judged, stop = compared.findings[-1], the_stop(compared)
    assert judged.family == 1
    again = karat.compare("first-a", "first-b")
    assert again.findings[-1].comparison == judged.comparison
    assert (again.findings[-1].verdict, the_stop(again)) == ("better", stop)
    swapped = karat.compare("first-b", "first-a").findings[-1]
    assert (swapped.verdict, swapped.comparison.p) == ("worse", pytest.approx(judged.comparison.p))
    assert not any("chosen by looking" in note for note in again.notes)
    for run in map(karat.open_run, ("first-a", "first-b")):
        value = run.values["metrics"][-1]
        assert (run.state, value["n"], value["not_asked"]) == ("finished", stop.asked, ROWS - stop.asked)
        assert value["low"] <= RIGHT[run.name[-1]].mean() <= value["high"]
        assert sum(LEFT_OUT in str(each) for each in run.reasons()) == ROWS - stop.asked
    wider = karat.compare("first-a", "first-b", confidence=0.999).findings[-1].comparison
    assert wider.low < judged.comparison.low
    assert wider.high > judged.comparison.high


def test_a_run_that_was_asked_alone_is_compared_with_a_note():
    decide(Endpoint(), answers("a"), answers("b"), run="first")
    judge = Judge("correctness", model=Endpoint(), governor=Governor())
    karat.score(answers("c"), judge, run="alone", until=karat.Until(width=0.4))
    compared = karat.compare("first-a", "alone")
    assert compared.findings[0].comparison.test != "sequence"
    assert any("chosen by looking" in note for note in compared.notes)
    three = karat.compare("first-a", "first-b", "alone")
    assert [each.comparison.test == "sequence" for each in three.findings] == [True, False]
    assert any("chosen by looking" in note for note in three.notes)


def test_what_is_stopped_goes_on_and_asks_nothing_twice():
    systems, address = (answers("a"), answers("b")), "http://x/v1"
    with ReplyCache() as store:
        with pytest.raises(KeyboardInterrupt):
            decide(killed := Endpoint(most=15, endpoint=address), *systems, store=store, run="first")
        resumed = decide(rest := Endpoint(endpoint=address), *systems, store=store, run="first", concurrency=1)
    alone = decide(Endpoint(), *systems)
    assert the_stop(resumed) == the_stop(alone)
    assert resumed.findings[0].comparison == alone.findings[0].comparison
    assert not set(killed.asked) & set(rest.asked)
    assert len(rest.asked) < 2 * the_stop(alone).asked


def test_rows_without_a_score_in_one_system_do_not_count():
    systems = answers("a", range(40)), answers("c", range(40))
    lacking = {f"c {at}" for at in range(4)} | {"a 3", "a 7"}
    compared = decide(Endpoint(unreadable=lacking), *systems)
    comparison = compared.findings[0].comparison
    assert (comparison.n, comparison.scored, comparison.missing_a, comparison.missing_b) == (40, 35, 2, 4)
    assert (comparison.low, comparison.high) == (0, 0)
    assert (comparison.all_low, comparison.all_high) == (comparison.least, comparison.most)  # of all rows
    assert comparison.least < 0 < comparison.most
    assert "could turn this" in compared.findings[0].sentence


def test_rows_that_belong_together_are_asked_whole():
    topics = {"topic": [f"t{at // 4}" for at in range(ROWS)]}
    compared = decide(
        endpoint := Endpoint(), answers("a", **topics), answers("b", **topics), cluster="topic", concurrency=1, run="x"
    )
    stop = the_stop(compared)
    asked = {int(each[2:]) for each in endpoint.asked}
    assert len(asked) == stop.asked < ROWS
    assert all(at - at % 4 + more in asked for at in asked for more in range(4))
    again, alone = karat.compare("x-a", "x-b", by="topic"), karat.compare("x-a", "x-b", cluster="none")
    assert again.findings[0].comparison == compared.findings[0].comparison
    assert any(note.startswith("slices: p and intervals are for a number of rows that is") for note in again.notes)
    assert alone.findings[0].comparison.test == "mcnemar"
    assert any("rows are not taken together as when they were asked" in note for note in alone.notes)


def test_metrics_that_are_known_of_all_rows_narrow_it():
    systems, rule = (answers("a"), answers("b")), karat.Until(width=0.18)
    alone, beside = (decide(Endpoint(), *systems, metrics=each, until=rule) for each in ([], ["em"]))
    assert the_stop(beside).asked < 0.9 * the_stop(alone).asked
    with pytest.raises(SpecError, match="asks one judge about two systems"):
        decide(Endpoint(), *systems, metrics=["judge:refusal(model='x')"])


def test_only_the_rows_that_both_have():
    compared = decide(
        endpoint := Endpoint(), answers("a", range(50)), answers("c", range(20, 70)), common=True, run="x"
    )
    assert {int(each[2:]) for each in endpoint.asked} == set(range(20, 50))
    assert (compared.n, the_stop(compared).rows) == (30, 30)
    assert "is about the rows that both systems have" in karat.open_run("x-a").reasons()[0]
    assert the_stop(karat.compare("x-a", "x-c", common=True)) == the_stop(compared)


def test_what_cannot_be_asked():
    systems = answers("a", range(9)), answers("b", range(9))
    with pytest.raises(SpecError, match="run keeps the rows that a judge is asked about"):
        karat.compare(*systems, metrics="em", run="x")
    with pytest.raises(SpecError, match="asks about two systems, found 3"):
        decide(Endpoint(), *systems, answers("c", range(9)))
    with pytest.raises(SpecError, match="is about two systems: compare them"):
        karat.score(table("a"), Judge("correctness", model=Endpoint()), until=DECIDED)
    judge = Judge("correctness", model=Endpoint(), governor=Governor(max_calls=4, concurrency=1))
    with pytest.raises(DataError, match="nothing is decided by then"):
        karat.compare(*systems, metrics=judge, until=DECIDED)
