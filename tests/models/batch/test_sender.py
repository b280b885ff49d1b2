"""Files of requests that are answered in batches, over a fake endpoint: no request is in two batches for nothing."""

import asyncio
import json
import os
import random
import re
import subprocess
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest

from karat.core.errors import DataError, SpecError
from karat.models.batch import sender as module
from karat.models.batch.provider import BatchState, Provider
from karat.models.batch.sender import BatchSender
from karat.models.governor.faults import ModelError
from karat.models.governor.retry import RetryPolicy
from karat.models.openai.client import find_endpoint
from karat.models.testing.fake import FakeServer
from karat.models.testing.injected_faults import error_response

KILLS = int(os.environ.get("KARAT_KILLS", "4"))
"""How often the test that kills at random does so; 200 for the whole exercise."""

ALL = {number: f"WORD {number}" for number in range(20)}
REQUESTS, REPLIES, OPEN = Path("requests.jsonl"), Path("replies.jsonl"), Path("replies.jsonl.batches")


def echo(messages):
    return messages[-1]["content"].upper()


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RetryPolicy, "pause", lambda *_: 0.01)
    for name, seconds in {"FIRST_POLL": 0.01, "LONGEST_POLL": 0.02, "SETTLE": 0.05}.items():
        monkeypatch.setattr(module, name, seconds)
    write(range(20))


@pytest.fixture
def fake():
    with FakeServer(echo) as server:
        yield server


def write(numbers, models=("small",)):
    """Write a file of requests."""
    with REQUESTS.open("w") as file:
        for number in numbers:
            messages = [{"role": "user", "content": f"word {number}"}]
            body = {"model": models[number % len(models)], "messages": messages}
            line = {"custom_id": f"id {number}", "method": "POST", "url": "/v1/chat/completions", "body": body}
            file.write(json.dumps(line) + "\n")


def read():
    """The reply to each request in the file, None where it has another outcome; each has one line."""
    lines = [json.loads(line) for line in REPLIES.read_text().splitlines()] if REPLIES.exists() else []
    assert len({line["custom_id"] for line in lines}) == len(lines)
    bodies = {int(line["custom_id"].split()[1]): (line["response"] or {}).get("body", {}) for line in lines}
    return {
        key: body["choices"][0]["message"]["content"] if "choices" in body else None for key, body in bodies.items()
    }


def open_sender(server, report=lambda _: None):
    return BatchSender("requests.jsonl", "replies.jsonl", server.url, report)


def send(server, report=lambda _: None):
    """Have the requests answered; the sender, when it has ended."""
    sender = open_sender(server, report)
    with sender.journal:
        asyncio.run(sender.run())
    return sender


def sizes(server):
    """How many requests each batch has."""
    return [batch.total for batch in server.batches.batches.values()]


def check_paid_once(server, count=20):
    """Every request is in one batch."""
    files = [server.batches.files[batch.body["input_file_id"]] for batch in server.batches.batches.values()]
    keys = Counter(json.loads(line)["custom_id"] for file in files for line in file.content.splitlines())
    assert keys == {f"id {number}": 1 for number in range(count)}


def test_a_file_is_answered_in_one_batch_and_nothing_is_sent_again(fake):
    said = []
    assert send(fake, said.append).counts == (20, 20)
    assert said == ["batch_1: 20 requests are uploaded", "batch_1: completed, 20 of 20 requests have a reply"]
    assert (read(), sizes(fake), OPEN.exists()) == (ALL, [20], False)
    write(range(25))
    assert send(fake).counts == (25, 25)
    assert sizes(fake) == [20, 5]


def test_a_batch_is_of_one_model_and_holds_at_most_so_many_requests_and_bytes(monkeypatch):
    write(range(20), models=("small", "large"))
    with FakeServer(echo) as server:
        send(server)
        assert (sizes(server), read()) == ([10, 10], ALL)
    for name, most, expected in (("REQUESTS", 8, [8, 8, 4]), ("BYTES", 1000, [6, 6, 6, 2])):
        REPLIES.unlink()
        write(range(20))
        with monkeypatch.context() as patch, FakeServer(echo) as server:
            patch.setattr(module, name, most)
            send(server)
            files = [file.content for file in server.batches.files.values() if file.purpose == "batch"]
            assert (sizes(server), read()) == (expected, ALL)
            assert name == "REQUESTS" or max(map(len, files)) <= most


