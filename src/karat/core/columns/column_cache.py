"""A cache of what is computed from a batch's columns, shared by all metrics of the batch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

import pyarrow as pa
import pyarrow.types as pt

from karat.core.columns.arrow import is_list
from karat.core.context import change_context, current_context

Computed = TypeVar("Computed")


def column_cache() -> AbstractContextManager[None]:
    """Within the block, `once` computes each result only once, however many metrics ask for it.

    For one batch and one thread: the cache is dropped at the end of the outermost block.

    >>> column = pa.array(["the cat"])
    >>> with column_cache():
    ...     once("split", (column,), column.to_pylist) is once("split", (column,), column.to_pylist)
    True
    """
    cache = current_context().column_cache
    return change_context(column_cache={} if cache is None else cache)


def once(operation: Hashable, columns: tuple[pa.Array, ...], compute: Callable[[], Computed]) -> Computed:
    """The result of `compute`, which depends on the operation and the columns only; cached within a `column_cache`."""
    cache = current_context().column_cache
    if cache is None:
        return compute()
    key = (operation, *map(_memory, columns))
    if key not in cache:
        cache[key] = (columns, compute())  # a reference to the columns keeps their memory from being reused
    result: Computed = cache[key][1]
    return result


def _memory(column: pa.Array) -> Hashable:
    """Equal for columns that share the same memory, and so hold the same values."""
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
