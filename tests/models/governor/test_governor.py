"""The governor over models that are functions, on a virtual clock."""

import asyncio
import random
from collections import Counter
from dataclasses import replace

import pytest

from karat.core.errors import SpecError
from karat.models.governor.faults import ModelError, RequestError
from karat.models.governor.governor import GIVE_UP, Governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply, Request


class Http(Exception):
    def __init__(self, status, retry_after=None, code=None):
        super().__init__(f"status {status}")
        self.status_code, self.code = status, code
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


class Fake:
    """Answers with the question after `latency`, unless `faults` gives an exception; records what it was asked."""

    def __init__(self, faults=lambda text, times: None, latency=0.2, endpoint=None, tokens=None, cost=None):
        self.faults, self.latency, self.tokens, self.cost = faults, latency, tokens, cost
        self.asked = Counter()
        self.times = []
        self.under_way = self.most = 0
        if endpoint:
            self.endpoint, self.name = endpoint, "fake"

    async def __call__(self, messages, *_):
        text = messages[-1]["content"]
        self.asked[text] += 1
        self.times.append(asyncio.get_running_loop().time())
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.latency)
            if (fault := self.faults(text, self.asked[text])) is not None:
                if fault == "hang":
                    await asyncio.sleep(10_000)
                raise fault
        finally:
            self.under_way -= 1
        return Reply(text, *(self.tokens or (None, None)), cost=self.cost)


def request(text, **settings):
    return Request([{"role": "user", "content": str(text)}], settings=settings)


def asking(governor, model, **settings):
    """Work that gives the reply's text, or the message of the row's failure."""

    async def work(text):
        try:
            return (await governor.ask(model, request(text, **settings))).text
        except RequestError as error:
            return f"! {error}"

    return work


def gathered(virtually, governor, model, items, **settings):
    return virtually(governor.gather(asking(governor, model, **settings), items))


def test_results_are_in_order_and_at_most_so_many_rows_are_under_way(virtually):
    model = Fake(lambda text, _: None, latency=0.1)
    taken = []

    def rows():
        for number in range(500):
            taken.append(number - len(done))
            yield str(number)

    done = []
    governor = Governor(concurrency=16, progress=done.append)
    assert gathered(virtually, governor, model, rows()) == [str(number) for number in range(500)]
    assert model.most == 16
    assert max(taken) <= 16
    assert sum(done) == 500


@pytest.mark.parametrize("items", [[], ["one"]])
def test_few_rows(virtually, items):
    assert gathered(virtually, Governor(), Fake(), items) == items


@pytest.mark.parametrize("fault", [Http(500), ConnectionResetError("reset"), TimeoutError(), "hang"])
def test_a_transient_fault_is_asked_again_after_a_while(virtually, fault):
    model = Fake(lambda text, times: fault if times < 3 else None)
    governor = Governor(timeout=5)
    assert gathered(virtually, governor, model, ["a"]) == ["a"]
    assert governor.totals.calls == 3
    assert governor.totals.retries == 2
    call = 5 if fault == "hang" else 0.2
    pauses = [after - before - call for before, after in zip(model.times, model.times[1:], strict=False)]
    assert 0.25 <= pauses[0] <= 0.5 + 1e-3
    assert 0.5 <= pauses[1] <= 1 + 1e-3


def test_attempts_are_capped_and_the_row_says_why(virtually):
    model = Fake(lambda text, _: Http(500) if text == "b" else None)
    governor = Governor(attempts=4)
    assert gathered(virtually, governor, model, "abc") == ["a", "! HTTP 500: status 500 (attempts: 4)", "c"]
    assert model.asked == {"a": 1, "b": 4, "c": 1}
    assert governor.totals.failed == 1


@pytest.mark.parametrize("fault", [ValueError("no verdict"), Http(400), Http(413), Http(400, code="content_filter")])
def test_what_would_fail_again_is_not_asked_again(virtually, fault):
    model = Fake(lambda text, _: fault if text == "b" else None)
    given = gathered(virtually, Governor(), model, "abc")
    assert model.asked == {"a": 1, "b": 1, "c": 1}
    assert given[1].startswith("! ")
    assert str(fault) in given[1]


