"""Hashes of cells: of texts, numbers and lists of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from karat.core.columns.arrow import is_bytes, is_list
from karat.core.columns.hashes.texts import hash_texts, mix
from karat.core.columns.kinds import Array

_NULL = np.uint64(0xA0761D6478BD642F)


def hash_cells(column: pa.Array) -> Array | None:
    """A 64-bit hash of each cell, shape (n,), uint64: the same where cells of columns of one kind are equal.

    Null differs from the empty text and the empty list. None for cells that are not texts, numbers or lists of these.

    >>> keys = hash_cells(pa.array([["a", "b"], ["b", "a"], [], [None], [""], None, ["a", "b"]]))
    >>> len(set(keys.tolist())), keys[0] == keys[-1]
    (6, np.True_)
    """
    if isinstance(column, pa.ExtensionArray):  # JSON text
        column = column.storage
    if is_list(column.type):
        values = hash_cells(pc.list_flatten(column))
        if values is None:
            return None
        sizes = np.asarray(pc.fill_null(pc.list_value_length(column), 0))
        ends = np.cumsum(sizes)
        place = np.arange(len(values)) - np.repeat(ends - sizes, sizes)
        sums = np.zeros(len(values) + 1, np.uint64)
        np.cumsum(mix(values + place.astype(np.uint64)), out=sums[1:])
        keys = mix(sums[ends] - sums[ends - sizes])
    elif pt.is_nested(column.type) or is_bytes(column.type):
        return None
    else:
        texts = column.cast(pa.large_string())
        keys = hash_texts(texts.fill_null("") if texts.null_count else texts)
    if column.null_count:
        keys[np.asarray(column.is_null())] = _NULL
    return keys
