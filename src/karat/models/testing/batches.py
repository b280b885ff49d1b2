"""The files and batches of a fake server: OpenAI's Batch API, with faults by name.

| fault | what becomes of the batch |
|---|---|
| `expired`, `cancelled` | half of its requests are answered, the others have that error |
| `failed`, `token-limit` | it fails before any request is sent; it is more than the server's queue takes |
| `missing`, `duplicate`, `unknown` | a result is missing, comes twice, has the `custom_id` of no request |
| `garbled` | half of a line is missing |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from time import time
from typing import Any
from urllib.parse import parse_qs

from karat.models.testing.http import HttpRequest, HttpResponse
from karat.models.testing.injected_faults import error_response

ENDS = {"expired": "expired", "cancelled": "cancelled", "failed": "failed", "token-limit": "failed"}
FAULTS = (*ENDS, "missing", "duplicate", "unknown", "garbled")
REQUESTS = 50_000  # the most in a file


@dataclass
class _File:
    name: str
    purpose: str
    content: bytes
    created: int = field(default_factory=lambda: int(time()))


@dataclass
class _Batch:
    body: Mapping[str, Any]
    total: int
    status: str = "completed"
    problem: str | None = None
    failed: int = 0
    files: dict[str, str] = field(default_factory=dict)
    created: float = field(default_factory=time)


class FakeBatches:
    """Answers requests about files and batches. `complete` answers the body of one chat completion.

    A batch ends `seconds` after it is created; its requests are sent when it is created. `fault` gives the fault of the
    next batch.
    """

    def __init__(
        self,
        complete: Callable[[dict[str, Any]], HttpResponse],
        seconds: float,
        fault: Callable[[Mapping[str, Any]], str | None],
        draw: Random,
    ) -> None:
        self._complete, self._seconds, self._fault, self._draw = complete, seconds, fault, draw
        self.files: dict[str, _File] = {}
        self.batches: dict[str, _Batch] = {}

    def handle(self, request: HttpRequest) -> HttpResponse | None:
        """The response; None where the path is about something else."""
        path, _, query = request.path.partition("?")
        match request.method, path.split("/")[2:]:
            case "POST", ["files"]:
                return HttpResponse.from_value(self._describe_file(self._upload(request.body)))
            case "GET", ["files", name, "content"] if name in self.files:
                return HttpResponse(self.files[name].content)
            case "POST", ["batches"]:
                return self._create(json.loads(request.body))
            case "GET", ["batches"]:
                return _page([self._describe(name) for name in reversed(self.batches)], query)
            case "GET", ["batches", name] if name in self.batches:
                return HttpResponse.from_value(self._describe(name))
        return None

    def _upload(self, body: bytes) -> str:
        edge = body.partition(b"\r\n")[0]
        values: dict[str, tuple[bytes, bytes]] = {}
        for part in body.split(edge)[1:-1]:
            head, _, content = part.partition(b"\r\n\r\n")
            if name := re.search(rb'name="(\w+)"', head):
                values[name[1].decode()] = head, content[:-2]
        named = re.search(rb'filename="([^"]+)"', values["file"][0])
        return self._add(
            _File(named[1].decode() if named else "file", values["purpose"][1].decode(), values["file"][1])
        )

    def _add(self, file: _File) -> str:
        self.files[name := f"file-{len(self.files) + 1}"] = file
        return name

    def _create(self, body: Mapping[str, Any]) -> HttpResponse:
        file = self.files.get(body["input_file_id"])
        if file is None or file.purpose != "batch" or body["endpoint"] != "/v1/chat/completions":
            return error_response(400, f"no batch can be made of {body}")
        requests = [json.loads(line) for line in file.content.splitlines()]
        self.batches[name := f"batch_{len(self.batches) + 1}"] = batch = _Batch(body, len(requests))
        fault = self._fault(body)
        ids, models = {each["custom_id"] for each in requests}, {each["body"]["model"] for each in requests}
        if not len(ids) == len(requests) <= REQUESTS or len(models) > 1:
            fault = "failed"
        batch.status = ENDS.get(fault or "", "completed")
        if batch.status == "failed":
            batch.problem = "token_limit_exceeded" if fault == "token-limit" else "invalid_request"
        else:
            self._answer(batch, requests, fault)
        return HttpResponse.from_value(self._describe(name))

    def _answer(self, batch: _Batch, requests: list[dict[str, Any]], fault: str | None) -> None:
        """Send the requests of a batch, and write the files of its results in any order."""
        results: dict[str, list[bytes]] = {"output_file_id": [], "error_file_id": []}
        sent = len(requests) // 2 if batch.status != "completed" else len(requests)
        for number, request in enumerate(requests):
            response, error = None, None
            if number < sent:
                reply = self._complete(request["body"])
                response = {"status_code": reply.status, "request_id": f"r{number}", "body": _read_body(reply.body)}
            else:
                error = {"code": f"batch_{batch.status}", "message": f"the batch is {batch.status}"}
            bad = response is None or response["status_code"] != 200
            batch.failed += bad
            result = {
                "id": f"batch_req_{number}",
                "custom_id": request["custom_id"],
                "response": response,
                "error": error,
            }
            results["error_file_id" if bad else "output_file_id"].append(json.dumps(result).encode())
        for kind, lines in results.items():
            if lines:
                _inject(fault, lines)
                self._draw.shuffle(lines)
                batch.files[kind] = self._add(_File(f"{kind}.jsonl", "batch_output", b"\n".join(lines) + b"\n"))

    def _describe(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        passed = time() - batch.created
        share = min(1.0, passed / self._seconds) if self._seconds else 1.0
        errors = None
        if batch.problem:
            share, errors = (
                1.0,
                {"object": "list", "data": [{"code": batch.problem, "message": "the batch is refused"}]},
            )
        done = 0 if batch.problem else int(share * batch.total)
        failed = min(done, batch.failed)
        ended = {"status": batch.status, "output_file_id": None, "error_file_id": None, **batch.files}
        return {
            "id": name,
            "object": "batch",
            "endpoint": batch.body["endpoint"],
            "input_file_id": batch.body["input_file_id"],
            "completion_window": batch.body["completion_window"],
            "created_at": int(batch.created),
            "metadata": batch.body.get("metadata"),
            "errors": errors,
            "request_counts": {"total": batch.total, "completed": done - failed, "failed": failed},
            **(ended if share == 1.0 else {"status": "in_progress"}),
        }

    def _describe_file(self, name: str) -> dict[str, Any]:
        file = self.files[name]
        about = {"bytes": len(file.content), "created_at": file.created, "filename": file.name, "purpose": file.purpose}
        return {"id": name, "object": "file", **about}


def _inject(fault: str | None, lines: list[bytes]) -> None:
    """Put a fault into the lines of a file of results."""
    if fault == "missing":
        lines.pop()
    elif fault == "duplicate":
        lines.append(lines[0])
    elif fault == "unknown":
        lines.append(json.dumps(json.loads(lines[0]) | {"custom_id": "nobody"}).encode())
    elif fault == "garbled":
        lines[0] = lines[0][: len(lines[0]) // 2]


def _read_body(body: bytes) -> Any:
    """The JSON value of a response; a web page stays text."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def _page(rows: list[dict[str, Any]], query: str) -> HttpResponse:
    """The rows of a list that a query asks for."""
    wanted = {name: values[0] for name, values in parse_qs(query).items()}
    after, limit = wanted.get("after"), int(wanted.get("limit", "20"))
    start = next((at + 1 for at, row in enumerate(rows) if row["id"] == after), 0)
    page = {"object": "list", "data": rows[start : start + limit], "has_more": start + limit < len(rows)}
    return HttpResponse.from_value(page)
