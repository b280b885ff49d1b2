"""Files and batches at an endpoint, by OpenAI's Batch API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from karat.models.governor.faults import Fault, ModelError, classify
from karat.models.governor.retry import RetryPolicy, retry
from karat.models.openai.client import REPLY_BYTES, Endpoint, Upload, send
from karat.models.openai.remedies import remedies

T = TypeVar("T")

REQUESTS, BYTES = 50_000, 200_000_000  # the most that one file may hold
FILE_BYTES = 512 << 20  # of a file of results, which is in memory while it is read
FINAL = {"completed", "failed", "expired", "cancelled"}
TOKEN_LIMIT = "token_limit_exceeded"  # noqa: S105  (the code of a batch that is more than the endpoint queues at a time)
CLOCKS = 86_400  # seconds by which the endpoint's clock may be behind ours


class RejectedError(ModelError):
    """A request about a file or a batch that the endpoint has refused, so that nothing came of it."""


@dataclass(frozen=True)
class BatchState:
    """A batch as the endpoint describes it: `done` of `total` requests have ended; `files` hold their results.

    `problem` says why a batch has failed, and `codes` holds the codes of the reasons.
    """

    id: str
    status: str
    done: int
    total: int
    files: tuple[str, ...]
    problem: str
    codes: frozenset[str]

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> BatchState:
        """The state in a batch object of the API."""
        counts = value.get("request_counts") or {}
        done = (counts.get("completed") or 0) + (counts.get("failed") or 0)
        files = tuple(value[name] for name in ("output_file_id", "error_file_id") if value.get(name))
        errors = (value.get("errors") or {}).get("data") or []
        listed = [
            f"{e.get('code')}: {e.get('message')}" + (f" (line {e['line']})" if e.get("line") else "") for e in errors
        ]
        codes = frozenset(str(each.get("code")) for each in errors)
        problem = "; ".join(listed[:3]) or "the endpoint does not say why"
        return cls(value["id"], value["status"], done, counts.get("total") or 0, files, problem, codes)


class Provider:
    """The files and batches of one endpoint. `policy` says how often and when a request is repeated.

    Every method raises `RejectedError` for what the endpoint refuses, and `ModelError` for what it does not answer.
    """

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy) -> None:
        self._endpoint, self._policy = endpoint, policy

    async def upload(self, name: str, lines: Sequence[bytes]) -> str:
        """The id of a new file of requests."""
        edge = f"karat-{name}"
        head = f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{edge}\r\n'
        head += f'Content-Disposition: form-data; name="file"; filename="karat-{name}.jsonl"\r\n'
        head += "Content-Type: application/jsonl\r\n\r\n"
        form = [head.encode(), *lines, f"\r\n--{edge}--\r\n".encode()]
        return await self._send("POST", "/files", _read_id, Upload(form, f"multipart/form-data; boundary={edge}"))

    async def create(self, name: str, file: str, url: str, since: float, *, sent: bool = False) -> str:
        """The id of a new batch of the requests in a file, to one path of the API.

        One that may be there, since this request was `sent` before and its answer was lost, is looked for first, among
        the batches created `since` then.
        """
        body = {"input_file_id": file, "endpoint": url, "completion_window": "24h"}
        data = json.dumps({**body, "metadata": {"karat": name}}).encode()

        async def attempt() -> str:
            nonlocal sent
            if sent and (batch := await self.find_batch(name, file, since)):
                return batch
            sent = True
            return await send(self._endpoint, "POST", "/batches", _read_id, Upload([data]))

        return await self._retry("/batches", attempt)

    async def state(self, batch: str) -> BatchState:
        """The state of a batch."""
        return await self._send("GET", f"/batches/{batch}", lambda reply: BatchState.read(json.loads(reply)))

    async def download(self, file: str) -> bytes | bytearray:
        """The content of a file."""
        return await self._send("GET", f"/files/{file}/content", lambda content: content, most=FILE_BYTES)

    async def find_batch(self, name: str, file: str, since: float) -> str | None:
        """The id of the batch with our name in its metadata, or of our file, among those created since then."""
        after = ""
        while True:
            page = await self._send("GET", f"/batches?limit=100{after}", json.loads)
            rows = page["data"]
            for row in rows:
                if (row.get("metadata") or {}).get("karat") == name or row["input_file_id"] == file:
                    return str(row["id"])
            if not page.get("has_more") or not rows or rows[-1]["created_at"] < since - CLOCKS:  # the newest come first
                return None
            after = f"&after={rows[-1]['id']}"

    async def _send(
        self,
        method: str,
        path: str,
        parse: Callable[[bytes | bytearray], T],
        upload: Upload | None = None,
        most: int = REPLY_BYTES,
    ) -> T:
        return await self._retry(path, lambda: send(self._endpoint, method, path, parse, upload, most))

    async def _retry(self, path: str, work: Callable[[], Awaitable[T]]) -> T:
        async def attempt() -> T | Fault:
            try:
                async with remedies(self._endpoint):
                    return await work()
            except ModelError:
                raise
            except Exception as error:  # noqa: BLE001  (`classify` says what it means)
                return classify(error, proven=True)

        outcome = await retry(attempt, self._policy, asyncio.sleep)
        if isinstance(outcome, Fault):
            rejected = outcome.status is not None and 400 <= outcome.status < 500
            kind = RejectedError if rejected else ModelError
            raise kind(f"{self._endpoint.url}{path.partition('?')[0]}: {outcome.message}") from outcome.error
        return outcome


def _read_id(reply: bytes | bytearray) -> str:
    return str(json.loads(reply)["id"])
