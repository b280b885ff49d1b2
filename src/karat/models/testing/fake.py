"""Fake models for tests: a callable, and a local HTTP server with OpenAI's API for chat completions.

>>> with FakeServer({"label": "correct"}) as server:
...     url = server.url
>>> url.startswith("http://127.0.0.1:") and url.endswith("/v1")
True
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from time import time
from typing import Any, Self, TypeAlias
from zlib import crc32

from karat.models.request import CUT_OFF, REFUSED, ChatMessage, Reply, Request, Schema
from karat.models.testing import batches
from karat.models.testing.batches import FakeBatches
from karat.models.testing.http import HttpRequest, HttpResponse, LoopbackServer
from karat.models.testing.injected_faults import Faults, error_response, fault_chooser, inject_fault
from karat.models.testing.schema_sample import sample_value

FakeReply: TypeAlias = Reply | str | Mapping[str, Any]
Script: TypeAlias = FakeReply | Sequence[FakeReply] | Callable[[Sequence[ChatMessage]], FakeReply] | None
"""The answers of a fake model: the same text or JSON object always, a list of them in turn, a function of the messages,
or None: a random value that matches the schema, seeded by the prompt's checksum."""


def script_reader(script: Script) -> Callable[[Sequence[ChatMessage], Schema | None], Reply]:
    """The script as a function of messages and schema."""
    if script is None:
        return _sample_reply
    if callable(script):
        return lambda messages, _: Reply.from_value(script(messages))
    if isinstance(script, (Reply, str, Mapping)):
        always = Reply.from_value(script)
        return lambda _, __: always
    turn, number = iter(script), len(script)

    def next_reply(_: Sequence[ChatMessage], __: Schema | None) -> Reply:
        for answer in turn:
            return Reply.from_value(answer)
        raise LookupError(f"the script has run out: it holds {number} replies")

    return next_reply


def _sample_reply(messages: Sequence[ChatMessage], schema: Schema | None) -> Reply:
    if schema is None:
        return Reply("fake")
    return Reply.from_value(sample_value(schema, Random(crc32(json.dumps(messages).encode()))))  # noqa: S311


class FakeModel:
    """A model for tests that answers in this process. `requests` holds the requests it received.

    Its replies are not cached, so that tests do not see replies of each other, unless it has an `endpoint`.

    >>> import asyncio
    >>> model = FakeModel(lambda messages: {"label": "correct" if "Paris" in messages[-1]["content"] else "incorrect"})
    >>> asyncio.run(model([{"role": "user", "content": "Rome"}])).text
    '{"label": "incorrect"}'
    >>> model.requests[0].messages
    [{'role': 'user', 'content': 'Rome'}]
    """

    def __init__(self, answer: Script = None, *, name: str = "fake", endpoint: str | None = None) -> None:
        self.name, self.endpoint = name, endpoint
        self.requests: list[Request] = []
        self._read = script_reader(answer)

    async def __call__(
        self, messages: Sequence[ChatMessage], schema: Schema | None = None, settings: Mapping[str, Any] | None = None
    ) -> Reply:
        """The answer of the script, with a fourth of the characters as the number of tokens."""
        self.requests.append(Request(messages, schema, settings or {}))
        return _count_tokens(self._read(messages, schema), messages)


def _count_tokens(reply: Reply, messages: Sequence[ChatMessage]) -> Reply:
    """The reply with its tokens: a fourth of the characters if the script does not set them."""
    if reply.input_tokens is not None:
        return reply
    characters = sum(len(str(message["content"])) for message in messages)
    return replace(reply, input_tokens=math.ceil(characters / 4), output_tokens=math.ceil(len(reply.text) / 4))


