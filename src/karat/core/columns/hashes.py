"""Hashes of texts: the same on every machine, in every version of Arrow and NumPy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array

_WORD = 8  # bytes


def hash_texts(texts: pa.Array) -> Array:
    """A 64-bit hash of each text, shape (n,), uint64, by its UTF-8 bytes; `texts`: large_string, no nulls.

    The texts are taken by words of eight bytes, and each is mixed with what came before by the finaliser of splitmix64
    (Steele, Lea and Flood, OOPSLA 2014). It begins with the length, so that zeros behind a text make another text.

    >>> [f"{key:x}" for key in hash_texts(pa.array(["", "q7", "a question's id"], pa.large_string())).tolist()]
    ['e220a8397b1dcdaf', '5d8a6422be69902f', '2606e10e05d8f5ed']
    """
    values = texts.cast(pa.large_binary())
    sizes = np.asarray(pc.binary_length(values)).astype(np.uint64)
    keys = _mix(sizes)
    for start in range(0, int(sizes.max(initial=0)), _WORD):
        rest = np.flatnonzero(sizes > start)
        words = pc.binary_slice(values.take(pa.array(rest)), start, start + _WORD)
        keys[rest] = _mix(keys[rest] ^ _as_numbers(words))
    return keys


def _as_numbers(words: pa.Array) -> Array:
    """Texts of at most eight bytes as numbers."""
    padded = pc.ascii_rpad(words.view(pa.large_string()), _WORD, padding="\0")
    fixed = padded.cast(pa.large_binary()).cast(pa.binary(_WORD))
    return np.frombuffer(fixed.buffers()[1], "<u8", len(fixed), _WORD * fixed.offset)


def _mix(keys: Array) -> Array:
    mixed = keys + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
