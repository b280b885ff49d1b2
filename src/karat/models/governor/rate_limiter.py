"""How much an endpoint is asked at a time, learnt from how it answers."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass
from math import inf
from statistics import median

from karat.core.errors import KaratError

START = 8  # calls at a time before anything is known
MINUTE = 61.0  # seconds; one more than a minute, for calls are late on the way in the first and in time in the next
QUICK = 0.05  # seconds; below this a longer latency says nothing about the endpoint
LONGEST_PAUSE = 60.0  # seconds, where the endpoint does not say itself


@dataclass(slots=True)
class Slot:
    """A call that may run: when it began, and the tokens it counts for."""

    began: float
    tokens: int


class Lane:
    """The way to one model of one endpoint: first come, first served, at most `limit` calls at a time.

    `limit` begins at 8 and doubles every round trip until the first trouble; after it, up to seven eighths of where
    the trouble was, and then grows by one a round trip. It grows only up to `concurrency`, while it is what holds calls
    back, and while the median latency stays below twice the best of late. The endpoint's refusal halves it, once a
    round trip. Retry-After holds every call back; so do refusals in a row without it, a round trip the second one
    and twice as long each one after, with jitter.

    `rpm` and `tpm` (requests and tokens) hold in every minute. A call of more tokens than `tpm` goes in a minute of
    its own.
    """

    def __init__(self, concurrency: int, rpm: int | None = None, tpm: int | None = None) -> None:
        self.concurrency = concurrency
        self.limit = min(START, concurrency)
        self.active = 0
        self.proven = False
        """Whether the endpoint has ever answered."""
        self.lost = 0
        """Questions given up since its last answer."""
        self._rpm = inf if rpm is None else rpm
        self._tpm = inf if tpm is None else tpm
        self._minute: deque[Slot] | None = None if rpm is None and tpm is None else deque()
        self._tokens = 0  # of the calls in the last minute
        self._waiting: deque[tuple[int, asyncio.Future[Slot]]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._open_at = -inf  # nothing goes before
        self._cut_at = -inf  # calls begun before the last halving have nothing new to say
        self._refusals = 0  # in a row
        self._trouble = inf  # the limit at which the last trouble was
        self._credit = 0  # answers towards the next one more
        self._steady = True
        self._latencies: deque[float] = deque(maxlen=32)
        self._answers_left = 16  # of this round trip
        self._medians: deque[float] = deque(maxlen=16)
        self._doubts: list[asyncio.Future[None]] = []

    async def enter(self, tokens: int = 0) -> Slot:
        """Wait for the turn of a call that will take about so many tokens."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._move_to(loop)
        now = loop.time()
        if not self._waiting and self._free(now, tokens):
            return self._take(now, tokens)
        future: asyncio.Future[Slot] = loop.create_future()
        self._waiting.append((tokens, future))
        self._admit()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # its turn came as it was told to stop
                self.leave(future.result())
            raise

    def leave(self, slot: Slot, tokens: int | None = None) -> None:
        """Make place for the next; `tokens` is what the call really took."""
        self.active -= 1
        if tokens is not None and self._minute is not None and slot.began + MINUTE > self._now():
            self._tokens += tokens - slot.tokens
            slot.tokens = tokens
        if self._doubts:
            self._settle_doubts()
        if self._waiting:
            self._admit()

    def answered(self, slot: Slot) -> None:
        """Learn from an answer, before its call leaves."""
        self.proven, self.lost, self._refusals = True, 0, 0
        self._watch(self._now() - slot.began)
        if slot.began > self._cut_at and self._steady and self.active >= self.limit:
            self._credit += 1
            if self.limit < self.concurrency and (self.limit < self._trouble * 7 / 8 or self._credit >= self.limit):
                self.limit += 1
                self._credit = 0

    def refused(self, slot: Slot, retry_after: float | None = None) -> None:
        """Learn from a refusal (429, 503), before its call leaves."""
        now = self._now()
        if slot.began > self._cut_at:
            self._cut_at, self._trouble = now, self.limit
            self.limit, self._credit = max(1, self.limit // 2), 0
            pause = min(LONGEST_PAUSE, self._trip() * (2**self._refusals - 1))
            self._hold(now + pause * random.uniform(0.5, 1))  # noqa: S311
            self._refusals += 1
        if retry_after is not None:
            self._hold(now + retry_after)

    async def vouched(self) -> bool:
        """Whether the endpoint ever answered, once the calls under way have had their say."""
        if not self.proven:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._doubts.append(future)
            self._settle_doubts()
            await future
        return self.proven

    def _settle_doubts(self) -> None:
        """Those who doubt the endpoint wait until it is proven or all under way doubt it."""
        self._doubts = [future for future in self._doubts if not future.done()]  # those cancelled are gone
        if self.proven or len(self._doubts) >= self.active:
            for future in self._doubts:
                future.set_result(None)

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        if self.active:
            raise KaratError("this governor is at work in another event loop: give each loop that runs at once its own")
        self._loop, self._timer = loop, None
        self._waiting.clear()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _free(self, now: float, tokens: int) -> bool:
        if self.active >= self.limit or now < self._open_at:
            return False
        minute = self._minute
        if minute is None:
            return True
        while minute and minute[0].began + MINUTE <= now:
            self._tokens -= minute.popleft().tokens
        return not minute or (len(minute) < self._rpm and self._tokens + tokens <= self._tpm)

    def _take(self, now: float, tokens: int) -> Slot:
        self.active += 1
        slot = Slot(now, tokens)
        if self._minute is not None:
            self._minute.append(slot)
            self._tokens += tokens
        return slot

    def _admit(self) -> None:
        """Let go whom there is place for; else come again when time alone may make place."""
        while self._waiting:
            tokens, future = self._waiting[0]
            if future.done():  # cancelled
                self._waiting.popleft()
                continue
            now = self._now()
            if not self._free(now, tokens):
                break
            self._waiting.popleft()
            future.set_result(self._take(now, tokens))
        else:
            return
        if self.active < self.limit:
            oldest = self._minute[0].began + MINUTE if self._minute else -inf
            self._come_again(self._open_at if now < self._open_at else oldest)

    def _come_again(self, when: float) -> None:
        if self._timer is not None and self._timer.when() <= when and not self._timer.cancelled():
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._admit()

    def _hold(self, until: float) -> None:
        self._open_at = max(self._open_at, until)

    def _watch(self, latency: float) -> None:
        """Say once a round trip whether latency holds."""
        self._latencies.append(latency)
        self._answers_left -= 1
        if not self._answers_left:
            self._answers_left = max(16, self.limit)
            self._medians.append(median(self._latencies))
            self._steady = self._medians[-1] < 2 * max(QUICK, min(self._medians))
            if not self._steady:
                self._trouble = self.limit

    def _trip(self) -> float:
        return median(self._latencies) if self._latencies else 0.5
