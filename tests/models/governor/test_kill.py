"""Runs that are killed or interrupted: what was paid for is there, and nothing of it is asked again."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
from contextlib import closing
from time import sleep

import pytest

from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply, Request

KILLS = int(os.environ.get("KARAT_KILLS", "15"))
ROWS = 300

RUN = """
import asyncio, json, os, random, sys
from karat.models.request import Reply, Request
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache

folder, rows, latency = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
log = os.open(folder + "/asked", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
asked = {}

class Model:
    endpoint, name = "http://here", "fake"

    async def __call__(self, messages, schema, settings):
        text = messages[-1]["content"]
        os.write(log, f"{text}\\n".encode())
        asked[text] = asked.get(text, 0) + 1
        await asyncio.sleep(latency * random.uniform(0.5, 1.5))
        if asked[text] == 1 and int(text) % 7 == 3:
            raise ConnectionResetError("reset")
        return Reply(text[::-1], 10, 10)

model = Model()

async def work(number):
    return (await governor.ask(model, Request([{"role": "user", "content": str(number)}]))).text

print("ready", flush=True)
from karat.models.governor.retry import RetryPolicy
RetryPolicy.pause = lambda *_: 0.001
with ReplyCache(folder + "/replies.sqlite") as store:
    governor = Governor(concurrency=8, store=store, run="run")
    try:
        print(json.dumps(governor.map(work, range(rows))), flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.fixture
def start(python):
    """Starts a process that asks, and waits until it is ready."""

    def start(folder, rows=ROWS, latency=0.003):
        process = python("-c", RUN, folder, rows, latency, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    return start


def end(process):
    """What it says to its end, which `communicate` would lose where it came with the first line."""
    with process.stdout:
        said = process.stdout.read()
    process.wait(timeout=60)
    return said


def asked(folder):
    path = folder / "asked"
    return path.read_text().split() if path.exists() else []


def kept(folder):
    """The questions whose replies are in the file, seen by another program."""
    if not (folder / "replies.sqlite").exists():
        return set()
    with closing(sqlite3.connect(folder / "replies.sqlite")) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'replies'").fetchone():
            return set()
        return {json.loads(text)["text"][::-1] for (text,) in db.execute("SELECT reply FROM replies")}


def test_killed_at_any_instant_and_resumed_nothing_kept_is_asked_again(tmp_path, start):
    rng = random.Random()  # noqa: S311
    undisturbed = [str(number)[::-1] for number in range(ROWS)]
    kills = 0
    while kills < KILLS:
        folder = tmp_path / str(kills)
        folder.mkdir()
        calls, known = [], set()
        for _ in range(min(5, KILLS - kills)):
            process = start(folder)
            sleep(rng.uniform(0, 0.1))
            process.kill()
            end(process)
            kills += 1
            new = asked(folder)[len(calls) :]
            assert not known & set(new)
            calls += new
            known = kept(folder)
            assert known <= set(calls)
        killed = len(calls)
        assert json.loads(end(start(folder))) == undisturbed
        assert not known & set(asked(folder)[killed:])
        with ReplyCache(folder / "replies.sqlite") as store:
            written, _ = store.spent("run")
        assert len(asked(folder)) <= written <= len(asked(folder)) + 5


def test_an_interrupt_ends_the_calls_under_way_and_makes_no_other(tmp_path, start):
    process = start(tmp_path, rows=1000, latency=0.2)
    while len(asked(tmp_path)) < 12:
        sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert end(process) == "interrupted\n"
    calls = asked(tmp_path)
    assert len(calls) < 100
    assert {text for text in calls if int(text) % 7 != 3} <= kept(tmp_path)


def test_an_interrupt_keeps_what_a_row_asked_for_beside_others(tmp_path):
    class Model:
        endpoint, name = "http://here", "fake"
        calls = 0

        async def __call__(self, *_):
            Model.calls += 1
            if Model.calls == 6:
                threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()
            await asyncio.sleep(0.1)
            return Reply("yes")

    async def panel(number):
        requests = [Request([{"role": "user", "content": f"{number} {judge}"}]) for judge in range(5)]
        return await asyncio.gather(*(governor.ask(Model(), request) for request in requests))

    with ReplyCache(tmp_path / "s") as store:
        governor = Governor(store=store, run="run", concurrency=2)
        with pytest.raises(KeyboardInterrupt):
            governor.map(panel, range(100))
        assert Model.calls == governor.totals.calls == store.spent("run")[0]
        assert len(kept_in(tmp_path / "s")) == Model.calls < 12


def test_an_interrupt_does_not_wait_for_a_pause():
    async def model(*_):
        threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()
        raise Busy

    class Busy(Exception):
        status, headers = 429, {"Retry-After": "500"}

    async def work(number):
        return await governor.ask(model, Request([{"role": "user", "content": str(number)}]))

    governor = Governor(concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        governor.map(work, range(100))
    assert governor.totals.calls == 1


def kept_in(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT key FROM replies").fetchall()