def test_an_early_bad_request_waits_for_others_to_prove_the_endpoint(virtually):
    class Quick(Fake):
        async def __call__(self, messages, *_):
            if messages[-1]["content"] == "bad":
                await asyncio.sleep(0.01)
                raise Http(422)
            return await super().__call__(messages)

    assert gathered(virtually, Governor(), Quick(), ["bad", "good"]) == ["! HTTP 422: status 422", "good"]


@pytest.mark.parametrize("status", [401, 403, 404, 400])
def test_a_fatal_error_stops_at_once_and_nothing_more_is_asked(virtually, status):
    model = Fake(lambda *_: Http(status))
    governor = Governor()
    with pytest.raises(ModelError, match=f"Fake: HTTP {status}"):
        gathered(virtually, governor, model, map(str, range(1000)))
    assert model.asked.total() <= 8
    model.faults = lambda *_: None
    assert gathered(virtually, governor, model, "ab") == ["a", "b"]


def test_a_fatal_error_deep_inside_a_row_stops_its_siblings_too(virtually):
    bad = Fake(lambda *_: Http(401))
    good = Fake(latency=1)

    async def panel(text):
        return await asyncio.gather(governor.ask(good, request(text)), governor.ask(bad, request(text)))

    async def all_of_it():
        with pytest.raises(ModelError):
            await governor.gather(panel, map(str, range(1000)))
        asked = good.asked.total()
        await asyncio.sleep(100)
        assert good.asked.total() == asked

    governor = Governor()
    virtually(all_of_it())


def test_an_error_of_the_work_itself_stops_the_rest(virtually):
    async def work(number):
        await asyncio.sleep(1)
        if number == 5:
            raise LookupError("bug")
        return number

    with pytest.raises(LookupError, match="bug"):
        virtually(Governor().gather(work, range(10_000)))


def test_retry_after_pauses_everyone(virtually):
    model = Fake(lambda text, times: Http(429, retry_after=20) if text == "0" and times == 1 else None)
    assert gathered(virtually, Governor(), model, map(str, range(100))) == [str(number) for number in range(100)]
    refused = model.times[0] + 0.2
    assert not [when for when in model.times if refused + 1e-3 < when < refused + 20]


def test_a_refused_row_is_never_lost_while_the_endpoint_lives(virtually):
    governor = Governor()
    bears = 4

    async def model(messages, schema, settings):
        model.under_way += 1
        try:
            await asyncio.sleep(0.05)
            if model.under_way > bears:
                raise Http(429)
            await asyncio.sleep(1)
            return messages[-1]["content"]
        finally:
            model.under_way -= 1

    model.under_way = 0
    assert gathered(virtually, governor, model, map(str, range(500))) == [str(number) for number in range(500)]
    assert governor.totals.retries < 150


def test_a_wait_longer_than_a_row_may_take_stops_the_run(virtually):
    model = Fake(lambda *_: Http(429, retry_after=86_400))
    with pytest.raises(ModelError, match="wait 86400 s"):
        gathered(virtually, Governor(), model, "abc")


def test_an_endpoint_that_has_died_stops_the_run(virtually):
    model = Fake(lambda text, _: None if int(text) < 100 else ConnectionRefusedError("refused"))
    with pytest.raises(ModelError, match=rf"{GIVE_UP} requests in a row.*refused"):
        gathered(virtually, Governor(), model, map(str, range(10_000)))
    assert len(model.asked) < 100 + GIVE_UP + 64
    never = Fake(lambda *_: ConnectionRefusedError("refused"))
    with pytest.raises(ModelError, match=r"cannot be reached; is it running\? ConnectionRefusedError.*attempts: 3"):
        gathered(virtually, Governor(concurrency=1), never, "abc")


