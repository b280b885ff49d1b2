"""How many edits turn one text into another, and how similar their spelling is, row by row over two columns.

Columns are as in `string_comparison`. The functions on two texts are the definitions; the compiled kernel, used where
it was built (`COMPILED`), returns the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.metrics.text.string_comparison import Similarities, TokenCounts, parts, texts_of

try:
    from karat.metrics._kernels import edits as kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False


def edits(a: pa.Array, b: pa.Array, *, words: bool = False) -> tuple[TokenCounts, TokenCounts, TokenCounts]:
    """The edit distance of the two texts of a row, and the length of each. Three arrays of shape (n,).

    Lengths are in code points, with `words` in words, which end at a space.

    >>> edits(pa.array(["kitten"]), pa.array(["sitting"]))
    (array([3]), array([6]), array([7]))
    >>> edits(pa.array(["a b c"]), pa.array(["a c"]), words=True)
    (array([1]), array([3]), array([2]))
    """
    distances, in_a, in_b = np.empty((3, len(a)), np.int64)
    if COMPILED:
        kernel.levenshtein(*parts(a), *parts(b), words, distances, in_a, in_b)
    else:
        for row, pair in enumerate(texts_of(a, b)):
            x, y = ([*filter(None, text.split(" "))] if words else text for text in pair)
            distances[row], in_a[row], in_b[row] = count_edits(x, y), len(x), len(y)
    return distances, in_a, in_b


def compare_spelling(a: pa.Array, b: pa.Array) -> Similarities:
    """The Jaro-Winkler similarity of the two texts of a row. Shape (n,).

    >>> compare_spelling(pa.array(["MARTHA"]), pa.array(["MARHTA"])).round(4)
    array([0.9611])
    """
    if not COMPILED:
        return np.array([winkler(x, y) for x, y in texts_of(a, b)], float)
    out = np.empty(len(a))
    kernel.jaro_winkler(*parts(a), *parts(b), out)
    return out


def shifted_edits(a: pa.Array, b: pa.Array) -> Similarities:
    """The edits of words and moves of phrases that turn `a` into `b`, as in TER. Shape (n,), NaN where none are found.

    The definition is sacrebleu's.

    >>> shifted_edits(pa.array(["on the mat the cat sat"]), pa.array(["the cat sat on the mat"]))
    array([1.])
    """
    if not COMPILED:
        from sacrebleu.metrics.lib_ter import translation_edit_rate  # noqa: PLC0415  (an extra)

        return np.array([translation_edit_rate(x.split(), y.split())[0] for x, y in texts_of(a, b)], float)
    distances, steps = np.empty((2, len(a)), np.int64)
    kernel.ter(*parts(a), *parts(b), distances, steps)
    return np.where(distances < 0, np.nan, distances)


def count_words(texts: pa.Array) -> TokenCounts:
    """How many words the texts of a column have, which single spaces separate.

    >>> count_words(pa.array(["a b", ""])).tolist()
    [2, 0]
    """
    distinct = texts.dictionary if pa.types.is_dictionary(texts.type) else texts
    words: TokenCounts = np.asarray(pc.count_substring(distinct, " ")) + np.asarray(pc.not_equal(distinct, ""))
    return words if distinct is texts else words.take(texts.indices.to_numpy())


def most_bytes(texts: pa.Array) -> TokenCounts:
    """The bytes of the longest text of a column, which may be one that only a dictionary has. Shape (1,).

    >>> most_bytes(pa.array(["a", "été"]))
    array([5])
    """
    longest: TokenCounts = np.diff(parts(texts)[0]).max(initial=0, keepdims=True)
    return longest


def count_edits(a: Sequence[str], b: Sequence[str]) -> int:
    """The definition of `edits`: characters, or words, that are inserted, deleted and replaced.

    A bit of `rises` and `falls` says for each place of `a` whether the distance is greater or smaller by one than at
    the place before (Myers 1999, Hyyrö 2003).

    >>> count_edits("kitten", "sitting")
    3
    """
    places: dict[str, int] = {}
    for at, part in enumerate(a):
        places[part] = places.get(part, 0) | 1 << at
    everywhere, last = (1 << len(a)) - 1, 1 << len(a) >> 1
    rises, falls, distance = everywhere, 0, len(a) if a else len(b)
    for part in b if a else ():
        here = places.get(part, 0)
        equal = (((here & rises) + rises) ^ rises) | here | falls
        right, left = falls | ~(equal | rises), equal & rises
        distance += bool(right & last) - bool(left & last)
        right, left = right << 1 | 1, left << 1
        rises, falls = (left | ~(equal | right)) & everywhere, right & equal & everywhere
    return distance


def winkler(a: str, b: str) -> float:
    """The definition of `compare_spelling` for one row.

    A character of `a` matches the first equal one of `b` that is free and not further away than half the longer text.
    Equal beginnings count more where the similarity is above 0.7, as in Winkler's own program.

    >>> round(winkler("DIXON", "DICKSONX"), 4)
    0.8133
    """
    if not a or not b:
        return float(a == b)
    reach = max(max(len(a), len(b)) // 2 - 1, 0)
    free = {part: [at for at in range(len(b) - 1, -1, -1) if b[at] == part] for part in set(a)}
    matched, taken = [], []
    for at, part in enumerate(a):
        places = free[part]
        while places and places[-1] < at - reach:
            places.pop()
        if places and places[-1] <= at + reach:
            matched.append(part)
            taken.append(places.pop())
    if not matched:
        return 0.0
    moved = sum(part != b[at] for part, at in zip(matched, sorted(taken), strict=True)) // 2
    count = len(matched)
    jaro = (count / len(a) + count / len(b) + (count - moved) / count) / 3
    prefix = next((at for at, (x, y) in enumerate(zip(a[:4], b[:4], strict=False)) if x != y), min(len(a), len(b), 4))
    return min(jaro + prefix * 0.1 * (1 - jaro), 1.0) if jaro > 0.7 else jaro
