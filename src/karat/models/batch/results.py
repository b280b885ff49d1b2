"""Read the results of a batch: one JSON object a line, in any order, each with the `custom_id` of its request."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from karat.models.governor.faults import Fault, classify
from karat.models.openai.body import UnreadableReply
from karat.models.openai.client import REPLY_BYTES, EndpointError
from karat.models.openai.model import read_completion
from karat.models.request import Reply

MOST_PROBLEMS = 100  # after which the rest is left unread


@dataclass
class Results:
    """The outcome of each request, by its `custom_id`, and what is wrong with the files, line by line."""

    outcomes: dict[str, Reply | Fault] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_results(files: Mapping[str, bytes | bytearray], keys: Collection[str], batch: str) -> Results:
    """The outcomes in the files of a batch, by their ids.

    A request that has no line may be sent again. One that has several fails: none of its replies is used. A line that
    cannot be read, or whose `custom_id` is not among `keys`, is a problem of the file and has no outcome.

    >>> body = {"choices": [{"message": {"content": "yes"}}]}
    >>> line = json.dumps({"custom_id": "a", "response": {"status_code": 200, "body": body}})
    >>> results = read_results({"file-1": line.encode()}, {"a", "b"}, "batch-1")
    >>> results.outcomes["a"].text, results.outcomes["b"].message
    ('yes', 'batch batch-1 holds no reply')
    """
    results = Results()
    outcomes = results.outcomes
    for file, content in files.items():
        for number, line in read_lines(content):
            if len(results.problems) == MOST_PROBLEMS:
                break
            place = f"batch {batch}, file {file}, line {number}"
            try:
                value: Any = json.loads(line) if len(line) <= REPLY_BYTES else None
                key = value["custom_id"]
            except (ValueError, LookupError, TypeError, RecursionError):
                results.problems.append(f"{place}: expected a JSON object with a custom_id, found {line[:80]!r}")
                continue
            if not isinstance(key, str) or key not in keys:
                results.problems.append(f"{place}: the custom_id {str(key)[:80]!r} is of no request in this batch")
            elif key in outcomes:
                outcomes[key] = Fault("row", f"batch {batch} holds several replies to this request; none is used")
            else:
                outcomes[key] = read_outcome(value)
    for key in keys:
        outcomes.setdefault(key, Fault("transient", f"batch {batch} holds no reply"))
    return results


def read_lines(content: bytes | bytearray) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, each with its number, one at a time: a list would take as much memory again."""
    start = number = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end, number = len(content) if end < 0 else end, number + 1
        line = bytes(memoryview(content)[start : min(end, start + REPLY_BYTES + 1)])
        if line.strip():
            yield number, line
        start = end + 1


def read_outcome(value: Mapping[str, Any]) -> Reply | Fault:
    """The reply in a line, or why there is none."""
    error, response = value.get("error") or {}, value.get("response") or {}
    if not response:
        code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, error)
        return Fault("transient", ": ".join(str(part) for part in (code or "no response", message) if part))
    body: Any = response
    try:
        status, body = response.get("status_code"), response.get("body")
        if status != 200:
            raise EndpointError(int(status or 0), {}, json.dumps(body))
        return read_completion(body)
    except EndpointError as refused:
        fault = classify(refused, proven=True)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        excerpt = json.dumps(body, ensure_ascii=False)[:200]
        fault = classify(UnreadableReply(f"the reply is not a chat completion: {excerpt}"), proven=True)
    return replace(fault, kind="transient") if fault.retryable else fault
