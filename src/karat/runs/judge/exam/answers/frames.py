"""The words around answers, names that mean the same, and units: what `frames.toml` holds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random


@dataclass(frozen=True)
class Frames:
    """Sentences by class with places such as `{answer}`; rows of `aliases`; `units` spelled out; units of one kind."""

    sentences: Mapping[str, Sequence[str]]
    aliases: Sequence[Sequence[str]]
    units: Mapping[str, str]
    other_units: Mapping[str, str]

    def fill(self, name: str, rng: Random, **places: str) -> str:
        """A sentence of a class with its places filled, its first letter in upper case where a word begins it."""
        text = rng.choice(list(self.sentences[name]))
        for place, value in places.items():
            text = text.replace(f"{{{place}}}", value)
        return text[:1].upper() + text[1:]


@cache
def read_frames() -> Frames:
    """The content of `frames.toml`.

    >>> read_frames().fill("refusal", Random(4))
    "I'm sorry, but I cannot answer this question."
    """
    content = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    named = {name: content.pop(name) for name in ("aliases", "units", "other_units")}
    return Frames(content, **named)
