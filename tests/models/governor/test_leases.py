"""Four workers that share the permits of one lender: the limits hold over all of them, on a virtual clock."""

import asyncio
import itertools

import pytest

from karat.core.errors import DataError
from karat.models.governor.budget import Limits
from karat.models.governor.faults import RequestError
from karat.models.governor.governor import Governor
from karat.models.governor.leases import LeasedPermits, Lender
from karat.models.governor.permits import Call
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply, Request

WORKERS = 4


class Model:
    """Answers after `latency`; all workers send to it."""

    endpoint, name = "http://here", "fake"

    def __init__(self, latency=0.2, cost=None, faults=lambda number: None):
        self.latency, self.cost, self.faults = latency, cost, faults
        self.texts, self.times, self.running, self.most = [], [], 0, 0

    async def __call__(self, messages, *_):
        self.texts.append(messages[-1]["content"])
        self.times.append(asyncio.get_running_loop().time())
        number, self.running = len(self.texts), self.running + 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.latency)
            if (fault := self.faults(number)) is not None:
                raise fault
        finally:
            self.running -= 1
        return Reply(messages[-1]["content"], 10, 10, cost=self.cost)


class Line:
    """The way to the lender, with the delay of a network; messages wait while it is not `open`."""

    def __init__(self, lender):
        self.lender, self.open = lender, asyncio.Event()
        self.open.set()

    async def send(self, method, *arguments):
        await asyncio.sleep(0.002)
        await self.open.wait()
        return await getattr(self.lender, method)(*arguments)

    async def post(self, *arguments):
        return await self.send("post", *arguments)

    async def collect(self, *arguments):
        return await self.send("collect", *arguments)


def borrow(line, *, caches=False, **limits):
    governor = Governor(**limits)
    governor.permits = LeasedPermits(line, caches=caches)
    return governor


async def ask(governor, model, text):
    try:
        return (
            await governor.ask(model, Request([{"role": "user", "content": str(text)}], settings={"max_tokens": 10}))
        ).text
    except RequestError as error:
        return f"! {error}"


def score(virtually, model, rows, *, lender=None, caches=False, **limits):
    """The texts, or why there are none, that four workers get; the lender; and what they used."""
    lender = lender or Lender(Limits(**limits))

    async def work(worker):
        governor = borrow(Line(lender), caches=caches, **limits)
        replies = await governor.gather(lambda text: ask(governor, model, text), rows[worker::WORKERS])
        await governor.permits.close()
        return replies

    async def run():
        replies = await asyncio.gather(*map(work, range(WORKERS)))
        return list(itertools.chain(*replies)), await lender.usage()

    return virtually(run())


def most_in_a_minute(times):
    return max(sum(start <= time < start + 60 for time in times) for start in times)


def test_the_rate_holds_in_every_minute(virtually):
    model = Model()
    replies, (totals, *_) = score(virtually, model, range(100), rpm=30)
    assert sorted(map(int, replies)) == list(range(100))
    assert most_in_a_minute(model.times) == 30
    assert max(model.times) < 4 * 61
    assert totals.calls == 100


def test_the_tokens_hold_in_every_minute(virtually):
    model = Model()
    score(virtually, model, range(40), tpm=200)
    assert most_in_a_minute(model.times) <= 10


def test_so_many_calls_run_at_the_same_time(virtually):
    model = Model()
    score(virtually, model, range(2_000), concurrency=24)
    assert 20 <= model.most <= 24


@pytest.mark.parametrize("faults", [lambda number: None, lambda number: number % 3 == 0 and ConnectionResetError()])
def test_calls_are_capped_retries_included(virtually, faults):
    model = Model(faults=lambda number: faults(number) or None)
    replies, (totals, calls, _) = score(virtually, model, range(200), max_calls=50)
    assert len(model.texts) == calls == totals.calls == 50
    refused = sum("the cap of 50 calls is reached" in text for text in replies)
    assert refused == totals.capped + totals.failed == 200 - (totals.calls - totals.retries - totals.failed)


@pytest.mark.parametrize("price", [None, (100.0, 100.0)])
def test_the_budget_is_not_exceeded(virtually, price):
    model = Model(cost=None if price else 0.002)
    replies, (totals, _, spent) = score(virtually, model, range(200), budget=0.1, price=price)
    assert 0.09 <= spent <= 0.1 + 1e-9
    assert spent == pytest.approx(totals.cost) == pytest.approx(len(model.texts) * 0.002)
    assert sum(text.startswith("! not asked") for text in replies) == 200 - len(model.texts)


def test_equal_requests_are_sent_once_and_their_replies_kept(virtually, tmp_path):
    model, path = Model(), str(tmp_path / "replies.sqlite")
    replies, (totals, *_) = score(
        virtually, model, [1, 1, 1, 1, 2, 2, 3, 3], lender=Lender(Limits(), path), caches=True
    )
    assert sorted(model.texts) == ["1", "2", "3"]
    assert (totals.calls, totals.cached, sorted(replies)) == (3, 5, list("11112233"))