def test_a_row_has_its_own_time_out_over_all_attempts(virtually):
    model = Fake(lambda text, _: "hang" if text == "b" else None)
    governor = Governor(timeout=10, row_timeout=25, attempts=100)
    given = gathered(virtually, governor, model, "abc")
    assert given[1].startswith("! TimeoutError: no reply within ")
    assert given[1].endswith("(attempts: 3)")
    assert model.times[-1] < 25
    assert given[::2] == ["a", "c"]


def test_waiting_for_the_first_turn_is_not_the_rows_time(virtually):
    governor = Governor(rpm=2, row_timeout=30)
    assert gathered(virtually, governor, Fake(), map(str, range(10))) == [str(number) for number in range(10)]


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_max_calls_is_exact_with_retries_under_concurrency(virtually, share):
    rng = random.Random(3)  # noqa: S311
    model = Fake(lambda *_: Http(500) if rng.random() < share else None)
    governor = Governor(max_calls=100)
    given = gathered(virtually, governor, model, map(str, range(300)))
    assert model.asked.total() == governor.totals.calls == 100
    refused = [text for text in given if "the cap of 100 calls is reached" in text]
    assert all(text.startswith(("! not asked: ", "! HTTP 500")) for text in refused)
    assert len(refused) == 300 - sum(text.isdecimal() for text in given)
    if not share:
        assert governor.totals.capped == 200


def test_the_budget_is_never_passed_and_is_used_up(virtually):
    model = Fake(tokens=(100, 50))
    governor = Governor(budget=0.01, price=(1.0, 2.0))  # a call: $0.0002
    given = gathered(virtually, governor, model, map(str, range(200)), max_tokens=60)
    assert governor.totals.cost <= 0.01
    assert sum(text.isdecimal() for text in given) >= 48
    assert given[-1].startswith("! not asked: it may cost")
    assert model.asked.total() == governor.totals.calls


def test_estimates_too_high_wait_for_calls_under_way_instead_of_refusing(virtually):
    model = Fake(tokens=(10, 10))
    governor = Governor(budget=1.0, price=(0.0, 100.0))
    given = gathered(virtually, governor, model, map(str, range(100)), max_tokens=4_000)  # may cost 0.4, does 0.001
    assert given == [str(number) for number in range(100)]


def test_a_call_that_timed_out_counts_as_estimated(virtually):
    model = Fake(lambda *_: "hang")
    governor = Governor(budget=1.0, price=(0.0, 100.0), timeout=1, attempts=50)
    (given,) = gathered(virtually, governor, model, ["a"], max_tokens=4_000)
    assert model.asked["a"] == 2
    assert "TimeoutError" in given
    assert "of the budget" in given


def test_the_endpoints_own_cost_serves_as_price(virtually):
    model = Fake(tokens=(10, 10), cost=0.001)
    governor = Governor(budget=0.1)
    gathered(virtually, governor, model, [f"{number:04}" for number in range(300)])
    assert governor.totals.cost == pytest.approx(0.1, abs=0.0015)
    assert governor.totals.cost <= 0.1 + 1e-9


def test_a_budget_without_any_price_says_what_to_give(virtually):
    model = Fake()
    with pytest.raises(SpecError, match="price="):
        gathered(virtually, Governor(budget=1.0), model, map(str, range(100)))
    assert model.asked.total() == 1


def test_a_model_that_is_not_async_says_so(virtually):
    with pytest.raises(SpecError, match=r"<lambda> is not a model.*async.*str"):
        gathered(virtually, Governor(), lambda *_: "A", "abc")


@pytest.mark.parametrize(
    "wrong", [{"concurrency": 0}, {"rpm": 0}, {"attempts": 0}, {"timeout": 0}, {"price": (-1, 0)}, {"row_timeout": -1}]
)
def test_settings_out_of_range(wrong):
    with pytest.raises(SpecError):
        Governor(**wrong)


def test_what_is_kept_is_not_asked_again(virtually, tmp_path):
    model = Fake(endpoint="http://here", tokens=(3, 4))
    with ReplyCache(tmp_path / "s") as store:
        first = Governor(store=store)
        assert gathered(virtually, first, model, "abc") == ["a", "b", "c"]
        second = Governor(store=store)
        assert gathered(virtually, second, model, "abcd") == ["a", "b", "c", "d"]
    assert (second.totals.cached, second.totals.calls, second.totals.input_tokens) == (3, 1, 3)
    assert model.asked == dict.fromkeys("abcd", 1)


