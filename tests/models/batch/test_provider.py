"""Answers of the endpoint about files and batches that are lost, cut or late."""

import asyncio
import json
from dataclasses import replace

import pytest

from karat.models.batch.provider import BatchState
from karat.models.governor.faults import ModelError
from karat.models.testing.injected_faults import error_response

WORDS = [f"word {number}" for number in range(20)]
CAPITALS = [word.upper() for word in WORDS]


@pytest.fixture
def disturb(monkeypatch, fake):
    """Change what the endpoint answers to a request: `change(method and path, response)`."""
    true = fake.batches.handle

    def set_change(change):
        def handle(request):
            response = true(request)
            return None if response is None else change(f"{request.method} {request.path}", response)

        monkeypatch.setattr(fake.batches, "handle", handle)

    return set_change


def once(wanted, change):
    """A change of the first response to a request that begins like this."""
    left = [wanted]

    def first(request, response):
        return change(response) if left and request.startswith(wanted) and left.pop() else response

    return first


@pytest.mark.parametrize(
    "change",
    [
        lambda response: replace(response, delivery="reset"),
        lambda response: replace(response, delivery="cut"),
        lambda _: error_response(502, "bad gateway"),
    ],
    ids=["reset", "cut", "502"],
)
@pytest.mark.parametrize("request_", ["POST /v1/batches", "GET /v1/batches/", "GET /v1/files/"])
def test_an_answer_that_is_lost_makes_no_second_batch(change, request_, store, fake, disturb, batched, ask):
    disturb(once(request_, change))
    governor = batched(store)
    assert governor.map(ask(fake, governor), WORDS) == CAPITALS
    assert len(fake.batches.batches) == 1
    assert len(fake.requests) == 20


def test_a_lost_answer_is_found_among_many_batches_by_their_file_where_there_is_no_metadata(
    store, fake, disturb, batched, ask
):
    def forget_metadata(request, response):
        if request.startswith("GET /v1/batches?"):
            page = json.loads(response.body)
            return response.from_value(page | {"data": [row | {"metadata": None} for row in page["data"]]})
        return lost(request, response)

    lost = once("POST /v1/batches", lambda response: replace(response, delivery="reset"))
    governor = batched(store)
    governor.map(ask(fake, governor), ["a", "b", "c"])
    other = next(iter(fake.batches.batches.values()))
    fake.batches.batches.update({f"older_{number}": other for number in range(150)})
    disturb(forget_metadata)
    assert governor.map(ask(fake, governor), WORDS) == CAPITALS
    assert len(fake.batches.batches) == 152


def test_a_batch_that_the_endpoint_no_longer_knows_is_an_error_that_names_it(store, fake, disturb, batched, ask):
    disturb(once("GET /v1/batches/", lambda _: error_response(404, "no such batch", "not_found")))
    governor = batched(store)
    with pytest.raises(ModelError, match=r"/v1/batches/batch_1: HTTP 404: no such batch"):
        governor.map(ask(fake, governor), WORDS)
    again = batched(store)
    assert again.map(ask(fake, again), WORDS) == CAPITALS
    assert len(fake.requests) == 20


def test_what_is_waited_for_is_said_in_words(store, fake, batched, ask):
    async def look():
        governor = batched(store)
        fake.batches._seconds = 0.5
        running = asyncio.create_task(governor.gather(ask(fake, governor), WORDS))
        seen = set()
        while not running.done():
            seen.add(governor.status)
            await asyncio.sleep(0.01)
        return seen, governor.status, await running

    seen, after, replies = asyncio.run(look())
    assert replies == CAPITALS
    assert after is None
    counts = [int(words.split()[1]) for words in seen if words and words.endswith(" of 19 done")]
    assert len(counts) > 2
    assert all(words is None or words.startswith(("batch_1: ", "1 batches")) for words in seen)


def test_a_state_says_why_a_batch_has_failed():
    errors = {"data": [{"code": "invalid_json_line", "message": "This line is not JSON.", "line": 7}]}
    state = BatchState.read({"id": "batch_1", "status": "failed", "errors": errors, "request_counts": None})
    assert state.problem == "invalid_json_line: This line is not JSON. (line 7)"
    assert BatchState.read({"id": "b", "status": "failed"}).problem == "the endpoint does not say why"
