"""A connection to Phoenix that asks again: lost connections, slow answers, 429 and 5xx pass, or are told in the end.

Asking again is safe: reading changes nothing, and what is logged takes the place of the same logged before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx

from karat.models.governor.faults import Fault, classify

PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)  # seconds: a server that is started anew is back within them
LONGEST = 60.0  # seconds, of a pause that the server asks for
TIMEOUT = 60.0  # seconds without a byte


class Patient(httpx.Client):
    """An httpx client that asks again, and shows `answered` each good answer.

    Unless it is told to `wait`, it does so only of a server that has answered before: a wrong address is told at once.
    """

    def __init__(self, *, wait: bool, answered: Callable[[httpx.Response], None], **given: Any) -> None:
        super().__init__(timeout=httpx.Timeout(TIMEOUT, connect=10.0), **given)
        self._waits = wait
        self._answered = answered

    def send(self, request: httpx.Request, **given: Any) -> httpx.Response:
        pauses = iter(PAUSES)
        while True:
            pause = next(pauses, None)
            try:
                response = super().send(request, **given)
            except httpx.TransportError as error:
                if pause is None or not self._waits:
                    raise
                fault = classify(error)
            else:
                self._waits = True
                if response.is_success:
                    self._answered(response)
                    return response
                fault = refusal(response)
                if pause is None or fault.kind not in {"overload", "transient"}:
                    return response
            time.sleep(max(pause, min(fault.retry_after or 0.0, LONGEST)))


def refusal(response: httpx.Response) -> Fault:
    """What an answer means that is an error."""
    said = " ".join(response.text.split())[:300] or response.reason_phrase
    return classify(httpx.HTTPStatusError(said, request=response.request, response=response))