def test_the_same_question_asked_at_the_same_time_is_asked_once(virtually, tmp_path):
    model = Fake(endpoint="http://here")
    with ReplyCache(tmp_path / "s") as store:
        governor = Governor(store=store)
        assert gathered(virtually, governor, model, "aaaaabbbbb") == list("aaaaabbbbb")
    assert model.asked == {"a": 1, "b": 1}
    assert governor.totals.cached == 8


def test_other_settings_samples_and_models_are_other_questions(virtually, tmp_path):
    async def ask_all(governor):
        plain = request("a")
        for each in (
            plain,
            request("a", temperature=1),
            replace(plain, sample=1),
            replace(plain, schema={"type": "object"}),
        ):
            await governor.ask(model, each)
        await governor.ask(Fake(endpoint="http://there"), plain)
        return governor.totals.calls

    model = Fake(endpoint="http://here")
    with ReplyCache(tmp_path / "s") as store:
        assert virtually(ask_all(Governor(store=store))) == 5


def test_a_callable_without_a_name_is_not_kept(virtually, tmp_path):
    model = Fake()
    with ReplyCache(tmp_path / "s") as store:
        for _ in range(2):
            gathered(virtually, Governor(store=store), model, "a")
    assert model.asked == {"a": 2}


def test_models_of_one_name_share_limits_but_each_is_asked_itself(virtually):
    one, other = Fake(endpoint="http://here"), Fake(endpoint="http://here", latency=0.1)
    governor = Governor()
    assert gathered(virtually, governor, one, "a") + gathered(virtually, governor, other, "b") == ["a", "b"]
    assert (one.asked, other.asked) == ({"a": 1}, {"b": 1})


def test_caps_go_on_counting_in_the_next_process_of_a_run(virtually, tmp_path):
    with ReplyCache(tmp_path / "s") as store:
        model = Fake(endpoint="http://here", tokens=(10, 10))
        gathered(virtually, Governor(store=store, run="r", max_calls=5), model, "abc")
        given = gathered(virtually, Governor(store=store, run="r", max_calls=5), model, "abcdef")
    assert model.asked.total() == 5
    assert given[:5] == list("abcde")
    assert given[5] == "! not asked: the cap of 5 calls is reached"


FAULTS = {
    "500": lambda: Http(500),
    "503": lambda: Http(503),
    "429": lambda: Http(429),
    "429 with Retry-After": lambda: Http(429, retry_after=0.05),
    "reset": lambda: ConnectionResetError("reset"),
    "time-out": lambda: "hang",
    "bad request": lambda: Http(400),
    "no verdict": lambda: ValueError("no verdict"),
}


@pytest.mark.parametrize("kind", [*FAULTS, "all"])
def test_faults_on_a_third_of_all_calls_lose_no_row_and_ask_none_twice(virtually, kind):
    rng = random.Random(7)  # noqa: S311
    failed = Counter()

    def faults(text, times):
        if text == "0" or rng.random() >= 0.3:
            return None
        failed[text] += 1
        return FAULTS[rng.choice(list(FAULTS)) if kind == "all" else kind]()

    model = Fake(faults, latency=0.01)
    governor = Governor(timeout=2)
    rows = [str(number) for number in range(5_000)]
    given = gathered(virtually, governor, model, rows)
    totals = governor.totals
    answered = [text for text, said in zip(rows, given, strict=True) if said == text]
    assert len(answered) + sum(said.startswith("! ") for said in given) == 5_000
    assert totals.failed == 5_000 - len(answered)
    assert totals.calls == model.asked.total()
    assert totals.calls - totals.retries == 5_000
    assert all(model.asked[text] == failed[text] + 1 for text in answered)
    if kind not in {"bad request", "no verdict", "all"}:
        assert len(answered) > 4_950
