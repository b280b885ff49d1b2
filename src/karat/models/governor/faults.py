"""What an exception from a model means: wait, try again, give up on the row, or stop."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from karat.core.errors import KaratError

OVERLOAD = {429, 503, 529}
TRANSIENT = {408, 409, 425, 500, 502, 504, *range(520, 528)}
HOPELESS = {401, 402, 403, 404}
OUT_OF_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
ABOUT_THE_ROW = {"context_length_exceeded", "content_filter", "content_policy_violation", "string_above_max_length"}
TOO_LONG = re.compile(r"context (length|window|size)|maximum context|prompt is too long|too many tokens", re.IGNORECASE)
SECRET = re.compile(r"\b(?:sk-|Bearer\s+)[\w.*-]{4,}")

# Clients have trees of their own; these names say "the connection, not the question" in openai, httpx and aiohttp.
CONNECTION = {
    "APIConnectionError",
    "APIResponseValidationError",
    "TransportError",
    "DecodingError",
    "ClientConnectionError",
    "ClientPayloadError",
}
# Errors of the operating system that are about files: a callable's own trouble, the same next time.
FILES = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


class AskError(KaratError):
    """A question that got no answer: its row's failure and no other row's."""


class NotAsked(AskError):
    """A question that was not sent: a cap is reached, or it is only counted."""


class ModelError(KaratError):
    """A model that cannot be asked at all (a bad key, no such model): the run stops."""


@dataclass(frozen=True)
class Fault:
    """What an exception means.

    `overload`: the endpoint wants less; `transient`: the same call may work; `row`: this question will never;
    `fatal`: no question will. `retry_after` is in seconds; `status` that of HTTP, None where no reply came.
    """

    kind: Literal["overload", "transient", "row", "fatal"]
    message: str
    retry_after: float | None = None
    status: int | None = None
    error: BaseException | None = field(default=None, compare=False, repr=False)


def classify(error: BaseException, *, proven: bool = False) -> Fault:
    """What `error` means, by the status and code it carries, else by its class; of any client's exceptions.

    A request that the endpoint calls wrong (400, 422) is fatal until something is `proven` to work there, and its
    row's failure from then on.

    >>> classify(TimeoutError("no reply within 60 s")).kind
    'transient'
    >>> classify(KeyError("verdict"))
    Fault(kind='row', message="KeyError: 'verdict'", retry_after=None, status=None)
    """
    return replace(_classify(error, proven), error=error)


def _classify(error: BaseException, proven: bool) -> Fault:
    if isinstance(error, KaratError):
        return Fault("row" if isinstance(error, AskError) else "fatal", str(error))
    status = _status(error)
    if status is None:
        lost = isinstance(error, OSError) and not isinstance(error, FILES)  # TimeoutError is one of them
        by_name = any(each.__name__ in CONNECTION for each in type(error).__mro__)
        return Fault("transient" if lost or by_name else "row", _say(error))
    codes = _codes(error)
    message = f"HTTP {status}: {_say(error)}"
    if codes & OUT_OF_MONEY or status in HOPELESS:
        return Fault("fatal", message, status=status)
    if status in OVERLOAD:
        return Fault("overload", message, _retry_after(error), status)
    if status in TRANSIENT:
        return Fault("transient", message, _retry_after(error), status)
    if 200 <= status < 300:  # an answer that breaks off or cannot be read
        return Fault("transient", message, status=status)
    about_the_row = status == 413 or codes & ABOUT_THE_ROW or TOO_LONG.search(message)
    return Fault("row" if proven or about_the_row else "fatal", message, status=status)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for owner, name in ((error, "status_code"), (error, "status"), (response, "status_code"), (response, "status")):
        given = getattr(owner, name, None)
        if isinstance(given, int):
            return given
    return None


def _details(error: BaseException) -> Mapping[str, Any]:
    """The error object of an OpenAI-like body, which is all of the body or under `error`."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _codes(error: BaseException) -> set[str]:
    details = _details(error)
    given = (getattr(error, "code", None), details.get("code"), details.get("type"))
    return {each for each in given if isinstance(each, str)}


def _say(error: BaseException) -> str:
    """One short line, without anything that looks like a key."""
    told = _details(error).get("message") or getattr(error, "message", None) or str(error)
    if error.__cause__ is not None and _status(error) is None:
        told = f"{told} ({type(error.__cause__).__name__}: {error.__cause__})"  # "Connection error." alone says little
    text = SECRET.sub("(key)", " ".join(str(told).split()))
    kind = "" if _status(error) is not None else type(error).__name__
    return ": ".join(filter(None, [kind, text[:300]]))


def _retry_after(error: BaseException) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    if not isinstance(headers, Mapping):
        return None
    named = {str(name).lower(): str(value) for name, value in headers.items()}
    try:
        if "retry-after-ms" in named:
            return max(0.0, float(named["retry-after-ms"]) / 1000)
        return max(0.0, float(named["retry-after"]))
    except (KeyError, ValueError):
        return _until(named.get("retry-after", ""))


def _until(date: str) -> float | None:
    """Seconds from now to an HTTP date."""
    try:
        return max(0.0, (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
