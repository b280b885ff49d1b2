"""The one retry loop for everything that leaves the process: which faults are retried, how often, and when."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf
from typing import TypeVar

from karat.models.governor.faults import Fault

Out = TypeVar("Out")


@dataclass(frozen=True)
class RetryPolicy:
    """At most `attempts` attempts. The pauses between them, in seconds, double up to `longest_pause`.

    `jitter` multiplies a pause by a random number from 0.5 to 1. A longer Retry-After, up to `longest_retry_after`,
    replaces it. There are at most `unreachable_attempts` while there never was a connection.
    """

    attempts: int = 6
    first_pause: float = 0.5
    longest_pause: float = 30.0
    jitter: bool = True
    longest_retry_after: float = inf
    unreachable_attempts: float = inf

    def pause(self, attempt: int, fault: Fault) -> float:
        """Seconds to wait after the attempt of this number, from 1, has failed.

        >>> RetryPolicy(jitter=False).pause(3, Fault("transient", "HTTP 500"))
        2.0
        """
        pause = min(self.longest_pause, self.first_pause * 2 ** (attempt - 1))
        if self.jitter:
            pause *= random.uniform(0.5, 1)  # noqa: S311
        return float(max(pause, min(fault.retry_after or 0.0, self.longest_retry_after)))


async def retry(
    attempt: Callable[[], Awaitable[Out | Fault]],
    policy: RetryPolicy,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Out | Fault:
    """Await `attempt()` until it returns a result or a fault that is not retryable; else return the last fault."""
    for number in range(1, policy.attempts):
        outcome = await attempt()
        if not isinstance(outcome, Fault) or not outcome.retryable:
            return outcome
        if outcome.unreachable and number >= policy.unreachable_attempts:
            return outcome
        await sleep(policy.pause(number, outcome))
    return await attempt()


def retry_blocking(attempt: Callable[[], Out | Fault], policy: RetryPolicy) -> Out | Fault:
    """`retry` for synchronous code: the pauses block the calling thread."""

    async def call() -> Out | Fault:
        return attempt()

    async def sleep(seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251  (this coroutine runs in no event loop)

    try:
        retry(call, policy, sleep).send(None)  # runs to its end: nothing in it waits for an event loop
    except StopIteration as stop:
        outcome: Out | Fault = stop.value
    return outcome
