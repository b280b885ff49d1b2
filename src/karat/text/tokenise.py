"""Tokenisers, as readable ``str -> list[str]`` definitions. No token contains whitespace.

`karat.text.columns.tokenise` applies them to whole columns, with a compiled kernel that returns the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

from karat.core.errors import SpecError, did_you_mean

_MTEVAL = (
    (re.compile(r"([{-~[-` -&(-+:-@/])"), r" \1 "),  # ASCII punctuation but ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # point and comma not after a digit
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),  # point and comma not before a digit
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # dash after a digit
)
_INTERNATIONAL = (
    (r"(\P{N})(\p{P})", r"\1 \2 "),  # punctuation not after a number
    (r"(\p{P})(\P{N})", r" \1 \2"),  # punctuation not before a number
    (r"(\p{S})", r" \1 "),
)
_MARKUP = {"<skipped>": "", "-\n": "", "\n": " ", "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
INVISIBLE = {"Cc", "Cf", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"}
_WORD_BOUNDARY = r"(?V1w)\b"
_BEFORE_NUMBER = r"(?<![\p{L}\p{N}])(?:[-+]\p{Sc}?\.?|\p{Sc}\.?|\.)(?=\p{Nd})"
_AFTER_WORD = r"(?:(?<=\p{Nd})[%‰]|(?<=\p{L})(?:#|\+++))(?![\p{L}\p{N}])"
_ROUGE = re.compile(r"[a-z0-9]+")


def tokenizer(name: str) -> Callable[[str], list[str]]:
    """The tokeniser of that name: ``whitespace``, ``13a``, ``intl``, ``words``, ``chars`` or ``rouge``.

    Raises SpecError if there is none.

    >>> tokenizer("words")("It's 3.14€, not -5!")
    ["It's", '3.14', '€', 'not', '-5']
    >>> tokenizer("word")
    Traceback (most recent call last):
    karat.core.errors.SpecError: no tokeniser 'word'; did you mean 'words'?
    """
    try:
        return TOKENIZERS[name]
    except KeyError:
        raise SpecError(f"no tokeniser {name!r}{did_you_mean(name, TOKENIZERS)}") from None


def split_13a(text: str) -> list[str]:
    """The tokens of BLEU (``13a``): the mteval-v13a script, as in sacrebleu and in evaluate's BLEU.

    First whitespace at the end is removed and markup replaced; then each ASCII punctuation mark is a token, except
    apostrophes and dashes inside words and points and commas between digits.

    >>> split_13a("Rock &amp; Roll's 1,000.5-page book.")
    ['Rock', '&', "Roll's", '1,000.5', '-', 'page', 'book', '.']
    """
    text = text.rstrip()
    for markup, plain in _MARKUP.items():
        text = text.replace(markup, plain)
    text = f" {text} "
    for pattern, replacement in _MTEVAL:
        text = pattern.sub(replacement, text)
    return text.split()


def split_intl(text: str) -> list[str]:
    """The tokens of international BLEU (``intl``): the mteval-v14 script, as in sacrebleu.

    First whitespace at the end is removed; then each punctuation mark or symbol of every script is a token, except
    punctuation between numbers. Markup is not replaced.

    >>> split_intl("«Né» en 1.5€ &amp; 3.")
    ['«', 'Né', '»', 'en', '1.5', '€', '&', 'amp', ';', '3.']
    """
    text = text.rstrip()
    for pattern, replacement in _INTERNATIONAL:
        text = _compile(pattern).sub(replacement, text)
    return text.split()


def split_words(text: str) -> list[str]:
    """Words by Unicode's word boundaries (``words``): UAX #29, for every script; signs with a meaning are kept.

    Each text between whitespace is cut at the default word boundaries (of the `regex` library). Pieces that are only
    punctuation (category P) and invisible characters (Cc, Cf) are dropped; symbols (category S: "€", "+", emoji) are
    tokens. A sign, a currency symbol and a point, in this order, directly before a digit but not after a letter or
    digit belong to the number: "-5" and "$.5" are one token, "1990-1995" two. "%" and "‰" directly after a digit belong
    to the number, "#" or several "+" directly after a letter to the word ("C#", "C++"), unless a letter or digit
    follows. Han, Hiragana, Thai, Lao, Khmer and Myanmar need a dictionary to find words, so UAX #29 makes a token of
    each character with its combining marks.

    >>> split_words("C++ costs -$5, not 5%; 東京タワー, ไทย")
    ['C++', 'costs', '-$5', 'not', '5%', '東', '京', 'タワー', 'ไ', 'ท', 'ย']
    """
    return [word for chunk in text.split() for word in _words(chunk)]


@cache
def _compile(pattern: str) -> Any:
    import regex  # noqa: PLC0415  (a fortieth of the start of a command, which may not need it)

    return regex.compile(pattern)


def _words(chunk: str) -> list[str]:
    bounds = {match.start() for match in _compile(_WORD_BOUNDARY).finditer(chunk)} | {0, len(chunk)}
    for match in _compile(_BEFORE_NUMBER).finditer(chunk):
        bounds.difference_update(range(match.start() + 1, match.end() + 1))
    for match in _compile(_AFTER_WORD).finditer(chunk):
        bounds.difference_update(range(match.start(), match.end()))
    pieces = (chunk[start:stop] for start, stop in pairwise(sorted(bounds)))
    # regex keeps an apostrophe before a vowel with the word, UAX #29 does not
    visible = (piece for piece in pieces if any(unicodedata.category(char) not in INVISIBLE for char in piece))
    return [piece.lstrip("'\u2019") for piece in visible]


def split_chars(text: str) -> list[str]:
    """Each code point that is not whitespace (``chars``).

    >>> split_chars("né 北京")
    ['n', 'é', '北', '京']
    """
    return [char for char in text if not char.isspace()]


def split_rouge(text: str) -> list[str]:
    """The tokens of ROUGE (``rouge``): lower-cased runs of ASCII letters and digits, as in rouge_score.

    Text of other scripts has no tokens.

    >>> split_rouge("The cat's 3.5 café")
    ['the', 'cat', 's', '3', '5', 'caf']
    """
    return _ROUGE.findall(text.lower())


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "whitespace": str.split,
    "13a": split_13a,
    "intl": split_intl,
    "words": split_words,
    "chars": split_chars,
    "rouge": split_rouge,
}
