"""Hashes of texts: the same on every machine, in every version of Arrow and NumPy."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array

try:
    from karat.core.columns.hashes import kernel

    COMPILED = sys.byteorder == "little"
except ImportError:  # no compiler at install time
    COMPILED = False

WORD = 8
"""Bytes of a text that are taken as one number."""
STEP = 0x9E3779B97F4A7C15
"""What splitmix64 adds to its state."""


def hash_texts(texts: pa.Array) -> Array:
    """A 64-bit hash of each text, shape (n,), uint64, by its UTF-8 bytes; `texts`: large_string, no nulls.

    The texts are taken by words of eight bytes, and each is mixed with what came before by the finaliser of splitmix64
    (Steele, Lea and Flood, OOPSLA 2014). It begins with the length, so that zeros behind a text make another text.

    >>> [f"{key:x}" for key in hash_texts(pa.array(["", "q7", "a question's id"], pa.large_string())).tolist()]
    ['e220a8397b1dcdaf', '5d8a6422be69902f', '2606e10e05d8f5ed']
    """
    if COMPILED and len(texts):
        _, offsets, content = texts.buffers()
        ends = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
        data = np.frombuffer(content, np.uint8) if content is not None and content.size else np.zeros(1, np.uint8)
        out = np.empty(len(texts), np.uint64)
        kernel.hash_texts(data, ends, out, np.uint64(STEP))
        return out
    values = texts.cast(pa.large_binary())
    sizes = np.asarray(pc.binary_length(values)).astype(np.uint64)
    keys = mix(sizes)
    for start in range(0, int(sizes.max(initial=0)), WORD):
        rest = np.flatnonzero(sizes > start)
        words = pc.binary_slice(values.take(pa.array(rest)), start, start + WORD)
        keys[rest] = mix(keys[rest] ^ read_words(words, "<u8"))
    return keys


def read_words(words: pa.Array, kind: str) -> Array:
    """Texts of at most eight bytes as numbers, shape (n,), with zeros behind; `kind` is `<u8` or `>u8`.

    `words`: large_binary without nulls. As `>u8` the numbers have the order of the texts.

    >>> read_words(pa.array([b"", b"b"], pa.large_binary()), "<u8").tolist()
    [0, 98]
    """
    padded = pc.ascii_rpad(words.view(pa.large_string()), WORD, padding="\0")
    fixed = padded.cast(pa.large_binary()).cast(pa.binary(WORD))
    return np.frombuffer(fixed.buffers()[1], kind, len(fixed), WORD * fixed.offset)


def mix(keys: Array, step: int = STEP) -> Array:
    """The hash of each key, shape (n,), uint64, by splitmix64: its finaliser after `step` is added."""
    mixed = keys + np.uint64(step)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
