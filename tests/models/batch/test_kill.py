"""Runs in batches that are killed or interrupted: nothing is uploaded twice, and no reply that was paid for is lost."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from time import sleep

import pytest

from karat.models.batch.provider import Provider
from karat.models.reply_cache import ReplyCache

KILLS = int(os.environ.get("KARAT_KILLS", "4"))
"""How often the test that kills at random does so; 200 for the whole exercise."""

RUN = """
import json, sys
from karat.models.batch.governor import BatchGovernor
from karat.models.batch.uploader import Timing
from karat.models.governor.retry import RetryPolicy
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import ReplyCache
from karat.models.request import Request
import aiohttp

path, url, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
RetryPolicy.pause = lambda *_: 0.01
model = OpenAIModel("small", base_url=url)

async def ask(number):
    return (await governor.ask(model, Request([{"role": "user", "content": f"word {number}"}]))).text

print("ready", flush=True)
with ReplyCache(path) as store:
    governor = BatchGovernor(store=store, run="run", timing=Timing(0.02, 0.05, 0.02, 0.2))
    print(json.dumps(governor.map(ask, range(rows))), flush=True)
"""


def check_paid_once(server, requests):
    """Every request is in one batch, except those that were sent by themselves, and every uploaded file became one."""
    files = [file.content for file in server.batches.files.values() if file.purpose == "batch"]
    assert len(files) == len(server.batches.batches)
    keys = Counter(json.loads(line)["custom_id"] for content in files for line in content.splitlines())
    assert set(keys.values()) == {1}
    assert len(keys) >= requests


@pytest.mark.parametrize("step", ["upload", "create", "state", "download"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_that_ends_at_any_step_is_continued(step, when, store, monkeypatch, fake, batched, ask):
    words = [f"word {number}" for number in range(20)]

    async def hang(self, *arguments):
        if when == "after":
            await true(self, *arguments)
        await asyncio.sleep(60)

    async def ends_early(governor):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(governor.gather(ask(fake, governor), words), 0.4)

    true = getattr(Provider, step)
    with monkeypatch.context() as patch:
        patch.setattr(Provider, step, hang)
        asyncio.run(ends_early(batched(store, run="run")))
    governor = batched(store, run="run")
    assert governor.map(ask(fake, governor), words) == [word.upper() for word in words]
    assert store.spent("run") == (20, 0.0)
    check_paid_once(fake, 19)
    assert len(fake.requests) == 20


def test_killed_at_any_instant_and_started_again_nothing_is_paid_for_twice(tmp_path, fake):
    rng, path, rows = random.Random(), tmp_path / "replies.sqlite", 200  # noqa: S311
    command = [sys.executable, "-c", RUN, str(path), fake.url, str(rows)]
    for _ in range(KILLS):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            sleep(rng.uniform(0, 0.3))
            process.kill()
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert json.loads(said.splitlines()[1]) == [f"WORD {number}" for number in range(rows)]
    check_paid_once(fake, rows - 1 - KILLS)
    with ReplyCache(path) as store:
        assert rows <= store.spent("run")[0] <= rows + KILLS


def test_an_interrupt_leaves_the_batch_to_the_endpoint(store, fake, batched, ask):
    fake.batches._seconds = 600
    governor = batched(store, run="run")
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        governor.map(ask(fake, governor), ["a", "b", "c"])
    assert governor.open_batches() == ["batch_1 (2 requests)"]
    fake.batches._seconds = 0
    again = batched(store, run="run")
    assert again.map(ask(fake, again), ["a", "b", "c"]) == ["A", "B", "C"]
    assert len(fake.requests) == 3
    assert again.open_batches() == []


def test_another_run_waits_for_the_same_batch_and_counts_its_requests(store, fake, batched, ask):
    fake.batches._seconds = 0.5

    async def both():
        first, second = batched(store, run="first"), batched(store, run="second", max_calls=3)
        started = asyncio.create_task(first.gather(ask(fake, first), ["a", "b", "c"]))
        await asyncio.sleep(0.2)
        return await second.gather(ask(fake, second), ["a", "b", "c", "d"]), await started

    replies, others = asyncio.run(both())
    assert others == ["A", "B", "C"]
    assert sum(reply.startswith("! not asked: the cap of 3 calls") for reply in replies) == 0
    assert sorted(replies) == ["A", "B", "C", "D"]
    assert len(fake.requests) == 4
