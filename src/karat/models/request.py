"""What goes to a language model, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

Message: TypeAlias = Mapping[str, str]
"""`role` (system, user or assistant) and `content`."""

Schema: TypeAlias = Mapping[str, Any]
"""The JSON Schema that a reply is to match."""

Model: TypeAlias = Callable[
    [Sequence[Message], Schema | None, Mapping[str, Any]], Awaitable["Reply | str | Mapping[str, Any]"]
]
"""Any async callable `(messages, schema, settings) -> reply`; one with `endpoint` and `name` can be cached."""


@dataclass(frozen=True)
class Reply:
    """What a model said, and what it took: tokens where the endpoint tells, cost in USD where it is known.

    `problem` says why this is not the answer that was asked for: refused, cut off, nothing said. It was paid for.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    model: str | None = None
    seconds: float | None = None
    cached: bool = False
    problem: str | None = None

    @classmethod
    def of(cls, given: Reply | str | Mapping[str, Any]) -> Reply:
        """A reply from whatever a callable gave: a reply, its text, or the JSON value it stands for.

        >>> Reply.of({"verdict": "correct"}).text
        '{"verdict": "correct"}'
        """
        if isinstance(given, Reply):
            return given
        return cls(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))


@dataclass(frozen=True)
class Request:
    """One question to a model; `sample` tells apart several answers to the same question."""

    messages: Sequence[Message]
    schema: Schema | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0

    def key(self, endpoint: str, model: str) -> str:
        """What the reply is kept under: a digest of the endpoint, the model, the settings and the whole prompt."""
        whole = [endpoint, model, dict(self.settings), self.schema, [dict(each) for each in self.messages], self.sample]
        return sha256(json.dumps(whole, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
