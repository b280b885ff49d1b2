"""A connection to Phoenix that repeats requests after lost connections, timeouts, 429 and 5xx.

A server that is restarted is waited for two minutes. A 500 is repeated only a few times: it may be about the request.
Repeating is safe: reading changes nothing, and logging the same annotation again replaces it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import httpx

from karat.models.governor.faults import Fault, classify
from karat.models.governor.retry import RetryPolicy, retry_blocking

# 1, 2, 4, 8 seconds, then 15 seconds seven times: two minutes
RETRIES = RetryPolicy(12, first_pause=1.0, longest_pause=15.0, jitter=False, longest_retry_after=60.0)
ATTEMPTS_AT_500 = 4  # seven seconds
TIMEOUT = 60.0  # seconds without a byte


class RetryingClient(httpx.Client):
    """An httpx client that repeats requests.

    Unless `wait`, it repeats them only after the server has responded once, so a wrong address fails at once.
    """

    def __init__(self, *, wait: bool, **options: Any) -> None:
        super().__init__(timeout=httpx.Timeout(TIMEOUT, connect=10.0), **options)
        self._retries_connecting = wait

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        send = partial(super().send, request, **options)
        errors = 0

        def attempt() -> httpx.Response | Fault:
            nonlocal errors
            outcome = self._attempt(send)
            errors += isinstance(outcome, Fault) and outcome.status == 500
            return replace(outcome, kind="row") if isinstance(outcome, Fault) and errors == ATTEMPTS_AT_500 else outcome

        outcome = retry_blocking(attempt, RETRIES)
        if not isinstance(outcome, Fault):
            return outcome
        if isinstance(outcome.error, httpx.HTTPStatusError):
            return outcome.error.response
        raise outcome.error or AssertionError

    def _attempt(self, send: Callable[[], httpx.Response]) -> httpx.Response | Fault:
        try:
            response = send()
        except httpx.TransportError as error:
            if not self._retries_connecting:
                raise
            return classify(error)
        self._retries_connecting = True
        return response if response.is_success else response_fault(response)


def response_fault(response: httpx.Response) -> Fault:
    """The fault that an error response stands for."""
    text = " ".join(response.text.split())[:300] or response.reason_phrase
    return classify(httpx.HTTPStatusError(text, request=response.request, response=response))