def test_what_was_not_answered_is_sent_again_by_a_second_call():
    asked = []

    def fault(body):
        number = int(body["messages"][-1]["content"].split()[1])
        asked.append(number)
        return "context" if number == 7 else "500" if number % 5 == 1 and asked.count(number) == 1 else None

    with FakeServer(echo, faults=fault) as server:
        first = send(server)
        assert (first.counts, first.problems) == ((15, 20), [])
        assert {key for key, reply in read().items() if reply is None} == {1, 6, 7, 11, 16}
        assert send(server).counts == (19, 20)
        assert sizes(server) == [20, 5]
    assert read() == {**ALL, 7: None}


@pytest.mark.parametrize(
    ("fault", "answered", "said"),
    [
        ("missing", 19, None),
        ("duplicate", 19, r"batch_1, file-2, line \d+: a second reply to one request; none is used"),
        ("unknown", 20, r"batch_1, file-2, line \d+: the custom_id 'nobody' is of no request in this batch"),
        ("garbled", 19, r"batch_1, file-2, line \d+: expected a JSON object with a custom_id, found b'{"),
        ("expired", 10, r"batch_1 has expired"),
        ("cancelled", 10, r"batch_1 was cancelled"),
        ("failed", 0, r"batch_1 has failed: invalid_request: the batch is refused"),
    ],
)
def test_of_a_batch_that_went_wrong_what_is_sure_is_kept_and_the_rest_sent_again(fault, answered, said):
    with FakeServer(echo, batch_faults=[fault]) as server:
        sender = send(server)
        assert sender.counts == (answered, 20)
        problems = "".join(sender.problems)
        assert re.fullmatch(said + ".*", problems) if said else not problems
        assert send(server).problems == []
        assert sizes(server) == [20, 20 - answered][: 1 + (answered < 20)]
    assert read() == ALL


def test_batches_that_are_too_much_at_a_time_follow_one_by_one_in_smaller_files():
    said = []
    with FakeServer(echo, batch_faults=["token-limit", "token-limit"]) as server:
        send(server, said.append)
        assert sizes(server) == [20, 10, 5, 5, 10]
        assert len(server.requests) == 20
    assert read() == ALL
    assert sum("smaller batches follow one by one" in line for line in said) == 2
    write([0])
    REPLIES.unlink()
    alone = pytest.raises(ModelError, match="a single request has failed: token_limit_exceeded")
    with FakeServer(echo, batch_faults=["token-limit"]) as server, alone:
        send(server)


def test_a_batch_beside_others_that_was_too_much_is_sent_when_they_have_ended(monkeypatch):
    monkeypatch.setattr(module, "REQUESTS", 10)
    with FakeServer(echo, batch_faults=[None, "token-limit"]) as server:
        send(server)
        assert sizes(server) == [10, 10, 10]
    assert read() == ALL


def test_a_wrong_key_and_an_endpoint_without_batches_are_named(fake):
    with FakeServer(echo, key="another") as server, pytest.raises(ModelError, match="HTTP 401"):
        send(server)
    fake.batches.handle = lambda _: None
    with pytest.raises(ModelError, match=r"/v1/files: HTTP 404: there is no POST /v1/files"):
        send(fake)
    assert not OPEN.exists()


