"""Any OpenAI-compatible endpoint, through the official `openai` package."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from karat.core.errors import MissingExtra, SpecError, did_you_mean
from karat.models.openai.clients import connect
from karat.models.request import Message, Reply, Schema

FORMS = ("json_schema", "tool", "text")
"""The forms of structured output, the strictest first."""

HOPELESS = {"context_length_exceeded", "content_filter", "invalid_api_key", "model_not_found"}
"""Codes of refusals that another form would meet as well."""

PROBLEMS = {"content_filter": "stopped by the content filter", "length": "cut off at the token limit"}


class UnreadableReply(Exception):
    """A reply of status 200 that is no chat completion: a proxy's page, half of an object, an error in disguise."""

    status_code = 200


class OpenAIModel:
    """A model at `base_url` (`OPENAI_BASE_URL`, else OpenAI's own), asked with `api_key` (`OPENAI_API_KEY`).

    `structured` is the form in which a reply is made to match a schema: a JSON Schema as the format of the response,
    the call of a tool, or words; `"auto"` finds the first of these that the endpoint accepts. Until it is found calls
    go one at a time, so that finding it costs at most two requests, refused and free of charge.

    Raises openai's own errors, rid of the key, and UnreadableReply; nothing is asked twice here. An endpoint of your
    own needs no key. SpecError: neither key nor base URL, or one that is none. MissingExtra: openai is not installed.

    >>> OpenAIModel("small", base_url="http://localhost:8000/v1", api_key="secret")
    OpenAIModel('small', base_url='http://localhost:8000/v1')
    """

    def __init__(
        self, name: str, *, base_url: str | None = None, api_key: str | None = None, structured: str = "auto"
    ) -> None:
        if find_spec("openai") is None:
            raise MissingExtra("openai", extra="judge", need=f"the model {name!r}")
        if structured not in ("auto", *FORMS):
            raise SpecError(f"structured={structured!r}{did_you_mean(structured, ('auto', *FORMS))}")
        url = base_url or os.environ.get("OPENAI_BASE_URL")
        self._key = api_key or os.environ.get("OPENAI_API_KEY") or ""
        if not url and not self._key:
            raise SpecError(
                f"the model {name!r} has neither key nor endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL to ask "
                "another endpoint than OpenAI's"
            )
        self.name, self.endpoint = name, (url or "https://api.openai.com/v1").rstrip("/")
        if not re.match(r"https?://[^/@]+(/|$)", self.endpoint):
            raise SpecError(
                "a base URL is http(s)://host/path, with the key apart: base_url= or OPENAI_BASE_URL is not"
            )
        self._form = None if structured == "auto" else structured
        self._alone: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self.endpoint!r})"

    async def __call__(
        self, messages: Sequence[Message], schema: Schema | None = None, settings: Mapping[str, Any] | None = None
    ) -> Reply:
        """Ask once. `settings` (temperature, seed, max_tokens) go into the request as they are, Nones left out."""
        body: dict[str, Any] = {"model": self.name, "messages": list(messages)}
        body |= {key: value for key, value in (settings or {}).items() if value is not None}
        if schema is None:
            return await self._ask(body)
        if self._form is None:
            async with self._alone.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                if self._form is None:
                    return await self._find_form(body, schema)
        return await self._ask(shape(body, schema, self._form))

    async def _find_form(self, body: dict[str, Any], schema: Schema) -> Reply:
        """The reply in the first form that the endpoint accepts, which is remembered."""
        from openai import APIStatusError  # noqa: PLC0415  (slow to import: not before a call)

        *stricter, last = FORMS
        for form in stricter:
            try:
                reply = await self._ask(shape(body, schema, form))
            except APIStatusError as error:
                if error.status_code not in {400, 404, 422} or error.code in HOPELESS:
                    raise
            else:
                self._form = form
                return reply
        reply = await self._ask(shape(body, schema, last))
        self._form = last
        return reply

    async def _ask(self, body: dict[str, Any]) -> Reply:
        """One request. Its reply is read here: building openai's objects takes longer than all the rest of a call."""
        from openai import APIConnectionError, APIError  # noqa: PLC0415

        client = await connect(self.endpoint, self._key)
        try:
            said = await client.post("/chat/completions", cast_to=str, body=body)
        except APIError as error:
            if isinstance(error, APIConnectionError) and str(error.__cause__ or ""):
                error.message = str(error.__cause__)  # which host and why, where openai says that it timed out
            error.message = self._hide_key(error.message)
            error.args = (error.message,)
            error.body = json.loads(self._hide_key(json.dumps(error.body)))
            raise
        try:
            return read(said)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise UnreadableReply(f"the reply is no chat completion: {self._hide_key(said)[:200]!r}") from error

    def _hide_key(self, text: str) -> str:
        """Endpoints quote keys that they do not know. A key of fewer than 8 characters is a placeholder."""
        return text.replace(self._key, "(key)") if len(self._key) >= 8 else text


def shape(body: Mapping[str, Any], schema: Schema, form: str) -> dict[str, Any]:
    """The request for a reply that matches `schema`, in one of FORMS.

    >>> shape({"messages": []}, {"type": "object"}, "tool")["tool_choice"]
    {'type': 'function', 'function': {'name': 'reply'}}
    """
    if form == "json_schema":
        wanted = {"name": "reply", "strict": True, "schema": schema}
        return {**body, "response_format": {"type": "json_schema", "json_schema": wanted}}
    if form == "tool":
        tool = {"name": "reply", "description": "Give your reply.", "parameters": schema}
        return {
            **body,
            "tools": [{"type": "function", "function": tool}],
            "tool_choice": {"type": "function", "function": {"name": "reply"}},
        }
    rule = "Reply with one JSON value that matches this JSON Schema, and with nothing else:\n" + json.dumps(schema)
    first, *rest = body["messages"]
    if first["role"] == "system":
        return {**body, "messages": [{**first, "content": f"{first['content']}\n\n{rule}"}, *rest]}
    return {**body, "messages": [{"role": "system", "content": rule}, first, *rest]}


def read(said: str) -> Reply:
    """The reply in the JSON text of a chat completion; `problem` says why it is not what was asked for.

    >>> read('{"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7}}')
    Reply(text='{}', input_tokens=7, ...)

    ValueError, LookupError, TypeError, AttributeError: it is none.
    """
    whole = json.loads(said)
    choice = whole["choices"][0]
    message, ended = choice["message"], choice.get("finish_reason")
    calls, refusal = message.get("tool_calls"), message.get("refusal")
    text = calls[0]["function"]["arguments"] if calls else message.get("content") or refusal or ""
    if isinstance(text, list):  # parts, of which a thinking model's thoughts are others
        text = "".join(part["text"] for part in text if part["type"] == "text")
    if not isinstance(text, str):
        raise TypeError(text)
    problem = f"refused: {refusal}" if refusal else PROBLEMS.get(ended) or (None if text.strip() else "nothing said")
    usage = whole.get("usage") or {}
    return Reply(
        text,
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        cost=usage.get("cost"),
        model=whole.get("model"),
        problem=problem,
    )
