"""The retry loop: how often, after which pauses, for asynchronous and for synchronous work alike."""

import asyncio

import pytest

from karat.models.governor import retry as module
from karat.models.governor.faults import Fault
from karat.models.governor.retry import RetryPolicy, retry, retry_blocking

BUSY = Fault("overload", "HTTP 429", retry_after=7.0)
LOST = Fault("transient", "ConnectionError: gone")
GONE = Fault("transient", "ConnectionRefusedError: refused", unreachable=True)
BAD = Fault("row", "HTTP 400")


def run(outcomes, policy, blocking, monkeypatch):
    """The last outcome, the number of attempts, and the pauses."""
    turn, pauses = iter(outcomes), []
    attempts = []

    def attempt():
        attempts.append(next(turn))
        return attempts[-1]

    async def attempt_async():
        return attempt()

    async def sleep(seconds):
        pauses.append(seconds)

    if blocking:
        monkeypatch.setattr(module.time, "sleep", pauses.append)
        last = retry_blocking(attempt, policy)
    else:
        last = asyncio.run(retry(attempt_async, policy, sleep))
    return last, len(attempts), pauses


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["yes"], ("yes", 1, [])),
        ([LOST, LOST, "yes"], ("yes", 3, [0.5, 1.0])),
        ([BAD], (BAD, 1, [])),
        ([LOST, BAD], (BAD, 2, [0.5])),
        ([BUSY, "yes"], ("yes", 2, [7.0])),
        ([GONE, GONE, "yes"], ("yes", 3, [0.5, 1.0])),
        ([GONE] * 9, (GONE, 3, [0.5, 1.0])),
        ([LOST] * 9, (LOST, 5, [0.5, 1.0, 2.0, 3.0])),
    ],
)
def test_only_what_may_pass_is_repeated(outcomes, expected, blocking, monkeypatch):
    policy = RetryPolicy(5, longest_pause=3.0, jitter=False, unreachable_attempts=3)
    assert run(outcomes, policy, blocking, monkeypatch) == expected


@pytest.mark.parametrize("blocking", [False, True])
def test_one_attempt_is_no_retry(blocking, monkeypatch):
    assert run([LOST, "yes"], RetryPolicy(1), blocking, monkeypatch) == (LOST, 1, [])


@pytest.mark.parametrize("blocking", [False, True])
def test_an_error_of_an_attempt_is_raised(blocking):
    def fail():
        raise LookupError("bug")

    async def fail_async():
        fail()

    with pytest.raises(LookupError, match="bug"):
        retry_blocking(fail, RetryPolicy()) if blocking else asyncio.run(retry(fail_async, RetryPolicy()))


def test_jitter_halves_a_pause_at_most_and_never_shortens_retry_after():
    policy = RetryPolicy(longest_retry_after=5.0)
    pauses = [policy.pause(3, LOST) for _ in range(200)]
    assert 1.0 <= min(pauses) < 1.2
    assert 1.8 < max(pauses) <= 2.0
    assert policy.pause(1, BUSY) == 5.0
