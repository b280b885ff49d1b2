"""Tokenisers, as readable ``str -> list[str]`` definitions. No token contains whitespace.

`karat.text.columns.tokenise` applies them to whole columns, with a compiled kernel that returns the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from karat.core.errors import SpecError, did_you_mean
from karat.text.normalise import CMRC_MARKS

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
_SPACE = "\\s"
_HAN_OR_MARK = re.compile(f"([\u4e00-\u9fa5{re.escape(CMRC_MARKS)}])")
_TREEBANK = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"[«\u201c\u2018„]|`+", r" \g<0> "),  # opening quotes
        (r'^"', "``"),
        (r"``", " `` "),
        (r"""([ (\[{<])(?:"|'')""", r"\1 `` "),
        (r"(?i)(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", "' "),
        (r"""([^.])\.([\])}>"'»\u201d\u2019 ]*+)\s*$""", r"\1 . \2 "),  # the full stop at the end
        (r"([:,])(\D)", r" \1 \2"),  # colon and comma not before a digit
        (r"[:,]$", r" \g<0> "),
        (r"\.{2,}|[;@#$%&]", r" \g<0> "),
        (r"[\u2012-\u2015]", r" \g<0> "),
        (r"""([^.])\.([\])}>"']*)\s*$""", r"\1 .\2 "),
        (r"[?!]", r" \g<0> "),
        (r"([^'])' ", r"\1 ' "),
        (r"[*\][(){}<>]", r" \g<0> "),
        (r"--", " -- "),
        (r"^|$", " "),
        (r"[»\u201d\u2019]|''", r" \g<0> "),  # closing quotes
        (r'"', " '' "),
        (r"\s+", " "),
        (r"([^' ])('[sSmMdD]?) ", r"\1 \2 "),  # endings after an apostrophe
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        (r"(?i)\b(can)(not)\b", r" \1 \2 "),
        (r"(?i)\b(d)('ye)\b", r" \1 \2 "),
        (r"(?i)\b(gim|lem)(me)\b", r" \1 \2 "),
        (r"(?i)\b(gon)(na)\b|\b(got)(ta)\b", r" \1\3 \2\4 "),
        (r"(?i)\b(more)('n)\b", r" \1 \2 "),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is|was)\b", r" \1 \2 "),
    )
)
_ROUGE = re.compile(r"[a-z0-9]+")


def tokenizer(name: str) -> Callable[[str], list[str]]:
    """The tokeniser of that name: ``whitespace``, ``13a``, ``intl``, ``words``, ``chars``, ``characters``, ``rouge`` or
    ``cmrc_words``.

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


def split_characters(text: str) -> list[str]:
    r"""Each code point; one that is white space is the token of two characters ``\s`` (``characters``).

    >>> split_characters("né 京")
    ['n', 'é', '\\s', '京']
    """
    return [_SPACE if char.isspace() else char for char in text]


def split_cmrc(text: str) -> list[str]:
    """Han characters one by one, and between them the words of the Penn Treebank (``cmrc_words``).

    It is the segmentation of CMRC 2018's evaluation script: U+4E00 to U+9FA5 and the script's marks are tokens, and
    other text is split by the rules of NLTK's `word_tokenize` (up to 3.9: later versions take combining marks for
    letters). NLTK first looks for sentences, by a trained model, so it may part a full stop inside the text from its
    word; here only the one at the end is.

    >>> split_cmrc("在2008年,Beijing's 3.5%。")
    ['在', '2008', '年', ',', 'Beijing', "'s", '3.5', '%', '。']
    """
    return [
        token
        for place, piece in enumerate(_HAN_OR_MARK.split(text))
        for token in ([piece] if place % 2 else _split_treebank(piece))
    ]


@lru_cache(1 << 14)
def _split_treebank(text: str) -> list[str]:
    for pattern, replacement in _TREEBANK if text.strip() else ():
        text = pattern.sub(replacement, text)
    return text.split()


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
    "characters": split_characters,
    "rouge": split_rouge,
    "cmrc_words": split_cmrc,
}
