"""What a browser, or a page of a stranger in it, sends to the local page."""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache
from typing import Any

from targets import SCRATCH
from targets.stored import make_runs

TOKEN, HOST = "token-of-this-page", b"127.0.0.1:8000"
HELPLESS = re.compile(r"karat-fuzz-|/tmp/|Traceback")


@cache
def _page() -> tuple[Any, dict[bytes, bytes]]:
    """The application behind its guard, and the ids of its runs, by name."""
    from karat.viewer.page.app import make_app
    from karat.viewer.page.guard import Guard
    from karat.viewer.page.label_file import LabelFile
    from karat.viewer.page.workspace import Workspace

    folder = make_runs()
    labels = LabelFile(SCRATCH / "labelled.jsonl", "ann", {"good": 1.0, "bad": 0.0}, ("label-map", "good=1,bad=0"))
    space = Workspace(folder, labels)
    ids = {run["name"].encode(): run["id"].encode() for run in space.catalog.describe()}
    return Guard(make_app(space), 8000, frozenset({"127.0.0.1"}), TOKEN), ids


def request(data: bytes) -> None:
    """Lines of a request: its method and address, its headers, and after an empty line its body.

    `$before` and `$after` are the ids of runs, `$token` is the token. The answer is never an error of karat. An error
    names no path of this machine, and without the token and our host it is refused.
    """
    page, ids = _page()
    for name, value in (*ids.items(), (b"token", TOKEN.encode())):
        data = data.replace(b"$" + name, value)
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, address = first.partition(b" ")
    path, _, query = address.partition(b"?")
    headers = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    scope: dict[str, Any] = {
        "type": "http", "http_version": "1.1", "method": method.decode("latin-1"), "path": path.decode("latin-1"),
        "raw_path": path, "query_string": query, "headers": headers, "scheme": "http", "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    status, answer = asyncio.run(_send(page, scope, body))
    assert status < 500, answer
    held = dict(headers)
    if scope["path"].startswith("/api/") and (
        held.get(b"host") != HOST or held.get(b"x-karat-token") != TOKEN.encode()
    ):
        assert status in (401, 403, 413), status
    if scope["path"].startswith("/api/") or status >= 400:
        told = json.loads(answer)
        assert not HELPLESS.search(f"{told.get('error')} {told.get('impossible')}"), answer


async def _send(page: Any, scope: dict[str, Any], body: bytes) -> tuple[int, bytes]:
    """The status and the body of the answer."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await page(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)
