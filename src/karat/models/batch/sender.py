"""Have a file of requests answered in batches: upload those without a reply, wait, and put the replies into a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import time
from typing import Any
from uuid import uuid4

from karat.core.atomic import check_is_file, replacing
from karat.core.errors import DataError, SpecError
from karat.models.batch.journal import BatchJournal
from karat.models.batch.provider import BYTES, FINAL, REQUESTS, TOKEN_LIMIT, BatchState, Provider, RejectedError
from karat.models.batch.results import parse_line, read_lines, read_outcome
from karat.models.governor.faults import ModelError
from karat.models.governor.retry import RetryPolicy
from karat.models.openai.client import find_endpoint
from karat.models.request import Reply

FIRST_POLL, LONGEST_POLL = 5.0, 60.0  # seconds between two looks at a batch
SETTLE = 30.0  # seconds in which an endpoint may still be working on what a stopped process has sent
_ENDS = {"failed": "has failed", "expired": "has expired", "cancelled": "was cancelled"}
MOST_PROBLEMS = 3  # that are listed of a batch


@dataclass(frozen=True)
class _Place:
    """Where the line of a request is in its file, to which path of the API it goes, and to which model."""

    start: int
    end: int
    url: str
    model: str


class BatchSender:
    """Has the requests in one file answered in batches, and puts the replies into another, where they stay.

    A request that has a reply there is not sent, and neither is one that is in a batch already, also of a process that
    was killed: `REPLIES.batches` names the batches whose replies are not in the file yet. `report` gets a line where a
    batch starts, goes on or ends. `problems` says what went wrong with batches that have ended.
    """

    def __init__(self, requests: str, replies: str, base_url: str | None, report: Callable[[str], None]) -> None:
        self._path, self._replies, self._report = Path(requests), Path(replies), report
        check_is_file(self._replies)
        if self._replies.exists() and self._replies.samefile(self._path):
            raise SpecError(f"{replies} holds the requests: expected another file for the replies")
        self._requests = _read_requests(self._path)
        self._answered = set[str]()
        self.problems = list[str]()
        policy = RetryPolicy(20, FIRST_POLL / 4, LONGEST_POLL)
        model = next((each.model for each in self._requests.values()), "")
        self._provider = Provider(find_endpoint(model, base_url), policy)
        self.journal = BatchJournal(Path(f"{replies}.batches"))

    @property
    def counts(self) -> tuple[int, int]:
        """How many of the requests have a reply, and how many there are."""
        return len(self._answered & self._requests.keys()), len(self._requests)

    async def run(self) -> None:
        """Send what has no reply, and wait for all batches.

        Raises `ModelError` for what the endpoint refuses or does not answer; the batches go on, and a second call
        waits for them.
        """
        self._answered |= {key for key, value, _ in self._lines() if isinstance(read_outcome(value), Reply)}
        for name in [name for name, batch in self.journal.batches.items() if batch.id is None]:
            await self._create(name, sent=True)
        sent = self._answered.union(*(batch.keys for batch in self.journal.batches.values()))
        for keys in list(self._cut(key for key in self._requests if key not in sent)):
            await self._upload(keys)
        batches = dict(self.journal.batches)
        refused = await asyncio.gather(*map(self._wait, batches))
        for batch, problem in zip(batches.values(), refused, strict=True):
            if problem is not None:
                keys = [key for key in batch.keys if key in self._requests]
                await self._send_in_turn(keys, problem if len(batches) == 1 else None)

    def _cut(self, keys: Iterable[str]) -> Iterator[list[str]]:
        """The requests of each batch: one model's, and no more than a file may hold."""
        kinds = dict[tuple[str, str], list[str]]()
        for key in keys:
            place = self._requests[key]
            kinds.setdefault((place.url, place.model), []).append(key)
        for kind in kinds.values():
            part, size = list[str](), 0
            for key in kind:
                length = self._requests[key].end - self._requests[key].start + 1
                if len(part) == REQUESTS or (part and size + length > BYTES):
                    yield part
                    part, size = [], 0
                part.append(key)
                size += length
            yield part

    async def _upload(self, keys: list[str]) -> str:
        """Upload requests and create their batch; its name in the journal."""
        name, lines = uuid4().hex, list[bytes]()
        with self._path.open("rb") as file:
            for place in map(self._requests.__getitem__, keys):
                file.seek(place.start)
                lines.append(file.read(place.end - place.start).rstrip(b"\r\n") + b"\n")
        uploaded = await self._provider.upload(name, lines)
        self.journal.note(name, keys=keys, file=uploaded, since=time(), url=self._requests[keys[0]].url)
        await self._create(name)
        return name

    async def _create(self, name: str, *, sent: bool = False) -> None:
        """Create the batch of an uploaded file; where a process that stopped may have `sent` for it, find it."""
        batch = self.journal.batches[name]
        if sent:
            await asyncio.sleep(max(0.0, min(SETTLE, batch.since + SETTLE - time())))
        try:
            created = await self._provider.create(name, batch.file, batch.url, batch.since, sent=sent)
        except RejectedError:
            self.journal.note(name, ended="not created")
            raise
        self.journal.note(name, id=created)
        self._report(f"{created}: {len(batch.keys):,} requests are uploaded")

    async def _wait(self, name: str) -> str | None:
        """Wait for a batch, and take its replies; the problem of one that is more than the endpoint queues."""
        batch, pause, before = self.journal.batches[name], FIRST_POLL, ""
        while (state := await self._look(str(batch.id))).status not in FINAL:
            share = f"{10 * (10 * state.done // max(1, state.total))} % done"
            if (line := f"{state.id}: {state.status}, {share}") != before:
                self._report(before := line)
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LONGEST_POLL)
        problems, count = await self._take(state, set(batch.keys))
        self.journal.note(name, ended=state.status)
        if TOKEN_LIMIT in state.codes:
            self._report(f"{state.id}: too many tokens for the endpoint's queue; smaller batches follow one by one")
            return state.problem
        self._report(f"{state.id}: {state.status}, {count:,} of {len(batch.keys):,} requests have a reply")
        if state.status != "completed":
            problems.append(f"{state.id} {_ENDS[state.status]}: {state.problem}")
        self.problems += problems
        return None

    async def _look(self, batch: str) -> BatchState:
        try:
            return await self._provider.state(batch)
        except RejectedError as error:
            remedy = f"remove {self.journal.path} where its requests are to be sent again, and paid for again"
            raise ModelError(f"{error}; {remedy}") from error.__cause__

    async def _take(self, state: BatchState, keys: set[str]) -> tuple[list[str], int]:
        """Put the replies of a batch into the file; what is wrong with its results, and how many replies there are."""
        lines, problems, replies = dict[str, bytes](), list[str](), set[str]()
        for name in state.files:
            for number, line in read_lines(BytesIO(await self._provider.download(name))):
                place = f"{state.id}, {name}, line {number}"
                try:
                    key, value = parse_line(line, place)
                except DataError as error:
                    problems.append(str(error))
                    continue
                if key not in keys:
                    problems.append(f"{place}: the custom_id {key[:80]!r} is of no request in this batch")
                elif key in lines:
                    problems.append(f"{place}: a second reply to one request; none is used")
                    lines[key] = b""
                else:
                    lines[key] = line
                    replies |= {key} if isinstance(read_outcome(value), Reply) else set()
        new = {key: line for key, line in lines.items() if line}
        if new:
            with replacing(self._replies) as temporary, temporary.open("wb") as file:
                file.writelines(line + b"\n" for key, _, line in self._lines() if key not in new)
                file.writelines(line + b"\n" for line in new.values())
        self._answered |= replies & new.keys()
        more = [f"and {len(problems) - MOST_PROBLEMS} more like these"] if len(problems) > MOST_PROBLEMS else []
        return problems[:MOST_PROBLEMS] + more, len(replies & new.keys())

    def _lines(self) -> Iterator[tuple[str, Any, bytes]]:
        """The lines in the file of replies, each with the request that it is about, and its value."""
        if self._replies.exists():
            with self._replies.open("rb") as file:
                for number, line in read_lines(file):
                    yield *parse_line(line, f"{self._replies}, line {number}"), line

    async def _send_in_turn(self, keys: list[str], problem: str | None) -> None:
        """Send requests that were too much at a time: together; where that is the problem, one half after the other."""
        if not keys or (problem is None and (problem := await self._wait(await self._upload(keys))) is None):
            return
        if len(keys) == 1:
            raise ModelError(f"a batch with a single request has failed: {problem}")
        await asyncio.sleep(LONGEST_POLL)
        for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
            await self._send_in_turn(half, None)


def _read_requests(path: Path) -> dict[str, _Place]:
    """The places of the requests in a file, by `custom_id`."""
    check_is_file(path)
    places, at, number = dict[str, _Place](), 0, 0
    with path.open("rb") as file:
        while line := file.readline(BYTES + 1):
            start, at, number = at, at + len(line), number + 1
            if len(line) > BYTES:
                raise DataError(f"{path}, line {number}: more than {BYTES >> 20} MB, which no batch may have")
            if not line.strip():
                continue
            key, value = parse_line(line, f"{path}, line {number}")
            try:
                url, model = value["url"], value["body"]["model"]
            except (LookupError, TypeError):
                url = model = None
            if not isinstance(url, str) or not isinstance(model, str):
                raise DataError(f"{path}, line {number}: expected a request, with url, and model in its body")
            if key in places:
                raise DataError(f"{path}, line {number}: a second request with the custom_id {key[:80]!r}")
            places[key] = _Place(start, at, url, model)
    return places
