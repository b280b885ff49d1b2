"""Compares two columns of texts row by row: whether they are equal or contained, and how many tokens they share.

Columns are Arrow arrays of string or large_string, or dictionaries of them, of the same length, already normalised and
tokenised: a token ends at a space. A null counts as the empty text. The functions on two texts are the definitions; the
compiled kernels, used where they were built (`COMPILED`), return the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

try:
    from karat.metrics._kernels import pairs as kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

_LETTER = "[A-Za-z\x80-\U0010ffff]"
_START = rf"(?:(?<![^ ])|(?<={_LETTER}['.:]))"
_END = rf"(?= |\Z|['.:]{_LETTER}|[가-힣])"

TokenCounts: TypeAlias = NDArray[np.int64]
Similarities: TypeAlias = NDArray[np.float64]


def equal(a: pa.Array, b: pa.Array) -> Similarities:
    """1.0 where the two texts of a row are equal, byte for byte, else 0.0. Shape (n,).

    >>> equal(pa.array(["Paris", "Rome"]), pa.array(["Paris", "rome"]))
    array([1., 0.])
    """
    if not COMPILED:
        return np.array([x == y for x, y in texts_of(a, b)], float)
    out = np.empty(len(a))
    kernel.equal(*parts(a), *parts(b), out)
    return out


def overlap(a: pa.Array, b: pa.Array) -> tuple[TokenCounts, TokenCounts, TokenCounts]:
    """How many tokens the two texts of a row share, as bags, and how many each has. Three arrays of shape (n,).

    >>> overlap(pa.array(["a b b c"]), pa.array(["b b b"]))
    (array([2]), array([4]), array([3]))
    """
    common, in_a, in_b = np.empty((3, len(a)), np.int64)
    if COMPILED:
        kernel.overlap(*parts(a), *parts(b), common, in_a, in_b)
    else:
        for row, (x, y) in enumerate(texts_of(a, b)):
            common[row], in_a[row], in_b[row] = count_overlap(x, y)
    return common, in_a, in_b


def longest_run(a: pa.Array, b: pa.Array) -> tuple[TokenCounts, TokenCounts, TokenCounts]:
    """How many tokens the longest run in both texts of a row has, and how many each text. Three arrays of shape (n,).

    >>> longest_run(pa.array(["a b c d"]), pa.array(["b c a d d"]))
    (array([2]), array([4]), array([5]))
    """
    common, in_a, in_b = np.empty((3, len(a)), np.int64)
    for row, texts in enumerate(texts_of(a, b)):
        x, y = ([token for token in text.split(" ") if token] for text in texts)
        common[row], in_a[row], in_b[row] = count_run(x, y), len(x), len(y)
    return common, in_a, in_b


def count_run(a: Sequence[str], b: Sequence[str]) -> int:
    """The number of tokens of the longest run that both sequences have, in time linear in their tokens.

    The states of a suffix automaton of `b` (Blumer et al. 1985) are walked with `a`.

    >>> count_run("abcabd", "xabdab")
    3
    """
    steps: list[dict[str, int]] = [{}]
    links, lengths, last = [-1], [0], 0
    for token in b:
        steps.append({})
        links.append(0)
        lengths.append(lengths[last] + 1)
        state, last = last, len(steps) - 1
        while state >= 0 and token not in steps[state]:
            steps[state][token] = last
            state = links[state]
        if state >= 0:
            old = steps[state][token]
            links[last] = old
            if lengths[old] > lengths[state] + 1:  # old also ends longer runs: those that do not are a state apart
                steps.append(dict(steps[old]))
                links.append(links[old])
                lengths.append(lengths[state] + 1)
                links[old] = links[last] = len(steps) - 1
                while state >= 0 and steps[state].get(token) == old:
                    steps[state][token] = len(steps) - 1
                    state = links[state]
    state = run = longest = 0
    for token in a:
        while state and token not in steps[state]:
            state = links[state]
            run = lengths[state]
        if token in steps[state]:
            state, run = steps[state][token], run + 1
            longest = max(longest, run)
    return longest


def contains(a: pa.Array, b: pa.Array) -> Similarities:
    """1.0 where a contains the tokens of b, one after another, else 0.0. Shape (n,).

    Tokens are separated by single spaces. A token of a is also cut at an apostrophe, point or colon between letters
    (characters that are not ASCII count as letters), and before a syllable of Hangul, whose particles follow a word
    without a space. A text without tokens is contained only in a text without tokens.

    >>> contains(pa.array(["it took 15 days", "it took 15 days"]), pa.array(["15 days", "5 days"]))
    array([1., 0.])
    >>> contains(pa.array(["lima's", "is:lima", "lima는", "3.14"]), pa.array(["lima", "lima", "lima", "3"]))
    array([1., 1., 1., 0.])
    """
    return _contains(a, b, whole=True)


def contains_text(a: pa.Array, b: pa.Array) -> Similarities:
    """1.0 where b is a substring of a, else 0.0. Shape (n,). The empty text is contained only in the empty text.

    >>> contains_text(pa.array(["it took 15 days"]), pa.array(["5 day"]))
    array([1.])
    """
    return _contains(a, b, whole=False)


def count_overlap(a: str, b: str) -> tuple[int, int, int]:
    """The definition of `overlap` for one row.

    >>> count_overlap("a b b c", "b b b")
    (2, 4, 3)
    """
    in_a, in_b = Counter(filter(None, a.split(" "))), Counter(filter(None, b.split(" ")))
    return (in_a & in_b).total(), in_a.total(), in_b.total()


def has_tokens(a: str, b: str) -> bool:
    """The definition of `contains` for one row.

    >>> has_tokens("it took 15 days", "5 days")
    False
    """
    return re.search(_START + re.escape(b) + _END, a) is not None if b else not a


def has_text(a: str, b: str) -> bool:
    """The definition of `contains_text` for one row.

    >>> has_text("15", "5"), has_text("15", "")
    (True, False)
    """
    return b in a if b else not a


def _contains(a: pa.Array, b: pa.Array, *, whole: bool) -> Similarities:
    if not COMPILED:
        return np.array([(has_tokens if whole else has_text)(x, y) for x, y in texts_of(a, b)], float)
    out = np.empty(len(a))
    kernel.contains(*parts(a), *parts(b), whole, out)
    return out


def texts_of(a: pa.Array, b: pa.Array) -> zip[tuple[str, str]]:
    """The two texts of each row, as the definitions take them: a null is the empty text.

    >>> list(texts_of(pa.array(["Paris"]), pa.array([None], pa.string())))
    [('Paris', '')]
    """
    return zip(*([text or "" for text in column.to_pylist()] for column in (a, b)), strict=True)


def parts(column: pa.Array) -> tuple[TokenCounts, TokenCounts, NDArray[np.uint8]]:
    """A column as the kernels take it: offsets, the place of each row's text (none if row i has text i), and bytes.

    >>> parts(pa.array(["Paris", "Rome"]).dictionary_encode())[:2]
    (array([0, 5, 9]), array([0, 1]))
    """
    places = np.empty(0, np.int64)
    texts = column
    if pa.types.is_dictionary(column.type):
        texts = column.dictionary
        indices = column.indices.fill_null(0) if column.null_count else column.indices
        places = indices.to_numpy().astype(np.int64, copy=False)
    if column.null_count or texts.null_count:
        valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
        if texts is column:
            places = np.arange(len(column))
        elif texts.null_count:
            valid &= texts.is_valid().to_numpy(zero_copy_only=False)[places]
        places = np.where(valid, places, -1)
    _, offsets, data = texts.buffers()
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    bounds = np.frombuffer(offsets or bytes(8), width)[texts.offset :][: len(texts) + 1].astype(np.int64, copy=False)
    return bounds, places, np.frombuffer(data or b"\0", np.uint8)
