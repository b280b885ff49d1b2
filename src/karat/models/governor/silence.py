"""Detects an endpoint that stopped replying: warns, and ends the run after too long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite

from karat.models.governor.faults import Fault, ModelError

TELL = 10.0  # seconds without a reply until the first line
AGAIN, LONGEST = 60.0, 600.0  # seconds until the next one, which double
REFUSED = 120.0  # seconds of 429 that are enough where there never was a reply


class Silence:
    """Since when the endpoint `name` has given no reply, `patience` (seconds) for it, and whom to tell.

    Time in which no request waits does not count.
    """

    def __init__(self, name: str, patience: float, report: Callable[[str], None] | None = None) -> None:
        self._name, self._patience, self._report = name, patience, report
        self._asking, self._since, self._next, self._pause = 0, 0.0, 0.0, AGAIN
        self._fault: Fault | None = None
        self._proven = False
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def asking(self) -> Iterator[None]:
        """For each request, while it waits for its reply."""
        if not self._asking:
            self._since, self._fault = asyncio.get_running_loop().time(), None
            self._set_timer(TELL)
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking and self._timer is not None:
                self._timer.cancel()

    def end(self) -> None:
        """A reply has come."""
        self._since, self._fault, self._proven = asyncio.get_running_loop().time(), None, True

    def go_on(self, fault: Fault) -> None:
        """A call has failed, and could be repeated; raises `ModelError` if there was no reply for too long."""
        self._fault = fault
        silent = asyncio.get_running_loop().time() - self._since
        if silent > self._allowed():
            raise ModelError(f"{self._name} has given no reply for {silent:.0f} s: {fault.message}")

    def _allowed(self) -> float:
        refused = self._fault is not None and self._fault.status == 429 and not self._proven
        return min(REFUSED, self._patience) if refused else self._patience

    def _set_timer(self, seconds: float) -> None:
        if self._report is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        silent = now - self._since
        if self._report is not None and silent >= TELL and now >= self._next and (self._fault or not self._proven):
            self._report(self._describe(silent))
            self._next, self._pause = now + self._pause, min(2 * self._pause, LONGEST)
        self._set_timer(max(TELL - silent, 1.0))

    def _describe(self, silent: float) -> str:
        fault = self._fault
        parts = [f"waiting for {self._name}: no reply for {silent:.0f} s", fault.message if fault else ""]
        if fault and fault.retry_after:
            parts.append(f"it asks to wait {fault.retry_after:.0f} s (Retry-After)")
        if isfinite(self._patience):
            parts.append(f"the run ends if there is none in {max(0.0, self._allowed() - silent):.0f} s")
        return "; ".join(filter(None, [*parts, "Ctrl-C ends it now"]))
