"""Faults by name that a fake server can inject into its replies.

| fault | what the client sees |
|---|---|
| `400` … `599` | that status; `429-after`, `503-after`: with `Retry-After` in seconds, `429-date`: as an HTTP date |
| `quota` | 429 with the code insufficient_quota |
| `context`, `filtered` | 400 with the code context_length_exceeded, content_filter |
| `reset`, `hang`, `cut`, `drip` | the connection is reset, no reply comes, half of the body comes, it comes slowly |
| `page`, `no-choices` | 200 with a web page, 200 with a completion without choices |
| `refusal`, `filter`, `length` | the message refuses, is stopped by the content filter, is cut off at the token limit |
| `truncated`, `fenced`, `prose`, `empty` | half of the answer, it in a Markdown fence, it between sentences, nothing |
| `keys`, `types`, `order` | a JSON object with other keys, with values of other types, with reversed order |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import formatdate
from random import Random
from time import time
from typing import Any, TypeAlias

from karat.core.errors import SpecError, did_you_mean
from karat.models.testing.http import Delivery, HttpResponse

STATUS = re.compile(r"([45]\d\d)(-after|-date)?")
CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
REFUSALS = {"quota": (429, "insufficient_quota"), "context": (400, "context_length_exceeded")}
REFUSALS["filtered"] = (400, "content_filter")


def _object(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[str], str]:
    """The same change of a JSON object's text; any other text stays the same."""

    def change_text(text: str) -> str:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return json.dumps(change(value), ensure_ascii=False) if isinstance(value, dict) else text

    return change_text


TEXTS: dict[str, Callable[[str], str]] = {
    "truncated": lambda text: text[: len(text) // 2],
    "fenced": "```json\n{}\n```".format,
    "prose": "Certainly. Here is my verdict:\n\n{}\n\nI hope this helps.".format,
    "length": lambda text: text[: len(text) // 2],
    "empty": lambda _: "",
    "filter": lambda _: "",
    "keys": _object(lambda value: {f"my_{key}": each for key, each in value.items()}),
    "types": _object(lambda value: {key: 7 if isinstance(each, str) else "seven" for key, each in value.items()}),
    "order": _object(lambda value: dict(reversed(value.items()))),
}
FINISH_REASONS = {"refusal": "stop", "filter": "content_filter", "length": "length"}
DELIVERIES: tuple[Delivery, ...] = ("reset", "hang", "cut", "drip")
NAMES = (*REFUSALS, *DELIVERIES, "page", "no-choices", "refusal", *TEXTS)

Faults: TypeAlias = Mapping[str, float] | Sequence[str | None] | Callable[[Mapping[str, Any]], str | None]
"""Each fault's share of the calls; or one fault a call in turn, then none; or a function of the request's body."""


def check_names(names: Iterable[str | None], known: Sequence[str]) -> None:
    """Raise `SpecError` for a name that is not a fault."""
    for name in names:
        if name is not None and name not in known and (known is not NAMES or not STATUS.fullmatch(name)):
            listed = (*known, "429", "429-after") if known is NAMES else known
            raise SpecError(f"there is no fault {name!r}{did_you_mean(name, listed)}")


def fault_chooser(faults: Faults, seed: int, known: Sequence[str] = NAMES) -> Callable[[Mapping[str, Any]], str | None]:
    """A function that returns the fault of each request in turn, None for no fault; `known` are the names.

    >>> fault = fault_chooser(["reset", None, "429"], seed=0)
    >>> [fault({}) for _ in range(4)]
    ['reset', None, '429', None]
    """
    if callable(faults):
        return faults
    check_names(faults, known)
    if not isinstance(faults, Mapping):
        turn = iter(faults)
        return lambda _: next(turn, None)
    names, shares = [*faults, None], [*faults.values(), 1 - sum(faults.values())]
    if min(shares) < -1e-9:
        raise SpecError(f"the shares of faults must be between 0 and 1 and add up to at most 1: {dict(faults)}")
    draw = Random(seed)  # noqa: S311
    return lambda _: draw.choices(names, shares)[0]


def error_response(
    status: int, message: str, code: str | None = None, *, param: str | None = None, **options: Any
) -> HttpResponse:
    """An error response in the format of OpenAI's API."""
    kind = "invalid_request_error" if status < 429 else "server_error"
    error = {"message": message, "type": kind, "param": param, "code": code or CODES.get(status)}
    return HttpResponse.from_value({"error": error}, status=status, **options)


def inject_fault(name: str, completion: dict[str, Any], wait: float) -> HttpResponse:
    """The response to send instead of `completion`, which is changed. `wait` is the value of `Retry-After`."""
    if match := STATUS.fullmatch(name):
        after = {None: "", "-after": f"{wait:g}", "-date": formatdate(time() + wait, usegmt=True)}[match[2]]
        return error_response(int(match[1]), f"the fault {name}", headers=f"Retry-After: {after}\r\n" if after else "")
    if name in REFUSALS:
        return error_response(REFUSALS[name][0], f"the fault {name}", REFUSALS[name][1])
    for delivery in DELIVERIES:
        if name == delivery:
            return HttpResponse.from_value(completion, delivery=delivery)
    if name == "page":
        return HttpResponse(b"<html><body>Bad gateway</body></html>")
    if name == "no-choices":
        return HttpResponse.from_value({**completion, "choices": []})
    _change_answer(name, completion["choices"][0])
    return HttpResponse.from_value(completion)


def _change_answer(name: str, choice: dict[str, Any]) -> None:
    message = choice["message"]
    if name == "refusal":
        choice["message"] = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    elif calls := message.get("tool_calls"):
        calls[0]["function"]["arguments"] = TEXTS[name](calls[0]["function"]["arguments"])
    else:
        message["content"] = TEXTS[name](message["content"])
    choice["finish_reason"] = FINISH_REASONS.get(name, choice["finish_reason"])
