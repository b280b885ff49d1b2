"""Tokenisers: what a word is, as readable ``str -> list[str]`` definitions. No token contains whitespace.

`karat.text.columns.tokenise` applies them to whole columns, with compiled kernels that equal these functions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import regex

from karat.core.errors import SpecError, did_you_mean

_MTEVAL = (
    (re.compile(r"([{-~[-` -&(-+:-@/])"), r" \1 "),  # ASCII punctuation but ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # point and comma not after a digit
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),  # point and comma not before a digit
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # dash after a digit
)
_MARKUP = {"<skipped>": "", "-\n": "", "\n": " ", "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_UNSEEN = {"Cc", "Cf", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"}
_WORD_BOUNDARY = regex.compile(r"\b", regex.WORD | regex.VERSION1)


def tokenizer(name: str) -> Callable[[str], list[str]]:
    """The tokeniser of a name: ``whitespace``, ``13a``, ``words`` or ``chars``.

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

    Markup is undone first; then ASCII punctuation stands alone, except apostrophes and dashes inside words
    and points and commas between digits.

    >>> split_13a("Rock &amp; Roll's 1,000.5-page book.")
    ['Rock', '&', "Roll's", '1,000.5', '-', 'page', 'book', '.']
    """
    for markup, plain in _MARKUP.items():
        text = text.replace(markup, plain)
    text = f" {text} "
    for pattern, replacement in _MTEVAL:
        text = pattern.sub(replacement, text)
    return text.split()


def split_words(text: str) -> list[str]:
    """Words as Unicode bounds them (``words``): UAX #29, in every script.

    Each run between whitespace is cut at the default word boundaries (the `regex` library's). Pieces of nothing but
    punctuation (category P) and invisible characters (Cc, Cf) are dropped; symbols (category S: "€", "+", emoji)
    stay, a piece each. A "-" or "+" directly before a digit and not directly after a letter or digit is that
    number's sign: "-5" is one token, "1990-1995" two. Han, Hiragana, Thai, Lao, Khmer and Myanmar have
    no boundaries a rule could find, so that UAX #29 bounds each character with its combining marks.

    >>> split_words("C++ costs $5; 東京タワー, ไทย")
    ['C', '+', '+', 'costs', '$', '5', '東', '京', 'タワー', 'ไ', 'ท', 'ย']
    """
    return [word for chunk in text.split() for word in _words(chunk)]


def _words(chunk: str) -> list[str]:
    words: list[str] = []
    before = sign = ""
    for found in filter(None, _WORD_BOUNDARY.split(chunk)):
        piece = found.lstrip("'\u2019") or found  # regex leaves an apostrophe with a vowel after it, UAX #29 does not
        if sign and not piece[0].isdecimal():  # it was no sign: "+" is a symbol, "-" is punctuation
            words += _visible(sign)
            sign = ""
        if piece in ("-", "+") and not before[-1:].isalnum():
            sign = piece
        else:
            words += _visible(sign + piece)
            sign = ""
        before = piece
    return words + _visible(sign)


def _visible(piece: str) -> list[str]:
    return [piece] if any(unicodedata.category(char) not in _UNSEEN for char in piece) else []


def split_chars(text: str) -> list[str]:
    """Each code point that is not whitespace (``chars``).

    >>> split_chars("né 北京")
    ['n', 'é', '北', '京']
    """
    return [char for char in text if not char.isspace()]


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "whitespace": str.split,
    "13a": split_13a,
    "words": split_words,
    "chars": split_chars,
}
