"""Judges asked until a rule ends it: which rows, what they cost, and what the run says."""

import asyncio
import json
import os

import numpy as np
import pytest

import karat
from karat.core.metric.rows import LEFT_OUT
from karat.errors import DataError, SpecError
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply
from karat.runs.compare.run_values import value_of
from karat.runs.scoring.asking.agenda import AskingOrder
from karat.runs.scoring.provenance import models

KILLS = int(os.environ.get("KARAT_KILLS", "4"))
ROWS = 400
RIGHT = np.random.default_rng(4).random(ROWS) < 0.8
TABLE = {
    "id": [f"q{at}" for at in range(ROWS)],
    "prediction": [f"{at}" for at in range(ROWS)],
    "gold": [f"{at}" if right ^ (at % 30 == 0) else "other" for at, right in enumerate(RIGHT.tolist())],
    "question": [f"question {at}?" for at in range(ROWS)],
}


@pytest.fixture(autouse=True)
def _own_folder(own_replies, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))


class Endpoint:
    """Says which answers are right, after a while; `asked` has the rows in the order of the calls."""

    name = "fake"

    def __init__(self, right=RIGHT, *, seconds=0.0, cost=0.01, unreadable=(), endpoint=None):
        self.right, self.seconds, self.cost, self.unreadable, self.endpoint = right, seconds, cost, unreadable, endpoint
        self.asked, self.running, self.most = [], 0, 0

    async def __call__(self, messages, _schema, _settings):
        at = int(json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])["prediction"])
        self.asked.append(at)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(self.seconds * (1 + at % 3))  # replies come in another order
        self.running -= 1
        if at in self.unreadable:
            return Reply("?", cost=self.cost)
        reply = {"explanation": "", "label": "correct" if self.right[at] else "incorrect"}
        return Reply(json.dumps(reply), cost=self.cost)


def score(endpoint, table=TABLE, metrics=(), *, concurrency=8, until=None, store=None, **options):
    judge = Judge("correctness", model=endpoint, governor=Governor(concurrency=concurrency, store=store))
    rule = karat.Until(width=0.2) if until is None else until
    return karat.score(table, [*metrics, judge], until=rule, **options)


def found(result):
    return result.values[result.metrics[-1].spec], result.stops.get(result.metrics[-1].spec)


def test_a_model_that_is_exchanged_meanwhile_is_told():
    steady, changed = Endpoint(), Endpoint()

    async def call(messages, schema, settings):
        if len(changed.asked) == 150:
            changed.right = np.zeros(ROWS, bool)
        return await changed(messages, schema, settings)

    (_, stop), result = found(score(steady, until=karat.Until(width=0.1))), score(call, until=karat.Until(width=0.02))
    assert stop.drift == ""
    (caution,) = result.cautions.values()
    assert caution.startswith("in the order of asking the mean score went from 0.")
    assert caution.endswith("did the judge's model change meanwhile?")


def test_the_same_rows_and_interval_however_many_calls_are_made_at_a_time():
    one, many = Endpoint(), Endpoint(seconds=0.001)
    results = [score(one, concurrency=1), score(many, concurrency=32)]
    (value, stop), other = map(found, results)
    assert (value, stop) == other
    assert value.high - value.low <= 0.2
    assert value.low < RIGHT.mean() < value.high
    assert value.n == value.scored == stop.asked == len(one.asked) < ROWS / 2
    assert value.not_asked == ROWS - stop.asked
    assert str(stop) == f"stopped at {stop.asked} of 400 rows, by its rule (width 0.2)"
    assert many.most == 32
    assert set(one.asked) <= set(many.asked)
    assert len(many.asked) < len(one.asked) + 64  # those ahead of a late answer, when the rule was met
    assert results[0].table.drop_columns(LATENCY).equals(results[1].table.drop_columns(LATENCY))
    assert score(Endpoint(), seed=1).table["reason"] != results[0].table["reason"]


LATENCY = ["judge:correctness(model='fake').latency"]


def test_rows_that_are_left_out_say_so():
    result = score(Endpoint())
    value, _ = found(result)
    reasons = result.table["reason"].to_pylist()
    assert sum(reason == f"{LEFT_OUT} (width 0.2) was met before" for reason in reasons) == value.not_asked
    assert result.reasons[result.metrics[0].spec] == {}


def test_a_metric_that_is_known_of_all_rows_saves_calls():
    alone, beside = Endpoint(), Endpoint()
    score(alone, concurrency=1, until=karat.Until(width=0.1))
    result = score(beside, metrics=["em"], concurrency=1, until=karat.Until(width=0.1))
    value, stop = found(result)
    assert len(beside.asked) == stop.asked < 0.8 * len(alone.asked)
    assert value.low < RIGHT.mean() < value.high
    assert result.values["em"].n == ROWS
    assert value.worst == value.best == value.value


