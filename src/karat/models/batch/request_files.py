"""Requests that are written to a file, for whatever answers it, and the replies that come back in another.

The files have the form of OpenAI's batches, which vLLM's `run-batch` and others read and write too: a JSON object a
line, with the key of the request in the cache of replies as its `custom_id`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from karat.core.atomic import check_is_file, replacing
from karat.core.errors import DataError, SpecError
from karat.models.batch.results import parse_line, read_lines, read_outcome
from karat.models.governor.dry_run import CountingGovernor
from karat.models.governor.faults import Fault, RequestError
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import ReplyCache
from karat.models.request import Model, Reply, Request

_KEY = re.compile("[0-9a-f]{64}")


def write_request(key: str, model: OpenAIModel, request: Request) -> bytes:
    """The line of a request in a file."""
    body = model.adapt(model.body(request.messages, request.schema, request.settings))
    line = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


@contextmanager
def open_requests(path: str) -> Iterator[BinaryIO]:
    """A file for requests, which is there whole at the end of the block; `DataError` where it cannot be written."""
    with replacing(Path(path)) as temporary, temporary.open("wb") as file:
        yield file


class WritingGovernor(CountingGovernor):
    """A governor that writes each request without a reply in the cache to a file, once, and sends none."""

    def __init__(self, store: ReplyCache, file: BinaryIO) -> None:
        super().__init__(store)
        self.written, self._file = 0, file

    def count_new(self, model: Model, request: Request, key: str | None) -> None:
        """Count a request, and write it; `SpecError` for a model that is not asked at an endpoint."""
        if not isinstance(model, OpenAIModel) or key is None:
            raise SpecError(f"requests to {getattr(model, '__name__', model)!r} are not requests to an endpoint")
        super().count_new(model, request, key)
        self._file.write(write_request(key, model, request))
        self.written += 1


class FiledGovernor(Governor):
    """A governor that sends nothing: replies come from the cache, and `faults`, by key, say why some are not there.

    `missing`: the keys of the requests that have none.
    """

    def __init__(self, store: ReplyCache, faults: dict[str, Fault]) -> None:
        super().__init__(store=store)
        self.missing, self._faults = set[str | None](), faults

    async def _request(self, _model: Model, _request: Request, key: str | None) -> Reply:
        """Raise `RequestError`: what is asked for is not in the cache."""
        self.permits.fail(sent=True)
        self.missing.add(key)
        fault = self._faults.get(key or "")
        raise RequestError("no reply in the files" if fault is None else fault.message)


def read_replies(paths: Iterable[str], store: ReplyCache) -> dict[str, Fault]:
    """Put the replies in files into the cache; the requests that were not answered, by key, with the reason.

    A reply that the cache holds already stays. Raises `DataError`, with the file and the line, for a line that holds no
    reply to a request of karat's, and for a second reply to one request.
    """
    faults, seen = dict[str, Fault](), dict[str, str]()
    for path in paths:
        check_is_file(Path(path))
        with Path(path).open("rb") as file:
            for number, line in read_lines(file):
                place = f"{path}, line {number}"
                key, value = parse_line(line, place)
                if not _KEY.fullmatch(key):
                    expected = "the custom_id of a request that --write-requests wrote"
                    raise DataError(f"{place}: expected {expected}, found {key[:80]!r}")
                if (before := seen.setdefault(key, place)) != place:
                    raise DataError(f"{place}: a second reply to the request of {before}")
                outcome = read_outcome(value)
                if isinstance(outcome, Reply):
                    store.put(key, outcome)
                else:
                    faults[key] = outcome
    return faults