@pytest.mark.parametrize("step", ["upload", "create", "state", "download"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_what_ends_at_any_step_is_continued(step, when, monkeypatch, fake):
    async def hang(self, *arguments, **named):
        if when == "after":
            await true(self, *arguments, **named)
        await asyncio.sleep(60)

    async def end_early():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sender.run(), 0.4)

    true = getattr(Provider, step)
    with monkeypatch.context() as patch:
        patch.setattr(Provider, step, hang)
        sender = open_sender(fake)
        with sender.journal:
            asyncio.run(end_early())
    write(range(30))  # another file of requests, of which some are under way
    send(fake)
    assert read() == {number: f"WORD {number}" for number in range(30)}
    check_paid_once(fake, 30)


def test_killed_at_any_instant_and_started_again_nothing_is_paid_for_twice(fake, python):
    program = """
import asyncio, sys
from karat.models.batch import sender as module
from karat.models.governor.retry import RetryPolicy
RetryPolicy.pause = lambda *_: 0.01
module.FIRST_POLL, module.LONGEST_POLL, module.SETTLE = 0.02, 0.05, 0.2
print("ready", flush=True)
sender = module.BatchSender("requests.jsonl", "replies.jsonl", sys.argv[1], print)
with sender.journal:
    asyncio.run(sender.run())
print(*sender.counts)
"""
    command, rows = ["-c", program, fake.url], 200
    write(range(rows))
    for _ in range(KILLS):
        with python(*command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            sleep(random.uniform(0, 0.2))  # noqa: S311
            process.kill()
    said = python.run(*command, check=True).stdout
    assert said.splitlines()[-1] == f"{rows} {rows}"
    assert read() == {number: f"WORD {number}" for number in range(rows)}
    check_paid_once(fake, rows)


def test_two_processes_do_not_send_the_same_requests(fake):
    with open_sender(fake).journal, pytest.raises(DataError, match=r"replies\.jsonl\.batches is in use"):
        open_sender(fake)


LOST = [
    lambda response: replace(response, delivery="reset"),
    lambda response: replace(response, delivery="cut"),
    lambda _: error_response(502, "bad gateway"),
]


@pytest.mark.parametrize("change", LOST, ids=["reset", "cut", "502"])
@pytest.mark.parametrize("lost", ["POST /v1/batches", "GET /v1/batches/", "GET /v1/files/"])
def test_an_answer_that_is_lost_makes_no_second_batch(change, lost, fake, monkeypatch):
    true, left = fake.batches.handle, [lost]

    def handle(request):
        response = true(request)
        if f"{request.method} {request.path}".startswith("GET /v1/batches?"):  # an endpoint that keeps no metadata
            page = json.loads(response.body)
            return response.from_value(page | {"data": [row | {"metadata": None} for row in page["data"]]})
        begins = left and f"{request.method} {request.path}".startswith(left[0])
        return change(response) if begins and left.pop() else response

    monkeypatch.setattr(fake.batches, "handle", handle)
    assert send(fake).counts == (20, 20)
    check_paid_once(fake)


def test_a_batch_is_found_among_many(fake):
    send(fake)
    (name, batch), file = next(iter(fake.batches.batches.items())), next(iter(fake.batches.files))
    other = replace(batch, body={**batch.body, "input_file_id": "", "metadata": {}})
    fake.batches.batches.update({f"other_{number}": other for number in range(150)})
    provider = Provider(find_endpoint("small", fake.url), RetryPolicy(1))
    assert asyncio.run(provider.find_batch("unknown", file, 0.0)) == name
    assert asyncio.run(provider.find_batch(batch.body["metadata"]["karat"], "unknown", 0.0)) == name
    assert asyncio.run(provider.find_batch("unknown", "unknown", 0.0)) is None


def test_a_batch_that_the_endpoint_no_longer_knows_is_named_with_what_to_do(fake):
    fake.batches._seconds = 600
    sender = open_sender(fake)
    with sender.journal, suppress(TimeoutError):
        asyncio.run(asyncio.wait_for(sender.run(), 0.3))
    fake.batches.batches.clear()
    with pytest.raises(ModelError, match=r"batches/batch_1: HTTP 404.*; remove replies.jsonl.batches where"):
        send(fake)
    OPEN.unlink()
    fake.batches._seconds = 0
    assert send(fake).counts == (20, 20)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "requests.jsonl, line 2: expected a JSON object with a custom_id, found b'{'"),
        ('{"custom_id": "a", "url": "/v1/chat/completions"}', "line 2: expected a request, with url, and model in its"),
        (None, "line 2: a second request with the custom_id 'id 0'"),
    ],
)
def test_a_line_that_is_no_request_is_named_before_anything_is_sent(line, message, fake):
    write([0])
    REQUESTS.write_text(REQUESTS.read_text() + (line or REQUESTS.read_text()))
    with pytest.raises(DataError, match=message):
        send(fake)
    assert not fake.batches.files


def test_the_file_of_requests_is_not_overwritten(fake):
    with pytest.raises(SpecError, match="holds the requests"):
        BatchSender("requests.jsonl", "./requests.jsonl", fake.url, print)


def test_a_state_says_why_a_batch_has_failed():
    errors = {"data": [{"code": "invalid_json_line", "message": "This line is not JSON.", "line": 7}]}
    state = BatchState.read({"id": "batch_1", "status": "failed", "errors": errors, "request_counts": None})
    assert state.problem == "invalid_json_line: This line is not JSON. (line 7)"
    assert BatchState.read({"id": "b", "status": "failed"}).problem == "the endpoint does not say why"
