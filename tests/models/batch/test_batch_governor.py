"""Judges whose requests go in batches, over a fake endpoint."""

import pytest

from karat.core.errors import SpecError
from karat.models.batch.governor import BatchGovernor
from karat.models.governor.faults import ModelError
from karat.models.openai.model import OpenAIModel
from karat.models.request import Request
from karat.models.testing.fake import FakeServer

pytest.importorskip("aiohttp")


def echo(messages):
    return messages[-1]["content"].upper()


@pytest.fixture
def ask_all(ask):
    """From a server, texts and a governor to the reply to each text, or why there is none."""
    return lambda server, texts, governor: governor.map(ask(server, governor), texts)


def contents(server):
    return [body["messages"][-1]["content"] for body in server.requests]


WORDS = [f"word {number}" for number in range(20)]


def test_all_but_the_first_request_are_one_batch(store, ask_all, batched):
    with FakeServer(echo, batch_seconds=0.05) as server:
        governor = batched(store, price=(1e6, 2e6))
        assert ask_all(server, WORDS, governor) == [word.upper() for word in WORDS]
        assert [batch.total for batch in server.batches.batches.values()] == [19]
        assert sorted(contents(server)) == sorted(WORDS)
    totals = governor.totals
    assert (totals.calls, totals.retries, totals.cached, totals.failed) == (20, 0, 0, 0)
    tokens_in, tokens_out = 2 * 20, 2 * 20
    assert (totals.input_tokens, totals.output_tokens) == (tokens_in, tokens_out)
    assert totals.cost == pytest.approx((2 + 2 * 2) * (1 + 19 / 2))  # the first one at the full price


def totals_of(server):
    """How many requests each batch has."""
    return [batch.total for batch in server.batches.batches.values()]


def test_a_second_run_finds_every_reply_in_the_cache(store, ask_all, batched):
    with FakeServer(echo) as server:
        ask_all(server, WORDS, batched(store))
        again = batched(store)
        assert ask_all(server, WORDS, again) == [word.upper() for word in WORDS]
        assert (again.totals.cached, len(server.requests)) == (20, 20)


def test_equal_requests_are_sent_once(store, ask_all, batched):
    with FakeServer(echo) as server:
        assert ask_all(server, ["a", "b", "b", "a", "b"], batched(store)) == ["A", "B", "B", "A", "B"]
        assert sorted(contents(server)) == ["a", "b"]


def test_what_depends_on_a_reply_goes_into_a_later_batch(store, batched):
    with FakeServer(echo) as server:
        governor, model = batched(store), OpenAIModel("small", base_url=server.url)

        async def twice(text):
            first = (await governor.ask(model, Request([{"role": "user", "content": text}]))).text
            return (await governor.ask(model, Request([{"role": "user", "content": first + "!"}]))).text

        assert governor.map(twice, WORDS) == [word.upper() + "!" for word in WORDS]
        assert sum(totals_of(server)) == 39
        assert len(totals_of(server)) <= 3


def test_files_hold_at_most_so_many_requests_and_bytes(store, monkeypatch, ask_all, batched):
    monkeypatch.setattr("karat.models.batch.queue.REQUESTS", 8)
    with FakeServer(echo) as server:
        assert ask_all(server, WORDS, batched(store)) == [word.upper() for word in WORDS]
        assert totals_of(server) == [8, 8, 3]
    monkeypatch.setattr("karat.models.batch.queue.BYTES", 1000)
    with FakeServer(echo) as server:
        assert ask_all(server, WORDS, batched(store)) == [word.upper() for word in WORDS]
        files = [file.content for file in server.batches.files.values() if file.purpose == "batch"]
        assert len(files) > 3
        assert max(map(len, files)) <= 1000


def test_a_request_with_a_transient_error_is_in_the_next_batch_and_others_fail_alone(store, ask_all, batched):
    asked = []

    def fault(body):
        text = body["messages"][-1]["content"]
        asked.append(text)
        number = int(text.split()[1])
        if number % 5 == 1:
            return "500" if number != 11 else "429" if asked.count(text) == 1 else None
        return "context" if number == 7 else None

    with FakeServer(echo, faults=fault) as server:
        governor = batched(store)
        replies = ask_all(server, WORDS, governor)
        assert totals_of(server) == [19, 4, 3]
    assert replies[11] == "WORD 11"
    assert replies[7] == "! HTTP 400: the fault context"
    assert replies[1] == "! HTTP 500: the fault 500 (attempts: 3)"
    assert sum(reply.startswith("!") for reply in replies) == 4
    assert (governor.totals.calls, governor.totals.retries, governor.totals.failed) == (27, 7, 4)


def test_what_an_expired_batch_has_not_answered_is_in_the_next_one(store, ask_all, batched):
    with FakeServer(echo, batch_faults=["expired"]) as server:
        governor = batched(store)
        assert ask_all(server, WORDS, governor) == [word.upper() for word in WORDS]
        assert totals_of(server) == [19, 10]
        assert sorted(contents(server)) == sorted(WORDS)
    assert governor.totals.retries == 10


