"""Read files of replies: one JSON object a line, in any order, each with the `custom_id` of its request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

from karat.core.errors import DataError
from karat.models.governor.faults import Fault, classify
from karat.models.openai.body import UnreadableReply
from karat.models.openai.client import REPLY_BYTES, EndpointError
from karat.models.openai.model import read_completion
from karat.models.request import Reply


def read_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, each with its number; of one that is longer than a reply may be, the beginning."""
    number = 0
    while line := file.readline(REPLY_BYTES + 1):
        number += 1
        rest = line
        while len(rest) > REPLY_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(REPLY_BYTES + 1)
        if line.strip():
            yield number, line.rstrip(b"\r\n")


def parse_line(line: bytes, place: str) -> tuple[str, Any]:
    """The `custom_id` in a line, and the line's value; `DataError` with the line's place where it has none."""
    try:
        value: Any = json.loads(line)
        key = value["custom_id"]
    except (ValueError, LookupError, TypeError, RecursionError):
        key = None
    if not isinstance(key, str):
        raise DataError(f"{place}: expected a JSON object with a custom_id, found {line[:80]!r}")
    return key, value


def read_outcome(value: Mapping[str, Any]) -> Reply | Fault:
    """The reply in the value of a line, or why there is none.

    >>> body = {"choices": [{"message": {"content": "yes"}}]}
    >>> read_outcome({"custom_id": "a", "response": {"status_code": 200, "body": body}}).text
    'yes'
    """
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
