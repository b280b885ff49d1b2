"""The types that encoders share: which model to run, the interface of an encoder, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from karat.core.columns.kinds import Array
from karat.models.encoders.machine import Machine, current_machine

Dtype: TypeAlias = Literal["float32", "bfloat16", "float16"]
Pair: TypeAlias = tuple[str, str]


class EncoderOutput(NamedTuple):
    """Rows of float32, shape (n, d), NaN where the model returned none, and whether each item was truncated.

    d is 0 if the model returned nothing for any item.
    """

    rows: Array
    truncated: Array


class Encoder(Protocol):
    """A model that is ready to run."""

    identity: str | None
    """The key of its rows in the vector cache: equal for encoders with equal rows. None: rows are not cached."""
    block: int
    """How many items to pass in one call for full speed."""
    cross: bool
    """Whether it is a cross-encoder, which scores pairs and has no vectors."""
    max_length: int | None
    """Tokens that it reads of a text; the rest is cut off. None: not known."""

    def encode(self, texts: Sequence[str]) -> EncoderOutput:
        """A vector for each text."""


@dataclass(frozen=True)
class Choice:
    """Which model to run, how, and where. None means the model's own."""

    model: str | Callable[[list[str]], Any]
    revision: str | None = None
    dtype: Dtype = "float32"
    prompt: str | None = None
    max_length: int | None = None
    layers: int | None = None
    """How many of its layers to run, from the first. None: all."""
    endpoint: bool = False
    """Whether an endpoint of embeddings has the model."""
    machine: Machine = field(default_factory=current_machine)