def test_all_rows_give_the_value_of_all_rows():
    few = {name: column[:30] for name, column in TABLE.items()}
    value, stop = found(score(Endpoint(), few, ["em"], until=karat.Until(width=1e-6)))
    assert value.low == value.value == value.high == pytest.approx(RIGHT[:30].mean())
    assert (value.n, value.not_asked, stop.asked) == (30, 0, 30)
    assert str(stop) == "stopped at 30 of 30 rows, by the end of the rows"


def test_rows_without_a_score_are_counted_when_their_turn_comes():
    table = {**TABLE, "prediction": [None if at % 5 == 0 else text for at, text in enumerate(TABLE["prediction"])]}
    value, stop = found(score(endpoint := Endpoint(unreadable={7, 11, 13}), table, concurrency=1))
    assert stop.asked == value.n == value.scored + value.unscored
    order = AskingOrder.draw(np.arange(ROWS, dtype=np.uint64), 0).rows[: stop.asked]
    assert value.unscored == sum(at % 5 == 0 or at in {7, 11, 13} for at in order.tolist())
    assert set(endpoint.asked) == {at for at in order.tolist() if at % 5}
    assert value.worst < value.value < value.best
    nothing = {**TABLE, "prediction": [None] * ROWS}
    value, stop = found(score(endpoint := Endpoint(), nothing))
    assert (value.value, value.n, value.unscored, stop.asked, endpoint.asked) == (None, ROWS, ROWS, ROWS, [])


def test_rows_that_belong_together_are_asked_whole():
    table = {**TABLE, "topic": [f"t{at // 4}" for at in range(ROWS)]}
    result = score(Endpoint(), table, cluster="topic", until=karat.Until(width=0.3))
    value, stop = found(result)
    asked = {at for at, score in enumerate(result.table[result.metrics[0].spec].to_pylist()) if score is not None}
    assert len(asked) == value.n == stop.asked < ROWS
    assert all(at in asked for each in asked for at in range(each - each % 4, each - each % 4 + 4))
    assert value.low < RIGHT.mean() < value.high


@pytest.mark.parametrize("concurrency", [1, 8])
def test_money_ends_it_and_the_run_is_finished(concurrency):
    result = score(
        endpoint := Endpoint(seconds=0.001), concurrency=concurrency, until=karat.Until(cost=0.5), run="first"
    )
    value, stop = found(result)
    assert 50 - concurrency <= len(endpoint.asked) == stop.asked == value.n <= 50 + concurrency
    assert str(stop) == f"stopped at {stop.asked} of 400 rows, by its rule (cost $0.5)"
    assert karat.open_run("first").state == "finished"


def test_two_judges_share_the_money():
    one, other = Endpoint(), Endpoint()
    governor = Governor(concurrency=1)
    judges = [Judge(name, model=each, governor=governor) for name, each in (("correctness", one), ("refusal", other))]
    other.right, other.__class__ = RIGHT, _Refusals
    karat.score(TABLE, judges, until=karat.Until(cost=0.4))
    assert (len(one.asked), len(other.asked)) == (20, 20)


class _Refusals(Endpoint):
    async def __call__(self, messages, schema, settings):
        reply = await super().__call__(messages, schema, settings)
        return Reply(json.dumps({"explanation": "", "label": "answered"}), cost=reply.cost)


def test_a_cost_needs_a_price():
    with pytest.raises(SpecError, match="a rule about the cost needs the USD per million tokens"):
        score(Endpoint(cost=None), until=karat.Until(cost=1))


def test_a_hard_cap_leaves_the_run_unfinished():
    judge = Judge("correctness", model=Endpoint(), governor=Governor(max_calls=10, concurrency=2))
    with pytest.warns(UserWarning, match="run first is not finished: a cap is reached"):
        result = karat.score(TABLE, judge, until=karat.Until(width=0.2), run="first")
    assert result.stops == {}
    assert result.values[judge.spec].not_asked == 0


