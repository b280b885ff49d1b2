"""When a call to an endpoint may start: a concurrency limit that adapts to its replies, and requests a minute."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass
from math import inf
from statistics import median

from karat.core.errors import KaratError

MINUTE = 61.0  # seconds; one more than a minute, because calls arrive with varying delay
SHORT_LATENCY = 0.05  # seconds; differences below it are noise
LONGEST_PAUSE = 60.0  # seconds, if the endpoint sends no Retry-After


@dataclass(slots=True)
class Slot:
    """A call that may run: when it started, and the tokens it counts for."""

    start: float
    tokens: int


class RateLimiter:
    """The calls to one model of one endpoint: first come, first served, at most `limit` at a time.

    `limit` begins at `start`, by default `concurrency`, and doubles every round trip until the first refusal or
    slow-down, later up to seven eighths of the limit at that time; then it grows by one a round trip. It grows only up
    to `concurrency`, while calls wait for it, and while the median latency is below twice the lowest recent one. A
    refusal halves it, once a round trip. Retry-After delays all calls; so do consecutive refusals without it, the
    second one by a round trip and each later one by twice as long, with jitter. `rpm` and `tpm` are the most requests
    and tokens in any minute; a call of more tokens than `tpm` gets a minute of its own.
    """

    def __init__(
        self, concurrency: int, rpm: int | None = None, tpm: int | None = None, *, start: int | None = None
    ) -> None:
        self.concurrency, self.limit, self.active = concurrency, min(start or concurrency, concurrency), 0
        self.proven = False  # whether the endpoint has ever replied
        self._rpm, self._tpm = inf if rpm is None else rpm, inf if tpm is None else tpm
        self._minute: deque[Slot] | None = None if rpm is None and tpm is None else deque()
        self._tokens = 0  # of the calls in this minute
        self._waiting: deque[tuple[int, asyncio.Future[Slot]]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._open_at = -inf  # no call starts earlier
        self._halved_at = -inf  # refusals of calls that started earlier are ignored
        self._refusals = 0  # in a row
        self._ceiling = inf  # the limit at the last refusal or slow-down
        self._credit = 0  # replies since the limit last grew
        self._steady = True
        self._latencies: deque[float] = deque(maxlen=32)
        self._replies_left = 16  # of this round trip
        self._medians: deque[float] = deque(maxlen=16)
        self._unproven: list[asyncio.Future[None]] = []

    async def acquire(self, tokens: int = 0) -> Slot:
        """Wait until a call of about so many tokens may start."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self.active:
                raise KaratError("this governor is in use in another event loop: use one governor for each loop")
            self._loop, self._timer = loop, None
            self._waiting.clear()
        now = loop.time()
        if not self._waiting and self._free(now, tokens):
            return self._take(now, tokens)
        future: asyncio.Future[Slot] = loop.create_future()
        self._waiting.append((tokens, future))
        self._start_waiting()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # the slot was granted just before the cancellation
                self.release(future.result())
            raise

    def release(self, slot: Slot, tokens: int | None = None) -> None:
        """Let the next call start; `tokens` is what this call really took."""
        self.active -= 1
        if tokens is not None and self._minute is not None and slot.start + MINUTE > self._now():
            self._tokens += tokens - slot.tokens
            slot.tokens = tokens
        if self._unproven:
            self._settle_proof()
        if self._waiting:
            self._start_waiting()

    def record_reply(self, slot: Slot) -> None:
        """Adapt the limit to a reply, before its slot is released."""
        self.proven, self._refusals = True, 0
        self._watch_latency(self._now() - slot.start)
        if slot.start > self._halved_at and self._steady and self.active >= self.limit:
            self._credit += 1
            if self.limit < self.concurrency and (self.limit < self._ceiling * 7 / 8 or self._credit >= self.limit):
                self.limit += 1
                self._credit = 0

    def record_refusal(self, slot: Slot, retry_after: float | None = None) -> None:
        """Adapt the limit to a refusal (429, 503), before its slot is released."""
        now = self._now()
        if slot.start > self._halved_at:
            self._halved_at, self._ceiling = now, self.limit
            self.limit, self._credit = max(1, self.limit // 2), 0
            round_trip = median(self._latencies) if self._latencies else 0.5
            pause = min(LONGEST_PAUSE, round_trip * (2**self._refusals - 1))
            self._open_at = max(self._open_at, now + pause * random.uniform(0.5, 1))  # noqa: S311
            self._refusals += 1
        if retry_after is not None:
            self._open_at = max(self._open_at, now + retry_after)

    async def wait_for_proof(self) -> bool:
        """Whether the endpoint has ever replied; waits until one of the running calls has or none can any more."""
        if not self.proven:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._unproven.append(future)
            self._settle_proof()
            await future
        return self.proven

    def _settle_proof(self) -> None:
        """End `wait_for_proof` once the endpoint is proven or all running calls are waiting for proof."""
        self._unproven = [future for future in self._unproven if not future.done()]  # not cancelled
        if self.proven or len(self._unproven) >= self.active:
            for future in self._unproven:
                future.set_result(None)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _free(self, now: float, tokens: int) -> bool:
        if self.active >= self.limit or now < self._open_at:
            return False
        if (minute := self._minute) is None:
            return True
        while minute and minute[0].start + MINUTE <= now:
            self._tokens -= minute.popleft().tokens
        return not minute or (len(minute) < self._rpm and self._tokens + tokens <= self._tpm)

    def _take(self, now: float, tokens: int) -> Slot:
        self.active += 1
        slot = Slot(now, tokens)
        if self._minute is not None:
            self._minute.append(slot)
            self._tokens += tokens
        return slot

    def _start_waiting(self) -> None:
        """Start the waiting calls that may start now; set a timer if only time holds back the next one."""
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
            oldest = self._minute[0].start + MINUTE if self._minute else -inf
            self._set_timer(self._open_at if now < self._open_at else oldest)

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            if self._timer.when() <= when and not self._timer.cancelled():
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._start_waiting()

    def _watch_latency(self, latency: float) -> None:
        """Decide once a round trip whether latency is steady."""
        self._latencies.append(latency)
        self._replies_left -= 1
        if not self._replies_left:
            self._replies_left = max(16, self.limit)
            self._medians.append(median(self._latencies))
            self._steady = self._medians[-1] < 2 * max(SHORT_LATENCY, min(self._medians))
            if not self._steady:
                self._ceiling = self.limit
