"""An endpoint that gives no reply: what is told meanwhile, and when the run ends; on a virtual clock."""

import asyncio
from contextlib import suppress
from itertools import pairwise

import pytest

from karat.models.governor.faults import ModelError, RequestError
from karat.models.governor.governor import FIRST, Governor
from karat.models.request import Request


class Http(Exception):
    def __init__(self, status, retry_after=None):
        super().__init__("no luck")
        self.status_code = status
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


class Endpoint:
    """Takes `latency` seconds, and then raises what `fault(number of the call, seconds)` gives, or answers."""

    endpoint, name = "http://host/v1", "small"

    def __init__(self, fault, latency=0.2):
        self.fault, self.latency, self.calls = fault, latency, 0

    async def __call__(self, *_):
        self.calls += 1
        await asyncio.sleep(self.latency)
        if (fault := self.fault(self.calls, asyncio.get_running_loop().time())) is not None:
            raise fault
        return "yes"


def told(virtually, endpoint, rows=200, **options):
    """The lines that are told with their times, the time at the end, and how it ended."""
    lines = []

    async def work():
        clock = asyncio.get_running_loop().time
        governor = Governor(report=lambda line: lines.append((clock(), line)), **options)

        async def ask(_):
            with suppress(RequestError):
                return await governor.ask(endpoint, Request([{"role": "user", "content": "?"}]))

        try:
            await governor.gather(ask, range(rows))
        except ModelError as error:
            return clock(), str(error)
        return clock(), ""

    ended, message = virtually(work())
    return lines, ended, message


@pytest.mark.parametrize(
    ("status", "retry_after", "least", "most"),
    [(429, None, 120, 200), (429, 30, 120, 190), (429, 500, 500, 520), (503, None, 600, 700), (503, 30, 600, 670)],
)
def test_refusals_for_ever_are_told_and_end_the_run(status, retry_after, least, most, virtually):
    """The end comes with the first call after the time, of which the pauses are at most a minute, or Retry-After."""
    endpoint = Endpoint(lambda *_: Http(status, retry_after))
    lines, ended, message = told(virtually, endpoint)
    assert least < ended < most
    assert f"small at http://host/v1 has given no reply for {ended:.0f} s: HTTP {status}: no luck" == message
    assert lines[0][0] == pytest.approx(10, abs=0.1)
    assert f"waiting for small at http://host/v1: no reply for 10 s; HTTP {status}: no luck; " in lines[0][1]
    assert (f"it asks to wait {retry_after} s (Retry-After)" in lines[0][1]) == (retry_after is not None)
    assert f"the run ends if there is none in {110 if status == 429 else 590} s; Ctrl-C ends it now" in lines[0][1]
    times = [when for when, _ in lines]
    assert len(times) <= 5
    assert all(after - before > 59 for before, after in pairwise(times))


def test_an_endpoint_that_has_replied_may_refuse_for_ten_minutes(virtually):
    endpoint = Endpoint(lambda number, _: Http(429) if number > 20 else None)
    _, ended, message = told(virtually, endpoint)
    assert 600 < ended < 700
    assert "has given no reply for" in message


def test_what_replies_in_time_is_not_told(virtually):
    endpoint = Endpoint(lambda number, _: Http(429, 5) if number % 7 == 1 else None, latency=1)
    assert told(virtually, endpoint)[::2] == ([], "")
    slow = Endpoint(lambda number, _: None, latency=25)
    lines, _, message = told(virtually, slow)
    assert (len(lines), message) == (1, "")  # before its first reply
    assert lines[0][1].startswith("waiting for small at http://host/v1: no reply for 10 s; the run ends")


def test_a_pause_that_ends_in_time_ends_no_run(virtually):
    lines, _, message = told(virtually, Endpoint(lambda _, now: Http(429) if now < 100 else None))
    assert message == ""
    assert len(lines) == 2


def test_faults_that_may_pass_end_a_run_after_ten_requests(virtually):
    endpoint = Endpoint(lambda *_: Http(500))
    _, ended, message = told(virtually, endpoint)
    assert ended < 40
    assert f"{FIRST} requests in a row got no reply; the last error: HTTP 500: no luck" in message


def test_time_without_requests_is_no_silence(virtually):
    async def work():
        governor = Governor(attempts=1)
        for status in (503, None, 503, 503):
            endpoint.fault = lambda *_, status=status: status and Http(status)
            with suppress(RequestError):
                await governor.ask(endpoint, Request([{"role": "user", "content": "?"}]))
            await asyncio.sleep(10_000)

    endpoint = Endpoint(None)
    virtually(work())
    assert endpoint.calls == 4