def test_a_run_that_goes_on_has_what_is_left_of_its_caps(virtually, tmp_path):
    model, path = Model(), str(tmp_path / "replies.sqlite")
    for rows, calls in ((range(12), 12), (range(40), 20)):
        lender = Lender(Limits(max_calls=20), path, "run")
        replies, _ = score(virtually, model, rows, lender=lender, caches=True)
        assert len(model.texts) == len(set(model.texts)) == calls
    assert sum(text.startswith("!") for text in replies) == 20
    with ReplyCache(path) as store:
        assert store.spent("run")[0] == 20


def test_what_a_dead_worker_holds_comes_back(virtually, tmp_path):
    """It holds the only place and two requests; its calls stay counted, and others send its requests."""
    model, path = Model(latency=1), str(tmp_path / "replies.sqlite")
    lender = Lender(Limits(concurrency=1, budget=1.0, max_calls=5, price=(1.0, 1.0)), path, "run", lease=15)

    async def run():
        dead, alive = (borrow(Line(lender), caches=True, budget=1.0, price=(1.0, 1.0)) for _ in range(2))
        tasks = [asyncio.create_task(ask(dead, model, text)) for text in "ab"]
        await asyncio.sleep(0.5)
        dead.permits._line.open.clear()
        for task in tasks:
            task.cancel()
        started = asyncio.get_running_loop().time()
        replies = await asyncio.gather(*(ask(alive, model, text) for text in "abcd"))
        seconds = asyncio.get_running_loop().time() - started
        return replies, await ask(alive, model, "e"), seconds, await lender.usage()

    replies, refused, seconds, (_, calls, spent) = virtually(run())
    assert replies == list("abcd")
    assert sorted(model.texts) == list("aabcd")
    assert refused == "! not asked: the cap of 5 calls is reached"
    assert 15 <= seconds <= 25
    assert calls == 5
    assert spent > 4 * 20e-6  # the dead worker's call counts as estimated


def test_a_worker_that_stood_still_goes_on(virtually, tmp_path):
    """Its lease has ended; the reply for which it paid is kept, and its other requests are sent."""
    model, path = Model(latency=1), str(tmp_path / "replies.sqlite")
    lender = Lender(Limits(concurrency=2, budget=1.0, price=(1.0, 1.0)), path, "run", lease=15)

    async def run():
        governor = borrow(Line(lender), caches=True, budget=1.0, price=(1.0, 1.0))
        tasks = [asyncio.create_task(ask(governor, model, number)) for number in range(9)]
        await asyncio.sleep(1.5)
        governor.permits._line.open.clear()
        await asyncio.sleep(40)
        governor.permits._line.open.set()
        return await asyncio.gather(*tasks), await lender.usage()

    replies, (_, calls, spent) = virtually(run())
    assert replies == list("012345678")
    assert len(model.texts) == len(set(model.texts)) == 9
    assert calls == 9
    assert spent == pytest.approx(9 * 20e-6)
    with ReplyCache(path) as store:
        assert store.spent("run") == (9, pytest.approx(9 * 20e-6))


def test_a_permit_that_nobody_uses_is_given_back(virtually, tmp_path):
    lender = Lender(Limits(concurrency=1, max_calls=1), str(tmp_path / "replies.sqlite"), "run")

    async def run():
        permits = LeasedPermits(Line(lender), caches=True)
        wanted = asyncio.create_task(permits.acquire(Call("model")))
        await asyncio.sleep(0.001)  # the message is on its way
        wanted.cancel()
        await asyncio.sleep(0.1)
        permit = await permits.acquire(Call("model"))
        await permits.settle(permit, Reply("yes"), 0.1)
        permits.release(permit)
        return await lender.usage()

    assert virtually(run())[1] == 1
    with ReplyCache(tmp_path / "replies.sqlite") as store:
        assert store.spent("run")[0] == 1


def test_at_the_end_running_calls_end_and_no_other_starts(virtually):
    model, lender = Model(latency=1), Lender(Limits(concurrency=2))

    async def run():
        governor = borrow(Line(lender))
        asking = asyncio.create_task(governor.gather(lambda text: ask(governor, model, text), range(9)))
        await asyncio.sleep(1.5)
        await lender.drain(30)
        assert asyncio.get_running_loop().time() < 3
        asking.cancel()
        return await lender.usage()

    totals, calls, _ = virtually(run())
    assert len(model.texts) == totals.calls == calls == 4
    assert totals.output_tokens == 40


def test_a_lender_that_dies_is_an_error(virtually):
    class Dead:
        async def post(self, *_):
            raise ConnectionError("gone")

        collect = post

    with pytest.raises(DataError, match=r"the process that keeps the limits of the judges has ended: .*gone"):
        virtually(ask(borrow(Dead()), Model(), "a"))
