"""The order of many texts by their bytes, and whether one is there twice, in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os.path import commonprefix

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.hashes.texts import WORD, read_words
from karat.core.columns.kinds import Array

_SLICE = 65_536  # texts of which the words are found at a time
_PARTS = 16  # of the hashes that are sorted at a time


def sort_texts(read: Callable[[], Iterable[pa.Array]]) -> tuple[Array, str | None]:
    """The row numbers in the order of the texts, by their bytes, shape (n,), int64; and a text that is there twice.

    `read` gives all texts, large_string without nulls, each time that it is called: they are read up to three times, so
    that they need not be in memory. The eight bytes behind what all texts begin with are sorted as one number, and then
    the rows in which these are equal: several times as quick as `pyarrow.compute.sort_indices`, where few are. 24 bytes
    a row are held.

    >>> order, twice = sort_texts(lambda: [pa.array(["row 9", "row 10", "row"], pa.large_string())])
    >>> order.tolist(), twice
    ([2, 1, 0], None)
    """
    numbers = _number_words(read)
    order = np.argsort(numbers)
    numbers = numbers[order]
    equal = numbers[1:] == numbers[:-1]
    tied = np.zeros(len(order), bool)
    tied[1:] |= equal
    tied[:-1] |= equal
    rows = order[tied]
    if not len(rows):
        return order, None
    texts = _take(read, rows)
    ranks = pc.sort_indices(texts)
    order[tied] = rows[ranks]
    texts = texts.take(ranks)
    twice = pc.index(pc.equal(texts[1:], texts[:-1]), value=True).as_py()
    return order, None if twice < 0 else texts[twice].as_py()


def find_twice(hashes: Array, read: Callable[[], Iterable[pa.Array]]) -> str | None:
    """A text that is there twice, if any is; `hashes`, shape (n,), are of the texts that `read` gives.

    The hashes are sorted in parts, by one of their bytes, and texts compared where they are equal: beside the hashes
    three bytes a row are held.

    >>> from karat.core.columns.hashes.texts import hash_texts
    >>> texts = [pa.array(["a", "b"], pa.large_string()), pa.array(["a"], pa.large_string())]
    >>> find_twice(np.concatenate([hash_texts(each) for each in texts]), lambda: texts)
    'a'
    """
    equal, parts = [np.empty(0, hashes.dtype)], hashes.view(np.uint8)[::8] % _PARTS
    for number in range(_PARTS):
        part = np.sort(hashes[parts == number])
        equal.append(part[1:][part[1:] == part[:-1]])
    if not any(map(len, equal)):
        return None
    texts = _take(read, np.flatnonzero(np.isin(hashes, np.concatenate(equal))))
    return next((each["values"] for each in pc.value_counts(texts).to_pylist() if each["counts"] > 1), None)


def _number_words(read: Callable[[], Iterable[pa.Array]]) -> Array:
    """The eight bytes of each text behind what all begin with, as a number, shape (n,), uint64; 0 fills short ones."""
    ends, rows = list[bytes](), 0
    for texts in read():
        rows += len(texts)
        extremes = pc.min_max(texts.cast(pa.large_binary())).values()
        ends += [end.as_py() for end in extremes if end.is_valid]
    start, first = len(commonprefix(ends)), 0  # noqa: RUF071  (not paths)
    numbers = np.empty(rows, np.uint64)
    for texts in read():
        values = texts.cast(pa.large_binary())
        for at in range(0, len(values), _SLICE):
            words = pc.binary_slice(values[at : at + _SLICE], start, start + WORD)
            numbers[first : first + len(words)] = read_words(words, ">u8")
            first += len(words)
    return numbers


def _take(read: Callable[[], Iterable[pa.Array]], rows: Array) -> pa.Array:
    """The texts of some rows, in their order."""
    order, first, parts = np.argsort(rows), 0, []
    ascending = rows[order]
    for texts in read():
        low, high = np.searchsorted(ascending, [first, first + len(texts)])
        parts.append(texts.take(pa.array(ascending[low:high] - first)))
        first += len(texts)
    places = np.empty(len(rows), np.int64)
    places[order] = np.arange(len(rows))
    return pa.concat_arrays(parts).take(pa.array(places))
