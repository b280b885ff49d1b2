"""The rate limiter of one endpoint, against endpoints of known capacity on a virtual clock."""

import asyncio
import random
from bisect import bisect_left
from collections import Counter
from itertools import pairwise

import pytest

from karat.core.errors import KaratError
from karat.models.governor.rate_limiter import RateLimiter


class Endpoint:
    """Answers in `trip` seconds, up to `bears` calls at a time; refuses the others at once."""

    def __init__(self, limiter, bears=10**9, trip=1.0, retry_after=None):
        self.limiter, self.bears, self.trip, self.retry_after = limiter, bears, trip, retry_after
        self.under_way = self.most = self.refusals = 0
        self.sent = []
        self.limits = []

    async def call(self, tokens=0, used=None):
        loop = asyncio.get_running_loop()
        while True:
            slot = await self.limiter.acquire(tokens)
            self.sent.append((loop.time(), tokens if used is None else used))
            self.limits.append(self.limiter.limit)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            refuse = self.under_way > self.bears
            await asyncio.sleep(0.01 if refuse else self.trip)
            self.under_way -= 1
            if refuse:
                self.refusals += 1
                self.limiter.record_refusal(slot, self.retry_after)
            else:
                self.limiter.record_reply(slot)
            self.limiter.release(slot, used)
            if not refuse:
                return


async def calls(endpoint, number, **given):
    return await asyncio.gather(*(endpoint.call(**given) for _ in range(number)))


def most_in_a_minute(sent, size=lambda each: 1):
    """The largest sum over all windows of 60 s."""
    times = [when for when, _ in sent]
    sums = [0]
    for each in sent:
        sums.append(sums[-1] + size(each))
    return max(sums[bisect_left(times, when + 60)] - sums[place] for place, when in enumerate(times))


def by_trip(endpoint):
    """How many calls were sent in each round trip since the first."""
    return list(Counter(int(when - endpoint.sent[0][0] + 0.001) for when, _ in endpoint.sent).values())


def test_the_limit_doubles_every_round_trip_until_the_ceiling(virtually):
    endpoint = Endpoint(RateLimiter(64, start=8))
    virtually(calls(endpoint, 300))
    assert by_trip(endpoint)[:5] == [8, 16, 32, 64, 64]
    assert endpoint.most == 64


def test_a_limit_that_holds_nobody_back_does_not_grow(virtually):
    async def one_by_one(endpoint):
        for _ in range(50):
            await endpoint.call()

    limiter = RateLimiter(64, start=8)
    virtually(one_by_one(Endpoint(limiter)))
    assert limiter.limit == 8


def test_the_ceiling_holds_below_the_start(virtually):
    endpoint = Endpoint(RateLimiter(3))
    virtually(calls(endpoint, 20))
    assert endpoint.most == 3


def test_refusals_of_one_round_trip_halve_the_limit_once(virtually):
    async def refusals():
        slots = [await limiter.acquire() for _ in range(8)]
        await asyncio.sleep(1)
        for slot in slots:
            limiter.record_refusal(slot)
            limiter.release(slot)

    limiter = RateLimiter(64, start=8)
    virtually(refusals())
    assert limiter.limit == 4


def test_after_a_refusal_the_limit_comes_back_fast_to_near_the_trouble_and_then_by_one(virtually):
    async def refused():
        limiter.limit = 32
        slot = await limiter.acquire()
        limiter.record_refusal(slot)
        limiter.release(slot)
        await calls(endpoint, 200)

    limiter = RateLimiter(64, start=8)
    endpoint = Endpoint(limiter)
    virtually(refused())
    assert by_trip(endpoint)[:5] == [16, 28, 29, 30, 31]


def test_it_settles_near_what_the_endpoint_bears(virtually):
    limiter = RateLimiter(256, start=8)
    endpoint = Endpoint(limiter, bears=40)
    virtually(calls(endpoint, 4000))
    assert endpoint.refusals < 4000 * 0.02
    assert 20 <= sum(endpoint.limits[1000:]) / len(endpoint.limits[1000:]) <= 42


def test_it_does_not_grow_where_more_calls_only_take_longer(virtually):
    class Queueing(Endpoint):
        """Eight at a time; the others wait inside."""

        async def call(self, **_):
            slot = await self.limiter.acquire()
            async with self.places:
                await asyncio.sleep(1)
            self.limiter.record_reply(slot)
            self.limiter.release(slot)

    limiter = RateLimiter(256, start=8)
    endpoint = Queueing(limiter)
    endpoint.places = asyncio.Semaphore(8)
    virtually(calls(endpoint, 600))
    assert limiter.limit < 64


def test_retry_after_holds_every_call_back(virtually):
    async def refused():
        loop = asyncio.get_running_loop()
        slot = await limiter.acquire()
        limiter.record_refusal(slot, retry_after=30)
        limiter.release(slot)
        began = loop.time()
        await asyncio.gather(endpoint.call(), endpoint.call())
        return [when - began for when, _ in endpoint.sent]

    limiter = RateLimiter(64, start=8)
    endpoint = Endpoint(limiter)
    assert virtually(refused()) == pytest.approx([30, 30])


