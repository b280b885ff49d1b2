"""What is made of a batch's columns, remembered while its metrics are computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.types as pt

from karat.core.layout import is_list

Made = TypeVar("Made")

_known: ContextVar[dict[Hashable, tuple[tuple[pa.Array, ...], Any]] | None] = ContextVar("memo", default=None)


@contextmanager
def memo() -> Iterator[None]:
    """Within it, what is made of a column in one way is made once, however many metrics ask.

    For one batch and one thread: what is remembered is forgotten at its end.

    >>> column = pa.array(["the cat"])
    >>> with memo():
    ...     once("split", (column,), column.to_pylist) is once("split", (column,), column.to_pylist)
    True
    """
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def once(way: Hashable, columns: tuple[pa.Array, ...], make: Callable[[], Made]) -> Made:
    """What `make` gives, which follows from the columns and the way; within a `memo` it is called once."""
    known = _known.get()
    if known is None:
        return make()
    key = (way, *map(_memory, columns))
    if key not in known:
        known[key] = (columns, make())  # holding the columns keeps their memory from being used anew
    made: Made = known[key][1]
    return made


def _memory(column: pa.Array) -> Hashable:
    """Equal for columns that are the same memory, and so hold the same."""
    addresses = tuple(None if buffer is None else buffer.address for buffer in column.buffers())
    return (column.type, column.offset, len(column), addresses, *_inner_offsets(column))


def _inner_offsets(column: pa.Array) -> Iterator[int]:
    kind = column.type
    if is_list(kind):
        inner = [column.values]
    elif pt.is_map(kind):
        inner = [column.keys, column.items]
    elif pt.is_dictionary(kind):
        inner = [column.dictionary]
    else:
        inner = [column.field(place) for place in range(kind.num_fields)] if pt.is_struct(kind) else []
    for each in inner:
        yield each.offset
        yield from _inner_offsets(each)
