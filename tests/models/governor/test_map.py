"""`Governor.map`: asynchronous work for synchronous callers, in karat's own event loop."""

import asyncio
import threading

import pytest

from karat.core.errors import KaratError
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.request import Request


class Unauthorized(Exception):
    status_code = 401


async def echo(messages, *_):
    return messages[-1]["content"]


def work_of(governor, model=echo):
    async def work(text):
        return (await governor.ask(model, Request([{"role": "user", "content": text}]))).text

    return work


def test_map_works_without_within_and_beside_an_event_loop():
    async def within():
        return governor.map(work, "ab")

    governor = Governor()
    work = work_of(governor)
    assert governor.map(work, "ab") == ["a", "b"]
    assert asyncio.run(within()) == ["a", "b"]
    results = []
    threads = [threading.Thread(target=lambda: results.append(governor.map(work, "abc" * 30))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [list("abc" * 30)] * 4


def test_map_inside_its_own_loop_raises_instead_of_waiting_for_ever():
    async def work(text):
        return governor.map(work_of(governor), [text])

    governor = Governor()
    with pytest.raises(KaratError, match="use await instead"):
        governor.map(work, "a")


def test_map_raises_the_error_that_stopped_it():
    async def refuse(*_):
        raise Unauthorized

    governor = Governor()
    with pytest.raises(ModelError):
        governor.map(work_of(governor, refuse), "abc")


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_a_model_that_ends_the_process_ends_the_run_and_no_later_one(ending):
    async def quit_process(*_):
        raise ending

    with pytest.raises(ending):
        Governor().map(work_of(Governor(), quit_process), ["a"] * 5)
    assert Governor().map(work_of(Governor()), ["a"]) == ["a"]
