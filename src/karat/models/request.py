"""A request to a language model, and its reply."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

ChatMessage: TypeAlias = Mapping[str, str]
"""`role` (system, user or assistant) and `content`."""

Schema: TypeAlias = Mapping[str, Any]
"""The JSON Schema that a reply must match."""

Model: TypeAlias = Callable[
    [Sequence[ChatMessage], Schema | None, Mapping[str, Any]], Awaitable["Reply | str | Mapping[str, Any]"]
]
"""Any async callable `(messages, schema, settings) -> reply`; one with `endpoint` and `name` can be cached."""


CUT_OFF, NOTHING, REFUSED = "cut off at the token limit", "nothing said", "refused: "
"""Problems of replies; a refusal begins with the last."""


@dataclass(frozen=True)
class Reply:
    """The text of a reply, with its tokens if the endpoint reports them and its cost in USD if it is known.

    `problem` says why the text is not a complete answer (refused, cut off, empty). Such a reply was paid for as well.
    `thoughts`: what the endpoint gave as the model's reasoning, where there is no text. `changed`: which settings were
    not sent as they are, because the endpoint refuses them.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    model: str | None = None
    seconds: float | None = None
    cached: bool = False
    problem: str | None = None
    thoughts: str | None = None
    changed: str | None = None

    @classmethod
    def from_value(cls, value: Reply | str | Mapping[str, Any]) -> Reply:
        """A reply from what a model returned: a reply, its text, or the JSON value of its text.

        >>> Reply.from_value({"verdict": "correct"}).text
        '{"verdict": "correct"}'
        """
        if isinstance(value, Reply):
            return value
        return cls(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


_encoder = json.JSONEncoder(sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class Request:
    """A request to a model, which may take `timeout` seconds. `sample` tells apart requests with the same messages."""

    messages: Sequence[ChatMessage]
    schema: Schema | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    sample: int = 0
    timeout: float | None = None

    def key(self, endpoint: str, model: str) -> str:
        """The key of the reply in the cache: a digest of the endpoint, the model, the settings and the whole prompt."""
        parts = [endpoint, model, dict(self.settings), self.schema, [dict(each) for each in self.messages], self.sample]
        return sha256(_encoder.encode(parts).encode()).hexdigest()
