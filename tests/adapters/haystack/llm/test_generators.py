"""How evaluators call a chat generator: threads and event loops, limits, retries, warming up, closing, tracing."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

import asyncio
import threading
import time
from contextlib import contextmanager
from functools import wraps
from unittest.mock import Mock

import pytest

pytest.importorskip("haystack")

from haystack import Pipeline, component
from haystack.components.generators.chat import MockChatGenerator, OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tracing import Span, Tracer, disable_tracing, enable_tracing, tracer
from haystack.utils import Secret

from karat.adapters.haystack import EvaluationError, LLMEvaluator
from karat.models.testing.fake import FakeServer

INIT = {
    "instructions": "Is this answer rude?",
    "inputs": [("predicted_answers", list[str])],
    "outputs": ["score"],
    "examples": [{"inputs": {"predicted_answers": "Damn!"}, "outputs": {"score": 1}}],
}
REPLY = {"replies": [ChatMessage.from_assistant('{"score": 1}')]}


def llm(generator, **options):
    return LLMEvaluator(**INIT, progress_bar=False, chat_generator=generator, **options)


@component
class Sync:
    """A chat generator that counts the calls at a time, and notes what happens to it."""

    def __init__(self, wait=lambda: time.sleep(0.01)):
        self.wait, self.busy, self.most, self.events, self.lock = wait, 0, 0, [], threading.Lock()

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]):  # noqa: ARG002  (Haystack's name)
        with self.lock:
            self.events.append("run")
            self.busy += 1
            self.most = max(self.most, self.busy)
        self.wait()
        with self.lock:
            self.busy -= 1
        return REPLY

    def warm_up(self):
        self.events.append("warm_up")

    def close(self):
        self.events.append("close")


@component
class Async(Sync):
    """An asynchronous one."""

    @component.output_types(replies=list[ChatMessage])
    async def run_async(self, messages: list[ChatMessage]):  # noqa: ARG002
        self.events.append("run_async")
        self.busy += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(0.01)
        self.busy -= 1
        return REPLY

    async def warm_up_async(self):
        self.events.append("warm_up_async")

    async def close_async(self):
        self.events.append("close_async")


@pytest.mark.parametrize("kind", [Sync, Async])
@pytest.mark.parametrize("most", [1, 5])
def test_rows_are_asked_concurrently_up_to_the_limit(kind, most):
    together = threading.Barrier(most)
    generator = kind(lambda: together.wait(timeout=10))  # passes only once so many are asked at a time
    llm(generator, concurrency=most).run(predicted_answers=["a"] * 20)
    assert generator.most == most
    waiting = kind()
    asyncio.run(llm(waiting, concurrency=most).run_async(predicted_answers=["a"] * 20))
    assert waiting.most == most


def test_a_generator_that_may_run_its_model_gets_few_threads_by_default():
    few, many = Sync(), Async()
    for generator in (few, many):
        llm(generator).run(predicted_answers=["a"] * 200)
    assert few.most == 4
    assert 16 < many.most <= 64


def test_run_calls_run_and_run_async_awaits_run_async():
    generator = Async()
    evaluator = llm(generator)
    evaluator.run(predicted_answers=["a"])
    asyncio.run(evaluator.run_async(predicted_answers=["a"]))
    evaluator.run(predicted_answers=["a"])
    evaluator.close()
    asyncio.run(evaluator.close_async())
    one, other = ["warm_up", "run"], ["warm_up_async", "run_async"]
    assert generator.events == [*one, *other, *one, "close", "close_async"]
    plain = Sync()
    asyncio.run(llm(plain).run_async(predicted_answers=["a"]))
    asyncio.run(llm(plain).close_async())
    assert plain.events == ["warm_up", "run", "close"]


def test_a_generator_whose_run_async_is_not_implemented_runs_in_threads():
    @component
    class Unfinished(Sync):
        @component.output_types(replies=list[ChatMessage])
        async def run_async(self, messages: list[ChatMessage]):
            raise NotImplementedError

    found = asyncio.run(llm(Unfinished()).run_async(predicted_answers=["a", "b"]))
    assert found["results"] == [{"score": 1}] * 2


def test_run_and_run_async_work_in_turn_with_one_client(monkeypatch):
    """A client of asyncio belongs to one event loop, so `run` must not use it."""
    with FakeServer({"score": 1}, key="mine") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "mine")
        generator = OpenAIChatGenerator(api_base_url=server.url)
        evaluator = llm(generator)

        async def both():
            awaited = await evaluator.run_async(predicted_answers=["a", "b"])
            plain = evaluator.run(predicted_answers=["a", "b"])
            await evaluator.close_async()
            return [awaited, plain]

        found = [evaluator.run(predicted_answers=["a", "b"]), *asyncio.run(both())]
        assert [each["results"] for each in found] == [[{"score": 1}] * 2] * 3
        assert generator.run([ChatMessage.from_user("a")])["replies"]
        evaluator.close()
    usage = found[0]["meta"][0]["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    assert {"model", "index", "finish_reason", "usage"} <= found[0]["meta"][0].keys()


def test_a_subclass_of_a_client_that_has_its_own_run_is_called(monkeypatch):
    class Recorded(OpenAIChatGenerator):
        @wraps(OpenAIChatGenerator.run)
        def run(self, messages):  # noqa: ARG002
            return REPLY

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert llm(Recorded()).run(predicted_answers=["a"])["results"] == [{"score": 1}]


def test_retries_are_the_generators(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    with FakeServer({"score": 1}, faults=["503"] * 20, key="mine") as server:
        generator = OpenAIChatGenerator(api_base_url=server.url, max_retries=1)
        with pytest.raises(EvaluationError, match="HTTP 503"):
            llm(generator).run(predicted_answers=["a"])
        assert server.calls == 2
    with FakeServer({"score": 1}, faults=["503", None], key="mine") as server:
        generator = OpenAIChatGenerator(api_base_url=server.url, max_retries=1)
        assert llm(generator).run(predicted_answers=["a"])["results"] == [{"score": 1}]


@pytest.mark.parametrize("generator", [Mock, MockChatGenerator, Sync])
def test_replies_in_turn_belong_to_the_rows_in_turn(generator):
    texts = [f'{{"score": {row}}}' for row in range(50)]
    in_turn = Mock(side_effect=[{"replies": [ChatMessage.from_assistant(text)]} for text in texts])
    made = generator(texts) if generator is MockChatGenerator else generator()
    if generator is not MockChatGenerator:
        made.run = in_turn
    assert llm(made).run(predicted_answers=["a"] * 50)["results"] == [{"score": row} for row in range(50)]


def test_an_async_pipeline_runs_it():
    pipeline = Pipeline()
    pipeline.add_component("llm", llm(Async()))
    if not hasattr(pipeline, "run_async"):
        pytest.skip("pipelines of this release are not async")
    found = asyncio.run(pipeline.run_async({"llm": {"predicted_answers": ["a", "b"]}}))
    assert found["llm"]["results"] == [{"score": 1}] * 2


def test_the_progress_bar_counts_rows(capsys):
    LLMEvaluator(**INIT, chat_generator=Async()).run(predicted_answers=["a"] * 3)
    assert "3/3" in capsys.readouterr().err
    llm(Sync()).run(predicted_answers=["a"] * 3)
    assert not capsys.readouterr().err


class Noted(Span):
    def __init__(self, operation, tags, parent):
        self.operation, self.tags, self.parent = operation, dict(tags or {}), parent

    def set_tag(self, key, value):
        self.tags[key] = value


class Notes(Tracer):
    """A tracer that keeps all spans; the current one is that of the caller."""

    def __init__(self):
        self.spans, self.current = [], Noted("caller", {}, None)

    @contextmanager
    def trace(self, operation_name, tags=None, parent_span=None):
        self.spans.append(Noted(operation_name, tags, parent_span))
        yield self.spans[-1]

    def current_span(self):
        return self.current


@pytest.mark.parametrize("awaited", [False, True])
def test_each_call_is_a_span_with_its_token_usage(awaited, monkeypatch):
    notes = Notes()
    enable_tracing(notes)
    monkeypatch.setattr(tracer, "is_content_tracing_enabled", True)
    try:
        evaluator = llm(MockChatGenerator('{"score": 1}'))
        if awaited:
            asyncio.run(evaluator.run_async(predicted_answers=["a", "b"]))
        else:
            evaluator.run(predicted_answers=["a", "b"])
    finally:
        disable_tracing()
    assert [(span.operation, span.parent) for span in notes.spans] == [
        ("haystack.chat_generator.run", notes.current)
    ] * 2
    tags = notes.spans[0].tags
    assert tags["haystack.component.type"] == "MockChatGenerator"
    assert "Is this answer rude?" in tags["haystack.component.input"]["messages"][0].text
    assert tags["haystack.component.output"]["replies"][0].meta["usage"]["total_tokens"] > 0


def test_a_missing_key_is_an_error_on_first_use(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    evaluator = LLMEvaluator(**INIT, progress_bar=False)
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        evaluator.run(predicted_answers=["a"])
    with FakeServer({"score": 1}, key="mine") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        mine = LLMEvaluator(**INIT, progress_bar=False, api_key=Secret.from_token("mine"))
        found = mine.run(predicted_answers=["a"])
        assert found["results"] == [{"score": 1}]
        theirs = LLMEvaluator(**INIT, progress_bar=False, api_key=Secret.from_token("sk-not-the-right-one"))
        with pytest.raises(EvaluationError, match="401") as raised:
            theirs.run(predicted_answers=["a"])
    assert "not-the-right-one" not in str(raised.value)
