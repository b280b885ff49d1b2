"""What the governor itself takes of a processor per call: over a model that only sleeps, beside the sleep alone.

python bench/governor.py [rows]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from side_by_side import machine

from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply, Request

CONCURRENCY = 64
LATENCY = 0.2
PROMPT = "Is the answer right? Give a reason, then the verdict.\n" * 30


class Sleeper:
    """Answers after a while."""

    endpoint, name = "http://nowhere", "sleeper"

    async def __call__(self, *_: Any) -> Reply:
        await asyncio.sleep(LATENCY)
        return Reply('{"reason": "It says the same as the reference.", "verdict": "correct"}', 500, 20)


def request(number: int) -> Request:
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": f"question {number}"}]
    return Request(messages, {"type": "object"}, {"temperature": 0, "max_tokens": 200})


def governed(rows: int, **settings: Any) -> None:
    model, governor = Sleeper(), Governor(concurrency=CONCURRENCY, **settings)

    async def work(number: int) -> str:
        return (await governor.ask(model, request(number))).text

    assert len(governor.map(work, range(rows))) == rows


def bare(rows: int) -> None:
    model, queue = Sleeper(), iter(range(rows))

    async def worker() -> None:
        for number in queue:
            asked = request(number)
            await model(asked.messages, asked.schema, asked.settings)

    async def all_of_them() -> None:
        await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))

    asyncio.run(all_of_them())


def main() -> None:
    """Print, for each way, processor time a call and rows a second as a share of the ideal."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    with tempfile.TemporaryDirectory() as folder, ReplyCache(Path(folder) / "replies.sqlite") as store:
        ways: dict[str, Callable[[], None]] = {
            "the sleep alone": lambda: bare(rows),
            "governor": lambda: governed(rows),
            "governor, rpm, tpm, budget": lambda: governed(
                rows, rpm=10**6, tpm=10**9, budget=1e6, max_calls=10**6, price=(1.0, 2.0)
            ),
            "governor, store and journal": lambda: governed(rows, store=store, run="run"),
            "governor, all of it kept": lambda: governed(rows, store=store, run="run"),
        }
        print(machine())
        alone = 0.0
        for name, way in ways.items():
            began, processor = perf_counter(), process_time()
            way()
            wall, taken = perf_counter() - began, (process_time() - processor) / rows
            alone = alone or taken
            share = rows / wall / (CONCURRENCY / LATENCY)
            print(f"{name:28} {taken * 1e6:6.0f} µs a call ({(taken - alone) * 1e6:+5.0f}), {share:6.1%} of the ideal")


if __name__ == "__main__":
    main()