def test_the_run_keeps_what_the_result_says(tmp_path):
    result = score(
        Endpoint(), metrics=["em"], by="topic", table={**TABLE, "topic": ["a", "b"] * (ROWS // 2)}, run="first"
    )
    value, stop = found(result)
    spec = result.metrics[-1].spec
    run = karat.open_run("first")
    assert value_of(run, spec) == value
    assert run.stops == {spec: stop}
    assert run.manifest.settings["until"] == {"width": 0.2, "cost": None, "decided": False, "no_worse": False}
    groups = result.groups[spec]
    assert sum(each.n for each in groups.values()) == value.n
    assert sum(each.not_asked for each in groups.values()) == value.not_asked
    with pytest.raises(DataError, match="; the answers that it has, under the same seed, are not asked again"):
        score(Endpoint(), metrics=["em"], run="first", resume=True)


def test_a_run_says_how_far_it_is_while_it_is_written(monkeypatch):
    monkeypatch.setattr(models, "PAUSE", 0.0)
    seen = []

    class Watched(Endpoint):
        async def __call__(self, *request):
            seen.extend(karat.list_runs())
            return await super().__call__(*request)

    few = {name: column[:40] for name, column in TABLE.items()}
    score(Watched(), few, concurrency=1, run="first")
    asking = [each.asking for each in seen if each.asking]
    assert asking[0].startswith("judge:correctness 1.0000 ± 0.")
    assert ", 12 of 40 rows, about " in asking[11]
    assert karat.list_runs()[0].asking == ""


def test_a_narrower_rule_asks_the_further_rows_alone():
    with ReplyCache() as store:
        first = score(wide := Endpoint(endpoint="http://x/v1"), store=store, until=karat.Until(width=0.3))
        more = score(
            narrow := Endpoint(endpoint="http://x/v1"), store=store, until=karat.Until(width=0.2), concurrency=1
        )
    assert not set(wide.asked) & set(narrow.asked)
    assert found(first)[1].asked < found(more)[1].asked
    assert found(more) == found(score(Endpoint()))


def test_runs_that_a_rule_stopped_are_compared():
    worse = RIGHT & (np.arange(ROWS) % 4 > 0)
    one, other = score(Endpoint(), until=karat.Until(width=0.15)), score(Endpoint(worse), until=karat.Until(width=0.2))
    compared = karat.compare(one, other)
    comparison = compared.findings[0].comparison
    assert comparison.n == comparison.scored == min(found(one)[1].asked, found(other)[1].asked)
    assert any(str(found(one)[1]) in note for note in compared.notes)
    assert any("chosen by looking" in note for note in compared.notes)


def test_people_correct_a_value_whose_rows_were_not_all_asked():
    labels = {"id": TABLE["id"][::4], "label": RIGHT[::4].astype(float).tolist()}
    result = score(Endpoint(~RIGHT), on="id", human=labels, until=karat.Until(width=0.15))
    value, corrected = result.values[result.metrics[0].spec], result.corrected[result.metrics[0].spec]
    assert value.high < 0.5 < corrected.low < RIGHT.mean() < corrected.high


@pytest.mark.parametrize(
    ("metrics", "options", "problem"),
    [
        (["em"], {}, "is about judges, but no metric is one"),
        (["judge:correctness(model='a')"], {"id": "id"}, "id|order"),
        (["pass_at(judge:correctness(model='a'))@1"], {}, "until is for judges alone"),
    ],
)
def test_what_a_rule_cannot_do_is_refused(metrics, options, problem):
    table = {**TABLE, "prediction": [[text] for text in TABLE["prediction"]]} if "pass" in metrics[0] else TABLE
    with pytest.raises(SpecError, match=problem):
        karat.score(table, metrics, until=karat.Until(width=0.1), **options)


RUN = """
import json, os, signal, sys
import karat
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache

class Endpoint:
    name, endpoint = "fake", "http://x/v1"

    def __init__(self, most):
        self.left = most

    async def __call__(self, messages, schema, settings):
        at = json.loads(messages[-1]["content"].partition("\\n")[2].rpartition("\\n")[0])["prediction"]
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        with open("asked", "a") as file:
            file.write(at + "\\n")
        return {"explanation": "", "label": "correct" if int(at) % 3 else "incorrect"}

rows = [{"id": f"q{at}", "question": "?", "prediction": str(at), "gold": "x"} for at in range(400)]
judge = karat.Judge("correctness", model=Endpoint(int(sys.argv[1])), governor=Governor(store=ReplyCache()))
result = karat.score(rows, judge, until=karat.Until(width=0.2), run="first", resume=True)
print(next(iter(result.stops.values())))
"""


def test_a_run_that_is_killed_asks_no_row_twice(python, tmp_path):
    for _ in range(KILLS):
        assert python.run("-c", RUN, "9").returncode != 0
    printed = python.run("-c", RUN, "400", check=True).stdout
    asked = (tmp_path / "asked").read_text().split()
    assert len(asked) == len(set(asked)) > 9 * KILLS
    alone = score(Endpoint(np.arange(ROWS) % 3 > 0))
    run = karat.open_run("first")
    assert found(alone)[0] == value_of(run, run.specs[0])
    assert f"{found(alone)[1]}\n" == printed
