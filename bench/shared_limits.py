"""Runs that ask one endpoint and know nothing of each other: `python bench/shared_limits.py [RUNS [RETRY_AFTER]]`.

The endpoint replies after 100 ms, and refuses more than 40 calls a second. Each run has 600 rows and its own governor.
Printed are how long each run took, its unscored rows, and the replies and refusals of all.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import karat
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.request import Reply
from karat.models.testing.fake import FakeModel

RATE, ROWS, SECONDS = 40.0, 600, 0.1


class Refusal(Exception):
    """HTTP 429."""

    status_code = 429

    def __init__(self, retry_after: str | None) -> None:
        super().__init__("too many requests")
        self.headers = {} if retry_after is None else {"retry-after": retry_after}


class Endpoint(FakeModel):
    """Refuses calls beyond `RATE` a second, and counts both."""

    def __init__(self, retry_after: str | None) -> None:
        super().__init__({"explanation": "so", "label": "concise"})
        self.retry_after, self.counts = retry_after, Counter[str]()
        self._left, self._at = RATE, monotonic()

    async def __call__(self, *arguments: Any, **named: Any) -> Reply:
        """Reply, or refuse."""
        await asyncio.sleep(SECONDS)
        now = monotonic()
        self._left, self._at = min(RATE, self._left + (now - self._at) * RATE), now
        refused = self._left < 1
        self.counts["refused" if refused else "replied"] += 1
        if refused:
            raise Refusal(self.retry_after)
        self._left -= 1
        return await super().__call__(*arguments, **named)


def run(endpoint: Endpoint, name: int) -> None:
    """Score the rows of one run."""
    began = monotonic()
    judge = Judge("conciseness", model=endpoint, governor=Governor())
    rows = [{"question": f"{name}: {row}?", "prediction": f"answer {row}"} for row in range(ROWS)]
    value = karat.score(rows, judge).values[judge.spec]
    print(f"run {name}: {monotonic() - began:.1f} s, {value.unscored} of {value.n} rows unscored")


def main(runs: int = 2, retry_after: str | None = None) -> None:
    """Carry out the runs at the same time."""
    endpoint, began = Endpoint(retry_after), monotonic()
    with ThreadPoolExecutor(runs) as pool:
        for done in [pool.submit(run, endpoint, name) for name in range(runs)]:
            done.result()
    each = endpoint.counts["replied"] / (monotonic() - began)
    print(f"{endpoint.counts['replied']} replies, {each:.1f} a second, {endpoint.counts['refused']} refusals")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["2"])[0]), *sys.argv[2:3])