def test_a_missing_reply_is_asked_for_again_and_one_that_comes_twice_is_not_used(store, ask_all, batched):
    with FakeServer(echo, batch_faults=["missing"]) as server:
        assert ask_all(server, WORDS, batched(store)) == [word.upper() for word in WORDS]
        assert totals_of(server) == [19, 1]
    with FakeServer(echo, batch_faults=["duplicate"]) as server:
        replies = ask_all(server, WORDS, batched(store))
    assert replies[1] == "! batch batch_1 holds several replies to this request; none is used"
    assert sum(reply.startswith("!") for reply in replies) == 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("unknown", r"batch batch_1, file file-2, line \d+: the custom_id 'nobody' is of no request in this batch"),
        ("garbled", r"batch batch_1, file file-2, line \d+: expected a JSON object with a custom_id, found b'{"),
        ("cancelled", r"batch_1: cancelled, 9 of 19 requests have a reply; somebody has cancelled it"),
        ("failed", r"batch_1 has failed: invalid_request: the batch is refused"),
    ],
)
def test_a_batch_that_went_wrong_stops_the_run_and_keeps_what_is_sure(fault, said, store, ask_all, batched):
    with FakeServer(echo, batch_faults=[fault]) as server:
        with pytest.raises(ModelError, match=said):
            ask_all(server, WORDS, batched(store, run="run"))
        answered = {"unknown": 20, "garbled": 19, "cancelled": 10, "failed": 1}[fault]
        assert len(server.requests) == (20 if fault in ("unknown", "garbled") else answered)
        governor = batched(store, run="run")
        assert ask_all(server, WORDS, governor) == [word.upper() for word in WORDS]
        assert governor.totals.cached == answered
        assert store.spent("run")[0] == {"unknown": 20, "garbled": 21, "cancelled": 30, "failed": 20}[fault]


def test_batches_that_are_too_much_at_a_time_follow_one_by_one_in_smaller_files(store, ask_all, batched):
    said = []
    with FakeServer(echo, batch_faults=["token-limit", "token-limit"]) as server:
        governor = batched(store, max_calls=20, run="run", report=said.append)
        assert ask_all(server, WORDS, governor) == [word.upper() for word in WORDS]
        assert totals_of(server) == [19, 9, 4, 6, 8, 1]
    assert sorted(contents(server)) == sorted(WORDS)
    assert store.spent("run")[0] == governor.totals.calls == 20
    assert sum("smaller batches follow one by one" in line for line in said) == 2


def test_a_single_request_that_is_too_much_stops_the_run(store, ask_all, batched):
    alone = pytest.raises(ModelError, match="with a single request: token_limit_exceeded")
    with FakeServer(echo, batch_faults=["token-limit"]) as server, alone:
        ask_all(server, WORDS[:2], batched(store))


def test_calls_are_capped_before_they_are_uploaded(store, ask_all, batched):
    with FakeServer(echo, batch_faults=["expired"]) as server:
        governor = batched(store, max_calls=15, run="run")
        replies = ask_all(server, WORDS, governor)
        assert len(server.requests) == 1 + 7
        assert totals_of(server) == [14]
        assert sum(reply.startswith("! ") for reply in replies) == 12
        assert (governor.totals.calls, governor.totals.capped) == (15, 5)
        again = ask_all(server, WORDS, batched(store, max_calls=15, run="run"))
        assert again[:8] == [word.upper() for word in WORDS[:8]]
        assert len(server.requests) == 8


def test_a_budget_counts_batches_at_half_the_price_and_is_never_exceeded(store, ask_all, batched):
    def long(messages):
        return "y" * 4000  # 1000 tokens

    with FakeServer(long) as server:
        governor = batched(store, budget=0.0075, price=(0.0, 1.0), run="run")
        replies = ask_all(server, WORDS, governor)
    assert sum(reply.startswith("!") for reply in replies) == 20 - 1 - 12
    assert governor.totals.cost == pytest.approx(0.001 + 12 * 0.0005)
    assert store.spent("run") == (13, pytest.approx(governor.totals.cost))
    assert "not asked: it may cost $0.00051, and $0.007 of the budget of $0.0075 is spent" in replies[-1]


def test_a_budget_needs_a_price(store):
    with pytest.raises(SpecError, match="a budget for batches needs price="):
        BatchGovernor(store=store, budget=1.0)


def test_a_wrong_key_shows_before_anything_is_uploaded(store, ask_all, batched):
    with FakeServer(echo, key="another") as server, pytest.raises(ModelError, match="HTTP 401"):
        ask_all(server, WORDS, batched(store))
    assert not server.batches.files


def test_an_endpoint_without_batches_says_so(store, ask_all, batched):
    with FakeServer(echo) as server:
        server.batches.handle = lambda _: None
        with pytest.raises(ModelError, match=r"/v1/files: HTTP 404: there is no POST /v1/files"):
            ask_all(server, WORDS, batched(store, run="run"))
    assert store.spent("run")[0] == 1


def test_models_that_are_functions_are_asked_without_batches(store, batched):
    async def model(messages, *_):
        return messages[-1]["content"].upper()

    governor = batched(store)

    async def ask(text):
        return (await governor.ask(model, Request([{"role": "user", "content": text}]))).text

    assert governor.map(ask, WORDS) == [word.upper() for word in WORDS]
