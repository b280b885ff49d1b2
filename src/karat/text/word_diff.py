"""Which words of a text differ from another's: the pieces that a terminal, a report or a page marks.

Words are as the tokeniser `words` has them; each other character that is not whitespace is a piece of its own. Two
pieces are the same if a normaliser makes them the same; a piece that it drops, such as an article or a comma, never
differs.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import Literal, TypeAlias

import pyarrow as pa

from karat.text.columns import tokenise
from karat.text.normalise import normalizer

Piece: TypeAlias = tuple[str, Literal["same", "differs"]]

LARGEST = 100_000_000
"""The product of two numbers of words above which texts are compared as bags of words."""

_GAP = re.compile(r"\s+|\S")


def mark_words(text: str, others: Sequence[str], normalize: str = "squad") -> list[Piece]:
    """The text in pieces: the words that are in none of the other texts `"differs"`, everything else is `"same"`.

    A word is in another text if it belongs to a longest common subsequence of their words (Hunt and McIlroy, 1976, "An
    algorithm for differential file comparison"), so order counts. `normalize` is the name of the normaliser by which
    words are compared. The pieces, joined, are the text. Nothing differs if there are no other texts, or if one of them
    is the same text once both are normalised.

    Where, without the words at both ends that they share, the product of the two numbers of words is above 100 million,
    order does not count: a word is in the other text as often as it occurs there. Raises SpecError for an unknown
    normaliser.

    >>> mark_words("Paris, in the south", ["paris", "in the north"])
    [('Paris, in the ', 'same'), ('south', 'differs')]
    """
    cut = _cutter(normalize)
    pieces, keys = cut(text)
    if not others or _is_among(text, others, normalize):
        return _join(pieces, [True] * len(pieces))
    same = [not key for key in keys]
    for other in others:
        matched, _ = _match(keys, cut(other)[1])
        same = [a or b for a, b in zip(same, matched, strict=True)]
    return _join(pieces, same)


def mark_both(a: str, b: str, normalize: str = "squad") -> tuple[list[Piece], list[Piece]]:
    """Two texts in pieces, each with the words that the other does not have; by the rules of `mark_words`.

    As many words are the same in the one as in the other.

    >>> mark_both("in Paris", "in Rome, Italy")
    ([('in ', 'same'), ('Paris', 'differs')], [('in ', 'same'), ('Rome', 'differs'), (', ', 'same'),
     ('Italy', 'differs')])
    """
    cut = _cutter(normalize)
    (in_a, keys_a), (in_b, keys_b) = cut(a), cut(b)
    if _is_among(a, [b], normalize):
        return _join(in_a, [True] * len(in_a)), _join(in_b, [True] * len(in_b))
    same_a, same_b = _match(keys_a, keys_b)
    return _join(in_a, same_a), _join(in_b, same_b)


def _is_among(text: str, others: Sequence[str], normalize: str) -> bool:
    fold = normalizer(normalize)
    return fold(text) in map(fold, others)


@cache
def _cutter(normalize: str) -> Callable[[str], tuple[list[str], list[str]]]:
    """A function that cuts a text into pieces, and gives each its normal form: none if it is dropped among words."""
    fold = normalizer(normalize)
    alone = fold("x x")

    @lru_cache(1 << 16)
    def key(piece: str) -> str:
        form = fold(f"x {piece} x")
        return "" if form == alone or piece.isspace() else form

    def cut(text: str) -> tuple[list[str], list[str]]:
        plain = text.encode("utf-8", "replace").decode()  # Arrow holds no lone surrogates; the length stays
        pieces, at = list[str](), 0
        for word in tokenise(pa.array([plain]), "words")[0].as_py().split():
            start = plain.index(word, at)
            pieces += _GAP.findall(text, at, start)
            at = start + len(word)
            pieces.append(text[start:at])
        pieces += _GAP.findall(text, at)
        return pieces, [key(piece) for piece in pieces]

    return cut


def _join(pieces: Sequence[str], same: Sequence[bool]) -> list[Piece]:
    """Neighbours of one kind as one piece; whitespace between two pieces that differ differs too."""
    marks = list(same)
    for at in range(1, len(pieces) - 1):
        if pieces[at].isspace() and not (same[at - 1] or same[at + 1]):
            marks[at] = False
    grouped = groupby(zip(marks, pieces, strict=True), key=lambda each: each[0])
    return [("".join(piece for _, piece in group), "same" if mark else "differs") for mark, group in grouped]


def _match(a: Sequence[str], b: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which pieces of each text are in the other; those without a normal form are."""
    places_a, places_b = ([at for at, key in enumerate(keys) if key] for keys in (a, b))
    words_a, words_b = [a[at] for at in places_a], [b[at] for at in places_b]
    start = _count_shared(words_a, words_b)
    end = _count_shared(words_a[start:][::-1], words_b[start:][::-1])
    middle_a, middle_b = words_a[start : len(words_a) - end], words_b[start : len(words_b) - end]
    if len(middle_a) * len(middle_b) > LARGEST:
        common = Counter(middle_a) & Counter(middle_b)
        marked = _take(middle_a, common.copy()), _take(middle_b, common)
    else:
        marked = _subsequence(middle_a, middle_b)
    matched = [True] * len(a), [True] * len(b)
    for marks, places, inner in zip(matched, (places_a, places_b), marked, strict=True):
        for at, is_found in zip(places[start:], inner, strict=False):
            marks[at] = is_found
    return matched


def _count_shared(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words the two begin with in common."""
    differences = (at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    return next(differences, min(len(a), len(b)))


def _take(words: Sequence[str], left: Counter[str]) -> list[bool]:
    taken = []
    for word in words:
        taken.append(left[word] > 0)
        left[word] -= 1
    return taken


def _subsequence(a: Sequence[str], b: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which words of each are in a longest common subsequence of both.

    The bits of an integer are a row of the table of lengths (H. Hyyrö, 2004, "Bit-parallel LCS-length computation
    revisited"): bit i of row j is 0 where the first i + 1 words of `a` share one more word with the first j words of
    `b` than the first i do.
    """
    places = defaultdict[str, int](int)
    for at, word in enumerate(a):
        places[word] |= 1 << at
    row = full = (1 << len(a)) - 1
    rows = [row]
    for word in b:
        shared = row & places.get(word, 0)
        row = (row + shared | row - shared) & full
        rows.append(row)
    in_a, in_b = [False] * len(a), [False] * len(b)
    i, j = len(a) - 1, len(b)
    while i >= 0 and j:
        if rows[j] >> i & 1:
            i -= 1
        elif rows[j - 1] >> i & 1:
            in_a[i] = in_b[j - 1] = True
            i, j = i - 1, j - 1
        else:
            j -= 1
    return in_a, in_b
