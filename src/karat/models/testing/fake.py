"""Fake models for tests: a callable, and a server that speaks OpenAI's chat completions over HTTP on this machine.

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
from types import TracebackType
from typing import Any, Self, TypeAlias
from zlib import crc32

from karat.models.request import Message, Reply, Request, Schema
from karat.models.testing.http import Loopback, Received, Response
from karat.models.testing.injected_faults import Faults, choose, failure, spoil
from karat.models.testing.schema_sample import sample

PLAIN = ("text", "json_object")

Said: TypeAlias = Reply | str | Mapping[str, Any]
Script: TypeAlias = Said | Sequence[Said] | Callable[[Sequence[Message]], Said] | None
"""What a fake says: one text or JSON object always, a list of them in turn, whatever a function of the messages
gives, or nothing in particular: a value that fits the schema, drawn by the prompt's checksum."""


def reader(script: Script) -> Callable[[Sequence[Message], Schema | None], Reply]:
    """The script as a function of messages and schema."""
    if script is None:
        return _anything
    if callable(script):
        return lambda messages, _: Reply.of(script(messages))
    if isinstance(script, (Reply, str, Mapping)):
        always = Reply.of(script)
        return lambda _, __: always
    turn, number = iter(script), len(script)

    def following(_: Sequence[Message], __: Schema | None) -> Reply:
        for said in turn:
            return Reply.of(said)
        raise LookupError(f"the script has run out: it holds {number} replies")

    return following


def _anything(messages: Sequence[Message], schema: Schema | None) -> Reply:
    if schema is None:
        return Reply("fake")
    return Reply.of(sample(schema, Random(crc32(json.dumps(messages).encode()))))  # noqa: S311


class FakeModel:
    """A model for tests, asked in this process; `requests` holds what it was asked.

    Its replies are kept in no store, so that one test does not meet those of another, unless it is given an `endpoint`.

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
        self._read = reader(answer)

    async def __call__(
        self, messages: Sequence[Message], schema: Schema | None = None, settings: Mapping[str, Any] | None = None
    ) -> Reply:
        """What the script says, with tokens counted as a fourth of the characters."""
        self.requests.append(Request(messages, schema, settings or {}))
        reply = self._read(messages, schema)
        return _counted(reply, messages)


def _counted(reply: Reply, messages: Sequence[Message]) -> Reply:
    """The reply with its tokens, a fourth of the characters where the script does not say."""
    if reply.input_tokens is not None:
        return reply
    asked = sum(len(str(message["content"])) for message in messages)
    return replace(reply, input_tokens=math.ceil(asked / 4), output_tokens=math.ceil(len(reply.text) / 4))


class FakeServer:
    """An OpenAI-compatible endpoint on this machine, for as long as its `with` block lasts.

    `latency` is in seconds, or a range to draw from. `faults`, named in `karat.models.testing.injected_faults`, are
    shares of the calls, a list for one call after another, or a function of the request's body; `wait` is
    what their `Retry-After` asks for.
    `forms` are the forms of structured output that are accepted. Where `key` is given, calls with another are refused.
    With `price`, in USD per million input and output tokens, replies tell their cost.
    `calls` counts what was asked, and `requests` holds the bodies.
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
        seed: int = 0,
        port: int = 0,
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self._read, self._fault = reader(answer), choose(faults, seed)
        self._latency = latency if isinstance(latency, tuple) else (latency, latency)
        self._wait, self._forms, self._key, self._price = wait, {*forms, *PLAIN}, key, price
        self._draw = Random(seed)  # noqa: S311
        self._server = Loopback(self._answer, port)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.port

    @property
    def url(self) -> str:
        """The base URL, for `OPENAI_BASE_URL`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        """How many completions were asked for, answered or not."""
        return len(self.requests)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()

    def _answer(self, received: Received) -> Response:
        path = received.path.partition("?")[0]
        if self._key is not None and (given := _key(received)) != self._key:
            return failure(401, f"Incorrect API key provided: {given}")
        if (received.method, path) == ("GET", "/v1/models"):
            return Response.of({"object": "list", "data": [{"id": "fake", "object": "model", "owned_by": "karat"}]})
        if (received.method, path) != ("POST", "/v1/chat/completions"):
            return failure(404, f"there is no {received.method} {path}", "not_found")
        try:
            body = json.loads(received.body)
            self.requests.append(body)
            response = self._complete(body)
        except Exception as error:  # noqa: BLE001  (whatever a test's script raises; the client is to see it)
            response = failure(400, f"{type(error).__name__}: {error}")
        return replace(response, delay=self._draw.uniform(*self._latency))

    def _complete(self, body: dict[str, Any]) -> Response:
        form, schema = _wanted(body)
        if form not in self._forms:
            return failure(
                400, f"{form} is not supported by this endpoint", "unsupported_value", param="response_format"
            )
        reply = _counted(self._read(body["messages"], schema), body["messages"])
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if form == "tool":
            call = {"name": body["tools"][0]["function"]["name"], "arguments": reply.text}
            message |= {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": call}]}
        completion = {
            "id": f"chatcmpl-{self.calls}",
            "object": "chat.completion",
            "created": int(time()),
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if form == "tool" else "stop"}],
            "usage": self._usage(reply),
        }
        fault = self._fault(body)
        return Response.of(completion) if fault is None else spoil(fault, completion, self._wait)

    def _usage(self, reply: Reply) -> dict[str, Any]:
        asked, said = reply.input_tokens or 0, reply.output_tokens or 0
        usage: dict[str, Any] = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
        if self._price is not None:
            usage["cost"] = (asked * self._price[0] + said * self._price[1]) / 1e6
        return usage


def _key(received: Received) -> str | None:
    found = re.search(rb"\r\nauthorization:[ \t]*bearer[ \t]+([^\r]*)", received.head, re.IGNORECASE)
    return found and found[1].decode("latin-1")


def _wanted(body: Mapping[str, Any]) -> tuple[str, Schema | None]:
    """The form of structured output that a request asks for, and its schema."""
    if tools := body.get("tools"):
        return "tool", tools[0]["function"].get("parameters")
    wanted = body.get("response_format") or {"type": "text"}
    return wanted["type"], wanted.get("json_schema", {}).get("schema")
