"""Settings that an endpoint refuses, by name, and how a request goes on without them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from karat.models.openai.client import EndpointError

OTHER_NAMES = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
OPTIONAL = ("temperature", "seed", "top_p", "reasoning_effort", "frequency_penalty", "presence_penalty")
"""Settings without which a request means the same, but for how a model words its reply or how often it agrees."""

_REFUSED = re.compile(
    r"unsupported|unrecogni[sz]ed|not (be )?(supported|permitted|allowed|accepted|available)"
    r"|does(n't| not) (support|accept|allow)|unknown|unexpected|extra_forbidden|only the default|deprecated"
    r"|invalid (param|argument)",
    re.IGNORECASE,
)


def find_refused(body: Mapping[str, Any], error: EndpointError) -> str | None:
    """The member of a request's body that an endpoint says it does not support, if the request can go on without it.

    >>> find_refused({"temperature": 0}, EndpointError(400, {}, "'temperature' does not support 0 with this model"))
    'temperature'
    """
    if error.status_code not in (400, 422) or not _REFUSED.search(error.message):
        return None
    candidates = [name for name in (*OTHER_NAMES, *OPTIONAL) if name in body]
    named = [name for name in candidates if re.search(rf"(?<![\w-]){name}(?![\w-])", error.message)]
    return next((name for name in candidates if error.parameter == name), named[0] if named else None)


def apply(changes: Mapping[str, str | None], body: Mapping[str, Any]) -> dict[str, Any]:
    """The body with these members under other names, or without them.

    >>> apply({"max_tokens": "max_completion_tokens", "seed": None}, {"max_tokens": 5, "seed": 1})
    {'max_completion_tokens': 5}
    """
    renamed = ((changes.get(name, name), value) for name, value in body.items())
    return {name: value for name, value in renamed if name is not None}


def describe(changes: Mapping[str, str | None], body: Mapping[str, Any]) -> str | None:
    """What of a body is not sent as it is; None where all of it is.

    >>> describe({"max_tokens": "max_completion_tokens", "seed": None}, {"max_tokens": 5, "seed": 1})
    'max_tokens is sent as max_completion_tokens, seed=1 is not sent'
    """
    parts = [
        f"{name}={body[name]!r} is not sent" if other is None else f"{name} is sent as {other}"
        for name, other in changes.items()
        if name in body
    ]
    return ", ".join(parts) or None
