"""What an exception from a model means: slow down, retry, fail the row, or stop the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, Literal

from karat.core.errors import KaratError

OVERLOAD = {429, 503, 529}
TRANSIENT = {408, 409, 425, 500, 502, 504, *range(520, 528)}
FATAL = {401, 402, 403, 404}
NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
ROW_CODES = {"context_length_exceeded", "content_filter", "content_policy_violation", "string_above_max_length"}
TOO_LONG = re.compile(r"context (length|window|size)|maximum context|prompt is too long|too many tokens", re.IGNORECASE)
MORE_TIME = "; --timeout SECONDS (in Python, timeout=) allows more"
SECRET = re.compile(r"\b(?:sk-|Bearer\s+)[\w.*-]{4,}")

# Names of classes that mean a lost connection in openai, httpx and aiohttp, which have no common base class.
CONNECTION_ERRORS = {"APIConnectionError", "APIResponseValidationError", "TransportError", "DecodingError"}
CONNECTION_ERRORS |= {"ClientConnectionError", "ClientPayloadError"}
# Errors of which no connection comes about: nothing listens at the address, or the host has none; in httpx, aiohttp.
UNREACHABLE = {"ConnectionRefusedError", "gaierror", "ConnectError", "ClientConnectorError", "EndpointUnreachable"}
# Errors of the operating system about files: retrying does not help.
FILE_ERRORS = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


class RequestError(KaratError):
    """A request that got no usable reply. Only its row fails."""


class NotSentError(RequestError):
    """A request that was not sent, because a cap is reached or because this is a dry run."""


class ModelError(KaratError):
    """A model that cannot be used at all (a bad key, no such model). The run stops."""


@dataclass(frozen=True)
class Fault:
    """What an exception means.

    `overload`: the endpoint wants fewer calls; `transient`: the same call may succeed later; `row`: this request never
    succeeds; `fatal`: no request does. `retry_after` is in seconds. `status` is the HTTP status, None without a reply.
    `unreachable`: there was no connection, or no reply that can be read, now or ever before.
    """

    kind: Literal["overload", "transient", "row", "fatal"]
    message: str
    retry_after: float | None = None
    status: int | None = None
    error: BaseException | None = field(default=None, compare=False, repr=False)
    unreachable: bool = field(default=False, repr=False)

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.kind in {"overload", "transient"}


def classify(error: BaseException, *, proven: bool = False) -> Fault:
    """What an exception of any client means, by its HTTP status and code, else by its class.

    A status that blames the request (400, 422) is fatal unless the endpoint is `proven`, that is, has answered before;
    then it only fails the row.

    >>> classify(TimeoutError("no reply within 60 s")).kind
    'transient'
    >>> classify(KeyError("verdict"))
    Fault(kind='row', message="KeyError: 'verdict'", retry_after=None, status=None)
    """
    return replace(_classify(error, proven), error=error)


def _classify(error: BaseException, proven: bool) -> Fault:
    if isinstance(error, KaratError):
        return Fault("row" if isinstance(error, RequestError) else "fatal", str(error))
    status = _status(error)
    if status is None:
        lost = isinstance(error, OSError) and not isinstance(error, FILE_ERRORS)  # TimeoutError is one of them
        by_name = any(each.__name__ in CONNECTION_ERRORS for each in type(error).__mro__)
        if not (lost or by_name):
            return Fault("row", _describe(error))
        return Fault("transient", _describe(error), unreachable=not proven and _is_unreachable(error))
    details = _details(error)
    named = (getattr(error, "code", None), details.get("code"), details.get("type"))
    codes = {each for each in named if isinstance(each, str)}
    message = f"HTTP {status}: {_describe(error)}"
    if codes & NO_CREDIT or status in FATAL:
        return Fault("fatal", message, status=status)
    if status in OVERLOAD | TRANSIENT:
        return Fault("overload" if status in OVERLOAD else "transient", message, _retry_after(error), status)
    if 200 <= status < 300:  # the reply breaks off or cannot be parsed
        return Fault("transient", message, status=status, unreachable=not proven)
    row = proven or status == 413 or codes & ROW_CODES or TOO_LONG.search(message)
    return Fault("row" if row else "fatal", message, status=status)


def _is_unreachable(error: BaseException | None) -> bool:
    """Whether an error, or one that caused it, means that there was no connection."""
    while error is not None:
        if any(each.__name__ in UNREACHABLE for each in type(error).__mro__):
            return True
        error = error.__cause__ or error.__context__
    return False


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    places = ((error, "status_code"), (error, "status"), (response, "status_code"), (response, "status"))
    statuses = (getattr(owner, name, None) for owner, name in places)
    return next((status for status in statuses if isinstance(status, int)), None)


def _details(error: BaseException) -> Mapping[str, Any]:
    """The error object of an OpenAI-like body: the whole body, or its member `error`."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _describe(error: BaseException) -> str:
    """One line: a short text without anything that looks like a key, and the error's own `remedy`."""
    message, kind = _details(error).get("message") or getattr(error, "message", None) or str(error), ""
    if _status(error) is None:
        kind, cause = type(error).__name__, error.__cause__
        message = message if cause is None else f"{message} ({type(cause).__name__}: {cause})"
    text = SECRET.sub("(key)", " ".join(str(message).split()))
    text = ": ".join(filter(None, [kind, text[:300]]))
    remedy = getattr(error, "remedy", "")
    return f"{text.rstrip('. ')}; {remedy}" if remedy else text


def _retry_after(error: BaseException) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    if not isinstance(headers, Mapping):
        return None
    named = {str(name).lower(): str(value) for name, value in headers.items()}
    for name, unit in {"retry-after-ms": 0.001, "retry-after": 1.0}.items():
        with suppress(KeyError, ValueError):
            if isfinite(seconds := float(named[name]) * unit):
                return max(0.0, seconds)
    with suppress(KeyError, TypeError, ValueError):
        return max(0.0, (parsedate_to_datetime(named["retry-after"]) - datetime.now(UTC)).total_seconds())
    return None
