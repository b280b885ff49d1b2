"""Time that passes at once: an event loop whose clock jumps to the next thing to do."""

import asyncio
import selectors

import pytest


class Jumping(selectors.DefaultSelector):
    """Instead of sleeping, moves the clock."""

    now = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everyone waits, and nothing will ever happen"
            self.now += timeout + 1e-7  # late by a little, as real clocks are
        return ready


@pytest.fixture
def virtually():
    """Run a coroutine in a loop with a virtual clock."""

    def run(work):
        clock = Jumping()
        loop = asyncio.SelectorEventLoop(clock)
        loop.time = lambda: clock.now
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(work)

    return run
