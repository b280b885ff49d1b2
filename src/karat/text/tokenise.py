"""Tokenisers: what a word is, as readable ``str -> list[str]`` definitions. No token contains whitespace.

`karat.text.columns.tokenise` applies them to whole columns, with compiled kernels that equal these functions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise

import regex

from karat.core.errors import SpecError, did_you_mean

_MTEVAL = (
    (re.compile(r"([{-~[-` -&(-+:-@/])"), r" \1 "),  # ASCII punctuation but ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # point and comma not after a digit
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),  # point and comma not before a digit
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # dash after a digit
)
_INTERNATIONAL = (
    (regex.compile(r"(\P{N})(\p{P})"), r"\1 \2 "),  # punctuation not after a number
    (regex.compile(r"(\p{P})(\P{N})"), r" \1 \2"),  # punctuation not before a number
    (regex.compile(r"(\p{S})"), r" \1 "),
)
_MARKUP = {"<skipped>": "", "-\n": "", "\n": " ", "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_UNSEEN = {"Cc", "Cf", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"}
_WORD_BOUNDARY = regex.compile(r"\b", regex.WORD | regex.VERSION1)
_BEFORE_NUMBER = regex.compile(r"(?<![\p{L}\p{N}])(?:[-+]\p{Sc}?\.?|\p{Sc}\.?|\.)(?=\p{Nd})")
_BEHIND_WORD = regex.compile(r"(?:(?<=\p{Nd})[%‰]|(?<=\p{L})(?:#|\+++))(?![\p{L}\p{N}])")
_ROUGE = re.compile(r"[a-z0-9]+")


def tokenizer(name: str) -> Callable[[str], list[str]]:
    """The tokeniser of a name: ``whitespace``, ``13a``, ``intl``, ``words``, ``chars`` or ``rouge``.

    Raises SpecError where there is none of that name.

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
    """Tokens as BLEU counts them (``13a``): the mteval-v13a script, as in sacrebleu and in evaluate's BLEU.

    Whitespace at the end goes and markup is undone first; then ASCII punctuation stands alone, except apostrophes and
    dashes inside words and points and commas between digits.

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
    """Tokens as international BLEU counts them (``intl``): the mteval-v14 script, as in sacrebleu.

    Whitespace at the end goes first; then punctuation and symbols of every script stand alone, except punctuation
    between numbers. Markup stays.

    >>> split_intl("«Né» en 1.5€ &amp; 3.")
    ['«', 'Né', '»', 'en', '1.5', '€', '&', 'amp', ';', '3.']
    """
    text = text.rstrip()
    for pattern, replacement in _INTERNATIONAL:
        text = pattern.sub(replacement, text)
    return text.split()


def split_words(text: str) -> list[str]:
    """Words as Unicode bounds them (``words``): UAX #29, in every script; what has a meaning stays with its word.

    Each run between whitespace is cut at the default word boundaries (the `regex` library's). Pieces of nothing but
    punctuation (category P) and invisible characters (Cc, Cf) are dropped; symbols (category S: "€", "+", emoji)
    stay, a piece each. A sign, a currency symbol and a point, in this order, directly before a digit and not directly
    after a letter or digit belong to the number: "-5" and "$.5" are one token, "1990-1995" two. So do "%" and "‰"
    directly behind a digit, and "#" or a run of "+" directly behind a letter belong to the word ("C#", "C++"), unless a
    letter or digit follows. Han, Hiragana, Thai, Lao, Khmer and Myanmar have no boundaries a rule could find, so that
    UAX #29 bounds each character with its combining marks.

    >>> split_words("C++ costs -$5, not 5%; 東京タワー, ไทย")
    ['C++', 'costs', '-$5', 'not', '5%', '東', '京', 'タワー', 'ไ', 'ท', 'ย']
    """
    return [word for chunk in text.split() for word in _words(chunk)]


def _words(chunk: str) -> list[str]:
    bounds = {found.start() for found in _WORD_BOUNDARY.finditer(chunk)} | {0, len(chunk)}
    for found in _BEFORE_NUMBER.finditer(chunk):
        bounds.difference_update(range(found.start() + 1, found.end() + 1))
    for found in _BEHIND_WORD.finditer(chunk):
        bounds.difference_update(range(found.start(), found.end()))
    at = sorted(bounds)
    pieces = (chunk[start:stop] for start, stop in pairwise(at))
    # regex leaves an apostrophe with a vowel after it, UAX #29 does not
    return [piece.lstrip("'\u2019") for piece in pieces if _is_visible(piece)]


def _is_visible(piece: str) -> bool:
    return any(unicodedata.category(char) not in _UNSEEN for char in piece)


def split_chars(text: str) -> list[str]:
    """Each code point that is not whitespace (``chars``).

    >>> split_chars("né 北京")
    ['n', 'é', '北', '京']
    """
    return [char for char in text if not char.isspace()]


def split_rouge(text: str) -> list[str]:
    """Tokens as ROUGE counts them (``rouge``): lower-cased runs of ASCII letters and digits, as in rouge_score.

    Every other script has none.

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