class FakeServer:
    """An OpenAI-compatible endpoint on this machine, for the length of its `with` block.

    `latency` is in seconds, or a range of seconds. `faults` (named in `karat.models.testing.injected_faults`) are
    shares of the calls, a list with one fault a call, or a function of the request's body; `wait` is the value of their
    `Retry-After`. `forms` are the accepted forms of structured output. With a `key`, calls with another key are
    refused. Of a `Reply` in the script, thoughts, a refusal, and that it was cut off are sent too. With a
    `price`, in USD per million input and output tokens, replies report their cost. `calls` counts the completions
    requested, `requests` holds the bodies, and `charged` is the cost of all replies. It takes batches too: they end
    after `batch_seconds`, and `batch_faults` (named in `karat.models.testing.batches`) are given like `faults`.
    """

    def __init__(
        self,
        answer: Script = None,
        *,
        latency: float | tuple[float, float] = 0.0,
        faults: Faults = (),
        wait: float = 0.05,
        forms: Sequence[str] = ("json_schema", "tool"),
        key: str | None = None,
        price: tuple[float, float] | None = None,
        batch_seconds: float = 0.0,
        batch_faults: Faults = (),
        seed: int = 0,
        port: int = 0,
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self.charged = 0.0
        self._read, self._fault = script_reader(answer), fault_chooser(faults, seed)
        self._latency = latency if isinstance(latency, tuple) else (latency, latency)
        self._wait, self._forms, self._key, self._price = wait, {*forms, "text", "json_object"}, key, price
        self._draw = Random(seed)  # noqa: S311
        fault = fault_chooser(batch_faults, seed, batches.FAULTS)
        self.batches = FakeBatches(self._answer, batch_seconds, fault, self._draw)
        self._server = LoopbackServer(self._handle, port)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._server.port

    @property
    def url(self) -> str:
        """The base URL, for `OPENAI_BASE_URL`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        """How many completions were requested, answered or not."""
        return len(self.requests)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def _handle(self, request: HttpRequest) -> HttpResponse:
        path = request.path.partition("?")[0]
        if self._key is not None and (key := _bearer_key(request)) != self._key:
            return error_response(401, f"Incorrect API key provided: {key}")
        if (request.method, path) == ("GET", "/v1/models"):
            models = [{"id": "fake", "object": "model", "owned_by": "karat"}]
            return HttpResponse.from_value({"object": "list", "data": models})
        try:
            if (request.method, path) == ("POST", "/v1/chat/completions"):
                return replace(self._answer(json.loads(request.body)), delay=self._draw.uniform(*self._latency))
            if (response := self.batches.handle(request)) is not None:
                return response
        except Exception as error:  # noqa: BLE001  (the client sees what is wrong with its request)
            return error_response(400, f"{type(error).__name__}: {error}")
        return error_response(404, f"there is no {request.method} {path}", "not_found")

    def _answer(self, body: dict[str, Any]) -> HttpResponse:
        try:
            self.requests.append(body)
            return self._complete(body)
        except Exception as error:  # noqa: BLE001  (the client sees what a test's script raises)
            return error_response(400, f"{type(error).__name__}: {error}")

    def _complete(self, body: dict[str, Any]) -> HttpResponse:
        form, schema = _requested_form(body)
        if form not in self._forms:
            message = f"{form} is not supported by this endpoint"
            return error_response(400, message, "unsupported_value", param="response_format")
        reply = _count_tokens(self._read(body["messages"], schema), body["messages"])
        content: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.problem is not None and reply.problem.startswith(REFUSED):
            content |= {"content": None, "refusal": reply.problem.removeprefix(REFUSED)}
        elif reply.thoughts is not None:
            content |= {"content": None, "reasoning_content": reply.thoughts}
        elif form == "tool":
            call = {"name": body["tools"][0]["function"]["name"], "arguments": reply.text}
            content |= {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": call}]}
        finish = "length" if reply.problem == CUT_OFF else "tool_calls" if "tool_calls" in content else "stop"
        completion = {
            "id": f"chatcmpl-{self.calls}",
            "object": "chat.completion",
            "created": int(time()),
            "model": body["model"],
            "choices": [{"index": 0, "message": content, "finish_reason": finish}],
            "usage": self._usage(reply),
        }
        fault = self._fault(body)
        return HttpResponse.from_value(completion) if fault is None else inject_fault(fault, completion, self._wait)

    def _usage(self, reply: Reply) -> dict[str, Any]:
        tokens_in, tokens_out = reply.input_tokens or 0, reply.output_tokens or 0
        usage: dict[str, Any] = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        usage["total_tokens"] = tokens_in + tokens_out
        if self._price is not None:
            usage["cost"] = (tokens_in * self._price[0] + tokens_out * self._price[1]) / 1e6
            self.charged += usage["cost"]
        return usage


def _bearer_key(request: HttpRequest) -> str | None:
    match = re.search(rb"\r\nauthorization:[ \t]*bearer[ \t]+([^\r]*)", request.head, re.IGNORECASE)
    return match and match[1].decode("latin-1")


def _requested_form(body: Mapping[str, Any]) -> tuple[str, Schema | None]:
    """The form of structured output in a request, and its schema."""
    if tools := body.get("tools"):
        return "tool", tools[0]["function"].get("parameters")
    response_format = body.get("response_format") or {"type": "text"}
    return response_format["type"], response_format.get("json_schema", {}).get("schema")
