"""Porter's stemmer of English words, with the exceptions that rouge_score's has from NLTK.

`stem_word` is the definition; `stem` stems each distinct word of a column once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeAlias

import pyarrow as pa

from karat.core.columns.column_cache import once
from karat.text.columns import map_words

Stemmer: TypeAlias = Literal["none", "porter"]
StemCondition: TypeAlias = Callable[[str], bool]
Rules: TypeAlias = tuple[tuple[str, str], ...]

_IRREGULAR = {
    **dict.fromkeys(("sky", "skies"), "sky"),
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "howe": "howe",
    **{form: noun for noun in ("inning", "outing", "canning") for form in (noun, f"{noun}s")},
    **{verb: verb for verb in ("proceed", "exceed", "succeed")},
}
_PLURALS = (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", ""))
_RESTORED = (("at", "ate"), ("bl", "ble"), ("iz", "ize"))
_LONG = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble")),
    *(("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate")),
    *(("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al")),
    *(("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful")),
)
_SHORT = (("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""))
_LAST = re.compile("(?:al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|(?<=[st])ion|ou|ism|ate|iti|ous|ive|ize)$")


def stem(column: pa.Array, stemmer: Stemmer) -> pa.Array:
    """The column, in which tokens are joined by single spaces, with the stem of each token of more than 3 letters.

    >>> stem(pa.array(["the cats were running"]), "porter").to_pylist()
    ['the cat were run']
    """
    if stemmer == "none":
        return column
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, stem(column.dictionary, stemmer))
    return once(stemmer, (column,), lambda: map_words(column, lambda word: stem_word(word) if len(word) > 3 else word))


@lru_cache(1 << 18)
def stem_word(word: str) -> str:
    """The stem of a word in lower case.

    >>> [stem_word(word) for word in ("relational", "hopping", "skies", "happily", "probate")]
    ['relat', 'hop', 'sky', 'happili', 'probat']
    """
    if word in _IRREGULAR or len(word) <= 2:
        return _IRREGULAR.get(word, word)
    word = _drop_past(_drop_plural(word))
    if word.endswith("y") and len(word) > 2 and _shape(word[:-1]).endswith("c"):
        word = f"{word[:-1]}i"
    word = _replace(_shorten(word), _SHORT)
    if (match := _LAST.search(word)) and _measure(word[: match.start()]) > 1:
        word = word[: match.start()]
    if word.endswith("e") and (_measure(word[:-1]) > 1 or (_measure(word[:-1]) == 1 and not _is_short(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _drop_plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    return next((word.removesuffix(ending) + other for ending, other in _PLURALS if word.endswith(ending)), word)


def _drop_past(word: str) -> str:
    """The word without `ed` or `ing`, with the letters that these replaced."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    start = word[: -len("ed" if word.endswith("ed") else "ing")]
    if not word.endswith(("ed", "ing")) or "v" not in _shape(start):
        return word
    for ending, other in _RESTORED:
        if start.endswith(ending):
            return start.removesuffix(ending) + other
    if start[-2:-1] == start[-1] and _shape(start).endswith("c"):
        return start if start[-1] in "lsz" else start[:-1]
    return f"{start}e" if _measure(start) == 1 and _is_short(start) else start


def _shorten(word: str) -> str:
    """Step 2: long endings become shorter ones."""
    if word.endswith("alli") and _measure(word[:-4]):
        return _shorten(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) else word
    return _replace(word, _LONG)


def _replace(word: str, rules: Rules) -> str:
    """The word with another ending by the first rule that fits, if a vowel and a consonant are before the ending."""
    for ending, other in rules:
        if word.endswith(ending):
            start = word.removesuffix(ending)
            return start + other if _measure(start) else word
    return word


def _shape(word: str) -> str:
    """A `v` for each vowel and a `c` for each other character; a y after a consonant is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    """How often a consonant follows a vowel."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether the word ends with consonant, vowel and consonant, but w, x and y, or is a vowel and a consonant."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")
