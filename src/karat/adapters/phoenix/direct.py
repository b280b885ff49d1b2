"""What Phoenix asks of openai's asynchronous client, sent over karat's own connections, at a third of its CPU time."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from karat.models.openai.client import Endpoint, EndpointError, post

_OPTIONS = {"extra_body", "extra_headers", "extra_query", "timeout"}  # of openai's method, not members of a body
_BAD_REQUEST = 400


def direct(client: Any) -> Any:
    """The client in its quick form; as it is, if it is not openai's own or anything but its address and key was set."""
    wrapped: Any = getattr(client, "client", None)
    if type(wrapped).__name__ != "AsyncOpenAI" or not isinstance(wrapped.api_key, str):
        return client
    plain = type(wrapped)(base_url=wrapped.base_url, api_key=wrapped.api_key or "none")
    if not wrapped.api_key or _settings(wrapped) != _settings(plain):
        return client
    if type(wrapped._client) is not type(plain._client):  # noqa: SLF001  (a client of httpx that the user gave it)
        return client
    return DirectClient(wrapped, client.model)


def _settings(client: Any) -> list[Any]:
    headers = {name: value for name, value in client.default_headers.items() if isinstance(value, str)}
    return [headers, client.default_query, client.timeout, client.organization, client.project]


class DirectClient:
    """The method of openai's client that Phoenix calls: `chat.completions.create`."""

    def __init__(self, client: Any, model: str) -> None:
        self.model, self.base_url = model, client.base_url
        self._endpoint = Endpoint(str(client.base_url).rstrip("/"), client.api_key)
        self._create_slowly = client.chat.completions.create
        self._tokens: dict[Any, Any] = {}
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def take_tokens(self) -> tuple[int | None, int | None]:
        """The tokens in and out of the last reply in the running task, where they are known."""
        usage = self._tokens.pop(asyncio.current_task(), None)
        return (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)

    async def _create(self, **body: Any) -> Any:
        """The completion. What is refused as a bad request is sent by openai's client, whose errors Phoenix knows."""
        if not body.keys() & _OPTIONS:
            with suppress(TypeError):  # the body holds objects of openai's, which its client converts
                return await self._post(body)
        return await self._create_slowly(**body)

    async def _post(self, body: dict[str, Any]) -> Any:
        try:
            completion = await post(self._endpoint, "/chat/completions", body, _read)
        except EndpointError as error:
            if error.status_code == _BAD_REQUEST:
                return await self._create_slowly(**body)
            raise
        self._tokens[asyncio.current_task()] = completion.usage
        return completion


def _read(text: str) -> _Object:
    completion: _Object = json.loads(text, object_hook=_Object)
    completion.choices[0].message.content  # noqa: B018  (a reply without it raises, and is asked for again)
    return completion


class _Object:
    """An object of JSON with its members as attributes; those that it lacks are None."""

    def __init__(self, members: dict[str, Any]) -> None:
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        return None
