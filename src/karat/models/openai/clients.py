"""One client of the `openai` package for each event loop, endpoint and key: models share its connections."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Place: TypeAlias = tuple[asyncio.AbstractEventLoop, str, str]

_open: dict[Place, tuple[AsyncOpenAI, AsyncGenerator[None, None]]] = {}


async def connect(endpoint: str, key: str) -> AsyncOpenAI:
    """The client of the running loop, since connections belong to the loop that opened them; it never asks twice."""
    place = asyncio.get_running_loop(), endpoint, key
    if place not in _open:
        from openai import AsyncOpenAI  # noqa: PLC0415  (slow to import: not before a call)

        client = AsyncOpenAI(base_url=endpoint, api_key=key or "none", max_retries=0, http_client=_fast_transport())
        _open[place] = client, (end := _until_the_loop_ends(place, client))
        await anext(end)
    return _open[place][0]


async def _until_the_loop_ends(place: Place, client: AsyncOpenAI) -> AsyncGenerator[None, None]:
    """A loop ends its generators before it closes (`asyncio.run` sees to that): the time to close the connections."""
    try:
        yield
    finally:
        _open.pop(place, None)
        await client.close()


@atexit.register
def _close() -> None:
    """Those of loops that run in a thread until the process ends."""
    for (loop, *_), (client, _) in list(_open.items()):
        if loop.is_running():
            with suppress(Exception):
                asyncio.run_coroutine_threadsafe(client.close(), loop).result(timeout=1)


def _fast_transport() -> Any:
    """That of aiohttp where it is installed, which takes 0.6 of the time of httpx; else None, openai's choice."""
    try:
        from openai import DefaultAioHttpClient  # noqa: PLC0415

        return DefaultAioHttpClient()
    except (ImportError, RuntimeError):
        return None