def test_refusals_in_a_row_hold_longer_each_time_with_jitter(virtually):
    async def pauses():
        loop = asyncio.get_running_loop()
        times = []
        for _ in range(9):
            slot = await limiter.acquire()
            times.append(loop.time())
            limiter.record_refusal(slot)
            limiter.release(slot)
            await asyncio.sleep(0.001)
        return [after - before for before, after in pairwise(times)]

    random.seed(5)
    limiter = RateLimiter(64, start=8)
    taken = virtually(pauses())
    trips = [0, 1, 3, 7, 15, 31, 63, 127]
    for pause, most in zip(taken, (min(60, 0.5 * trip) for trip in trips), strict=True):
        assert most * 0.5 <= pause <= most + 0.01
    assert len({round(pause / trip, 6) for pause, trip in zip(taken[1:], trips[1:], strict=True)}) == 7


@pytest.mark.parametrize("rpm", [1, 7, 60, 600])
def test_requests_a_minute_are_never_exceeded_and_are_used(virtually, rpm):
    endpoint = Endpoint(RateLimiter(64, rpm=rpm, start=8), trip=0.3)
    virtually(calls(endpoint, 4 * rpm + 1))
    assert most_in_a_minute(endpoint.sent) == rpm
    assert endpoint.sent[-1][0] < 4 * 63


def test_tokens_a_minute_are_never_exceeded(virtually):
    async def mixed(endpoint):
        rng = random.Random(1)  # noqa: S311
        await asyncio.gather(*(endpoint.call(tokens=rng.randint(10, 300)) for _ in range(400)))

    endpoint = Endpoint(RateLimiter(64, tpm=5_000, start=8), trip=0.3)
    virtually(mixed(endpoint))
    most = most_in_a_minute(endpoint.sent, size=lambda each: each[1])
    assert 4_000 < most <= 5_000


def test_what_a_call_really_took_makes_place_for_others(virtually):
    endpoint = Endpoint(RateLimiter(64, tpm=1_000, start=8), trip=0.3)
    virtually(calls(endpoint, 40, tokens=500, used=50))
    assert most_in_a_minute(endpoint.sent, size=lambda each: each[1]) <= 1_000
    assert endpoint.sent[-1][0] < 200


def test_a_call_larger_than_a_minute_goes_alone(virtually):
    endpoint = Endpoint(RateLimiter(64, tpm=1_000, start=8), trip=0.3)
    virtually(calls(endpoint, 3, tokens=1_500))
    assert [int(when) for when, _ in endpoint.sent] == [0, 61, 122]


def test_first_come_first_served(virtually):
    async def queue():
        order = []

        async def call(name):
            slot = await limiter.acquire()
            order.append(name)
            await asyncio.sleep(1)
            limiter.release(slot)

        tasks = [asyncio.create_task(call(name)) for name in range(4)]
        await asyncio.sleep(1.5)
        tasks += [asyncio.create_task(call(name)) for name in range(4, 8)]
        await asyncio.gather(*tasks)
        return order

    limiter = RateLimiter(1)
    assert virtually(queue()) == list(range(8))


def test_a_cancelled_wait_neither_takes_nor_loses_a_slot(virtually):
    async def cancel():
        slot = await limiter.acquire()
        waiting = [asyncio.create_task(limiter.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # while it waits
        await asyncio.sleep(0)
        limiter.release(slot)  # the turn of the second
        waiting[1].cancel()  # before it knows
        await asyncio.wait(waiting[:2])
        limiter.release(await waiting[2])
        return limiter.active

    limiter = RateLimiter(1)
    assert virtually(cancel()) == 0


def test_a_freed_slot_is_filled_at_once(virtually):
    async def fill():
        slot = await limiter.acquire()
        waiting = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        limiter.release(slot)
        taken = limiter.active
        await waiting
        return taken

    limiter = RateLimiter(1)
    assert virtually(fill()) == 1


@pytest.mark.parametrize("proof", [True, False])
def test_a_doubt_waits_for_what_others_say(virtually, proof):
    async def doubt():
        slots = [await limiter.acquire() for _ in range(3)]
        doubts = [asyncio.create_task(limiter.wait_for_proof()) for _ in range(2)]
        await asyncio.sleep(0)
        assert not any(each.done() for each in doubts)
        if proof:
            limiter.record_reply(slots[2])
        limiter.release(slots[2])
        return [await each for each in doubts]

    limiter = RateLimiter(8)
    assert virtually(doubt()) == [proof, proof]


def test_one_loop_after_another_but_not_two_at_once(virtually):
    async def begin():
        return await limiter.acquire()

    async def go_on():
        limiter.release(slot)
        await Endpoint(limiter).call()

    limiter = RateLimiter(8)
    slot = virtually(begin())
    with pytest.raises(KaratError, match="another event loop"):
        virtually(begin())
    virtually(go_on())
    assert limiter.active == 0
