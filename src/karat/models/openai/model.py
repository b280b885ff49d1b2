"""A language model at any OpenAI-compatible endpoint."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from karat.core.errors import SpecError, did_you_mean
from karat.models.openai.client import EndpointError, find_endpoint, post
from karat.models.openai.remedies import remedies
from karat.models.openai.unsupported import OTHER_NAMES, apply, describe, find_refused
from karat.models.request import CUT_OFF, NOTHING, REFUSED, ChatMessage, Reply, Schema

FORMS = ("json_schema", "tool", "text")  # of structured output, the strictest first
# codes of refusals that do not depend on the form
UNRELATED_CODES = {"context_length_exceeded", "content_filter", "invalid_api_key", "model_not_found"}
_LARGEST = 1 << 53  # tokens or dollars
PROBLEMS = {"content_filter": "stopped by the content filter", "length": CUT_OFF}


class OpenAIModel:
    """The model `name` at `base_url` (`$OPENAI_BASE_URL`, else OpenAI's), used with `api_key` (`$OPENAI_API_KEY`).

    `structured` is the form in which a reply must match a schema: `"json_schema"`, the response format; `"tool"`, the
    call of a tool; `"text"`, an instruction in words; `"auto"`, the first of these that the endpoint accepts. Each of
    the calls that are sent before it is known finds it by itself, with at most two refused requests, which are free.

    A call raises `EndpointError` for an HTTP error status, `EndpointConnectionError` without a complete reply, and
    `UnreadableReply`; the key is in none of them, and no request is repeated. An endpoint of your own needs no key.
    Raises `SpecError` if there is neither a key nor a base URL, or the base URL is not valid.

    >>> OpenAIModel("small", base_url="http://localhost:8000/v1", api_key="secret")
    OpenAIModel('small', base_url='http://localhost:8000/v1')
    """

    def __init__(
        self, name: str, *, base_url: str | None = None, api_key: str | None = None, structured: str = "auto"
    ) -> None:
        if structured not in ("auto", *FORMS):
            raise SpecError(f"structured={structured!r}{did_you_mean(structured, ('auto', *FORMS))}")
        self.address = find_endpoint(name, base_url, api_key)
        self.name, self.endpoint = name, self.address.url
        self._form = None if structured == "auto" else structured
        self._changes: dict[str, str | None] = {}

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={self.endpoint!r})"

    async def __call__(
        self, messages: Sequence[ChatMessage], schema: Schema | None = None, settings: Mapping[str, Any] | None = None
    ) -> Reply:
        """Send one request. `settings` (temperature, seed, max_tokens) become members of its body, except None."""
        async with remedies(self.address, self.name):
            if schema is not None and self._form is None:
                return await self._find_form(self.body(messages, None, settings), schema)
            return await self._send(self.body(messages, schema, settings))

    def body(
        self, messages: Sequence[ChatMessage], schema: Schema | None = None, settings: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The body of a request, in the form of structured output that was found; before that in the strictest."""
        body: dict[str, Any] = {"model": self.name, "messages": list(messages)}
        body |= {key: value for key, value in (settings or {}).items() if value is not None}
        return body if schema is None else add_schema(body, schema, self._form or FORMS[0])

    def adapt(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body without the settings that the endpoint has refused, or with their other names."""
        return apply(self._changes, body)

    async def _find_form(self, body: dict[str, Any], schema: Schema) -> Reply:
        """The reply in the first form that the endpoint accepts; later requests use this form.

        Another call may find it meanwhile: then that is the only form left to try, and a request that was refused in it
        is refused for another reason.
        """
        tried = list[str]()
        while True:
            form = self._form or FORMS[len(tried)]
            try:
                reply = await self._send(add_schema(body, schema, form))
            except EndpointError as error:
                tried.append(form)
                unrelated = error.status_code not in {400, 404, 422} or error.code in UNRELATED_CODES
                if unrelated or self._form in tried or len(tried) == len(FORMS):
                    raise
            else:
                self._form = self._form or form
                return reply

    async def _send(self, body: dict[str, Any]) -> Reply:
        """The reply; a setting that the endpoint refuses is left out from then on, or sent by its other name."""
        while True:
            sent = self.adapt(body)
            try:
                reply = await post(self.address, "/chat/completions", sent, parse_completion)
            except EndpointError as error:
                refused = find_refused(sent, error)
                other = OTHER_NAMES.get(refused or "")
                if refused is None or (other is not None and other in self._changes):
                    raise
                if refused not in self._changes:
                    self._changes[refused] = other
                    self._warn(refused, body, error)
            else:
                return replace(reply, changed=describe(self._changes, body)) if self._changes else reply

    def _warn(self, refused: str, body: Mapping[str, Any], error: EndpointError) -> None:
        """Say, once, that a setting is not sent as it is, and how to ask for that from the start."""
        change = describe({refused: self._changes[refused]}, body)
        remedy = (
            "; temperature=None, in the judge's settings, says so from the start" if refused == "temperature" else ""
        )
        message = self.address.hide_key(" ".join(error.message.split())[:200])
        warnings.warn(f"{self.name} at {self.endpoint}: {change} ({message}){remedy}", stacklevel=2)


def add_schema(body: Mapping[str, Any], schema: Schema, form: str) -> dict[str, Any]:
    """The request body with a schema that the reply must match, in one of FORMS.

    >>> add_schema({"messages": []}, {"type": "object"}, "tool")["tool_choice"]
    {'type': 'function', 'function': {'name': 'reply'}}
    """
    if form == "json_schema":
        json_schema = {"name": "reply", "strict": True, "schema": schema}
        return {**body, "response_format": {"type": "json_schema", "json_schema": json_schema}}
    if form == "tool":
        tool = {"name": "reply", "description": "Give your reply.", "parameters": schema}
        choice = {"type": "function", "function": {"name": "reply"}}
        return {**body, "tools": [{"type": "function", "function": tool}], "tool_choice": choice}
    rule = "Reply with one JSON value that matches this JSON Schema, and with nothing else:\n" + json.dumps(schema)
    first, *rest = body["messages"]
    if first["role"] == "system":
        return {**body, "messages": [{**first, "content": f"{first['content']}\n\n{rule}"}, *rest]}
    return {**body, "messages": [{"role": "system", "content": rule}, first, *rest]}


def parse_completion(text: str) -> Reply:
    """The reply in the JSON text of a chat completion; `problem` says why it is not a complete answer.

    >>> parse_completion('{"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": 7}}')
    Reply(text='{}', input_tokens=7, ...)

    Raises ValueError, LookupError, TypeError or AttributeError for any other text.
    """
    return read_completion(json.loads(text))


def read_completion(completion: Mapping[str, Any]) -> Reply:
    """`parse_completion` of a JSON value. Tokens, costs and names that are none are not known."""
    choice = completion["choices"][0]
    message, finish = choice["message"], choice.get("finish_reason")
    refusal = message.get("refusal")
    called = [_arguments(call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
    content = "\n".join(called) or message.get("content") or refusal or ""
    if isinstance(content, list):  # parts; the others are a model's thoughts
        content = "".join(part["text"] for part in content if part["type"] == "text")
    if not isinstance(content, str):
        raise TypeError(content)
    answered = bool(content.strip())
    thoughts = None if answered else message.get("reasoning_content") or message.get("reasoning")
    problem = f"{REFUSED}{refusal}" if refusal else PROBLEMS.get(finish) or (None if answered else NOTHING)
    usage = completion.get("usage") or {}
    read, written = (_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    model = completion["model"] if isinstance(completion.get("model"), str) else None
    about: dict[str, Any] = {"cost": _amount(usage.get("cost")), "model": model, "problem": problem}
    return Reply(content, read, written, **about, thoughts=thoughts if isinstance(thoughts, str) else None)


def _arguments(value: Any) -> str:
    """The arguments of a tool's call as text; some endpoints give their value."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value or "")


def _count(value: Any) -> int | None:
    """A number of tokens, as `_amount`."""
    amount = _amount(value)
    return int(amount) if amount is not None and amount == int(amount) else None


def _amount(value: Any) -> float | None:
    """A number of dollars; None for any other value, and for one that cannot be right."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < _LARGEST else None
