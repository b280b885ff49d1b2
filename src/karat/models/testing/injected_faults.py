"""Faults by name: what can befall a reply on its way, for a fake server to practise.

| fault | what the client sees |
|---|---|
| `400` … `599` | that status; `429-after`, `503-after`: with `Retry-After` in seconds, `429-date`: as an HTTP date |
| `quota` | 429 with the code insufficient_quota |
| `context`, `filtered` | 400 with the code context_length_exceeded, content_filter |
| `reset`, `hang`, `cut`, `drip` | the connection breaks, nothing ever comes, half of the body comes, it comes slowly |
| `page`, `no-choices` | 200 with a web page, with a completion that holds no choice |
| `refusal`, `filter`, `length` | the message refuses, is stopped by the content filter, is cut off at the token limit |
| `truncated`, `fenced`, `prose`, `empty` | half of the answer, it in a Markdown fence, between sentences, nothing |
| `keys`, `types`, `order` | of a JSON object: other keys, values of other types, the keys in reverse |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from email.utils import formatdate
from random import Random
from time import time
from typing import Any, TypeAlias

from karat.core.errors import SpecError, did_you_mean
from karat.models.testing.http import Manner, Response

STATUS = re.compile(r"([45]\d\d)(-after|-date)?")
CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
REFUSED = {
    "quota": (429, "insufficient_quota"),
    "context": (400, "context_length_exceeded"),
    "filtered": (400, "content_filter"),
}


def _object(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[str], str]:
    """A change of a JSON object as one of its text; any other text stays."""

    def changed(text: str) -> str:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return json.dumps(change(value), ensure_ascii=False) if isinstance(value, dict) else text

    return changed


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
ENDS = {"refusal": "stop", "filter": "content_filter", "length": "length"}
MANNERS: dict[str, Manner] = {"reset": "reset", "hang": "hang", "cut": "cut", "drip": "drip"}
NAMES = (*REFUSED, *MANNERS, "page", "no-choices", "refusal", *TEXTS)

Faults: TypeAlias = Mapping[str, float] | Sequence[str | None] | Callable[[Mapping[str, Any]], str | None]
"""The share of the calls that each befalls; one for each call in turn, then none; or chosen by the request's body."""


def check(names: Iterable[str | None]) -> None:
    """Raise SpecError for a name that is no fault's."""
    for name in names:
        if name is not None and name not in NAMES and not STATUS.fullmatch(name):
            raise SpecError(f"there is no fault {name!r}{did_you_mean(name, (*NAMES, '429', '429-after'))}")


def choose(faults: Faults, seed: int) -> Callable[[Mapping[str, Any]], str | None]:
    """Which fault befalls a request, call by call.

    >>> fault = choose(["reset", None, "429"], seed=0)
    >>> [fault({}) for _ in range(4)]
    ['reset', None, '429', None]
    """
    if callable(faults):
        return faults
    check(faults)
    if not isinstance(faults, Mapping):
        turn = iter(faults)
        return lambda _: next(turn, None)
    names, shares = [*faults, None], [*faults.values(), 1 - sum(faults.values())]
    if min(shares) < -1e-9:
        raise SpecError(f"the shares of the faults are to be between 0 and 1 and add up to at most 1: {dict(faults)}")
    draw = Random(seed)  # noqa: S311
    return lambda _: draw.choices(names, shares)[0]


def failure(status: int, message: str, code: str | None = None, *, param: str | None = None, **how: Any) -> Response:
    """An error as OpenAI's API words it."""
    kind = "invalid_request_error" if status < 429 else "server_error"
    error = {"message": message, "type": kind, "param": param, "code": code or CODES.get(status)}
    return Response.of({"error": error}, status=status, **how)


def spoil(name: str, completion: dict[str, Any], wait: float) -> Response:
    """The response to send, made of `completion`, which is changed; `wait` is what `Retry-After` asks for."""
    if refused := STATUS.fullmatch(name):
        after = {None: "", "-after": f"{wait:g}", "-date": formatdate(time() + wait, usegmt=True)}[refused[2]]
        return failure(int(refused[1]), f"the fault {name}", headers=f"Retry-After: {after}\r\n" if after else "")
    if name in REFUSED:
        return failure(REFUSED[name][0], f"the fault {name}", REFUSED[name][1])
    if name in MANNERS:
        return replace(Response.of(completion), manner=MANNERS[name])
    if name == "page":
        return Response(b"<html><body>Bad gateway</body></html>")
    if name == "no-choices":
        return Response.of({**completion, "choices": []})
    _spoil_answer(name, completion["choices"][0])
    return Response.of(completion)


def _spoil_answer(name: str, choice: dict[str, Any]) -> None:
    message = choice["message"]
    if name == "refusal":
        choice["message"] = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    elif calls := message.get("tool_calls"):
        calls[0]["function"]["arguments"] = TEXTS[name](calls[0]["function"]["arguments"])
    else:
        message["content"] = TEXTS[name](message["content"])
    choice["finish_reason"] = ENDS.get(name, choice["finish_reason"])
