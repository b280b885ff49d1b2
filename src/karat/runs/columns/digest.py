"""Digests of columns, computed batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_text


class Digests:
    """The digest of each of some columns, by role.

    `columns` maps roles to column names. The same values in the same order have the same digest, in any batches.

    >>> whole, cut = Digests({"reference": "gold"}), Digests({"reference": "gold"})
    >>> batch = pa.record_batch({"gold": [["Paris"], None, ["Rome", "Roma"]]})
    >>> whole.add(batch), cut.add(batch.slice(0, 1)), cut.add(batch.slice(1))
    (None, None, None)
    >>> whole.by_role == cut.by_role
    True
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = columns
        self._states: dict[str, dict[str, Any]] = {role: {} for role in columns}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch of rows."""
        for role, name in self._columns.items():
            states = self._states[role]
            for part, content in _parts(batch.column(name)):
                states.setdefault(part, sha256()).update(content)

    @property
    def by_role(self) -> dict[str, str]:
        """The digests of the rows that were added so far."""
        digests = {}
        for role, states in self._states.items():
            joined = "".join(f"{part}:{states[part].hexdigest()};" for part in sorted(states))
            digests[role] = sha256(joined.encode()).hexdigest()[:32]
        return digests


def _parts(column: pa.Array, path: str = "") -> Iterator[tuple[str, Any]]:
    """The named parts of a column as bytes: lengths, values, and for nested types the parts of the inner columns."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    kind = column.type
    if is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        text = column.cast(pa.large_binary())
        yield f"{path}sizes", _lengths(pc.binary_length(text))
        yield f"{path}text", _content(text.drop_null())
    elif pa.types.is_map(kind):
        yield from _parts(column.cast(pa.list_(pa.struct([("k", kind.key_type), ("v", kind.item_type)]))), path)
    elif hasattr(kind, "value_type") and pa.types.is_nested(kind):
        yield f"{path}sizes", _lengths(pc.list_value_length(column))
        yield from _parts(column.flatten(), f"{path}items/")
    else:
        yield f"{path}valid", np.asarray(column.is_valid()).tobytes()
        if pa.types.is_struct(kind):
            for field, inner in zip(kind, column.flatten(), strict=True):
                yield from _parts(inner, f"{path}{field.name}/")
        elif pa.types.is_union(kind):
            yield f"{path}{kind}", "".join(f"{value!r};" for value in column.to_pylist()).encode()
        elif not pa.types.is_null(kind):
            yield f"{path}{kind}", _fixed(column.drop_null())


def _lengths(lengths: pa.Array) -> bytes:
    return np.asarray(lengths.cast(pa.int64()).fill_null(-1)).tobytes()


def _content(text: pa.Array) -> Any:
    _, offsets, content = text.buffers()
    if content is None or not len(text):
        return b""
    bounds = np.frombuffer(offsets, np.int64, len(text) + 1, 8 * text.offset)
    return content.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))


def _fixed(column: pa.Array) -> Any:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    width = column.type.byte_width
    content = column.buffers()[1]
    return b"" if content is None else content.slice(column.offset * width, len(column) * width)
