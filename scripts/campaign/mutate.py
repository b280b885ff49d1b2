"""Inputs that are JSON, in whole or in parts, changed as JSON: what no change of bytes soon finds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0.5,
    2**70,
    1e308,
    "",
    "x",
    "7",
    "\ud800",
    "a.b",
    [],
    {},
    [None],
    [[]],
    [{}],
    {"": None},
    {"a": 1},
)
"""What a value is replaced with."""
CHANGES: tuple[Callable[[Any, Random], Any], ...] = (
    lambda _, random: random.choice(ODD),
    lambda value, _: [value],
    lambda value, _: {"a": value},
    lambda value, _: json.dumps(value),
    lambda value, _: value * 2 if isinstance(value, str | list) else value,
    lambda value, _: str(value),
    lambda value, _: [*value, *value[:1], None] if isinstance(value, list) else value,
    lambda value, random: {**value, random.choice([*value, "x"]): None} if isinstance(value, dict) else value,
    lambda value, random: (
        {key: each for key, each in value.items() if random.random() > 0.3} if isinstance(value, dict) else value
    ),
)


def mutate(data: bytes, size: int, seed: int) -> bytes:
    """The input with a value in it changed; one in three times, and where nothing is JSON, with bytes changed."""
    import atheris

    random = Random(seed)
    parts = re.split(rb"([\t\n])", data) if random.random() < 0.7 else [data]
    with suppress(ValueError, RecursionError, UnicodeError):
        if random.random() < 0.7:
            at = 2 * random.randrange(len(parts) // 2 + 1)
            parts[at] = json.dumps(_change(json.loads(parts[at]), random), ensure_ascii=random.random() < 0.3).encode()
            if len(changed := b"".join(parts)) <= size:
                return changed
    mutated: bytes = atheris.Mutate(data, size)
    return mutated


def _change(document: Any, random: Random) -> Any:
    """The document with one value changed, or replaced by another one of it."""
    places = [([document], 0), *_places(document)]
    (within, at), (other, there) = random.choice(places), random.choice(places)
    root = places[0][0]
    if random.random() < 0.2:
        within[at] = json.loads(json.dumps(other[there]))
    else:
        within[at] = random.choice(CHANGES)(within[at], random)
    return root[0]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or dict in a value, with each of its indexes or keys."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from _places(inner)
