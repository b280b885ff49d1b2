"""Whether a text is a number or an expression and nothing else, for extractors that take a part of a reply."""

from __future__ import annotations

import re

from karat.text.formula import UNIT_SYMBOL
from karat.text.latex import FUNCTIONS

NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.^])(?<!\^\{)"  # neither the tail of a word or number nor an exponent
    r"(?:(?<![\w)\]}%])[-\u2212])?"  # a sign, but not a dash between two words or numbers
    r"(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    r"(?:[eE][-+]?\d+(?!\w)|\^\{?-?\d+\}?)?"
    r"(?:/\d+(?:\.\d+)?(?![\d/]))?"
)
_DECORATION = re.compile(
    r"(?:[\s.,*$)]|\\?[%\u20ac\xa3\xa5]|\xb0|\^\s*\{?\s*\\circ\s*\}?|(?<=\s)[^\W\d_]{2,}"
    rf"|{UNIT_SYMBOL}(?![A-Za-z\d^]))*+"
)
_EXPRESSION = re.compile(r"[\w\\{}^*/+().,\[\]|!$ \u2212\u221a\xb2\xb3\xd7\xf7\xb7\u221e=-]{1,200}|\d?\d(?::\d\d){1,2}")
_OPTION = re.compile(r"\(?\s*(?:[A-Z]|\d+)\s*(?:[).]\s|\))")
_FORMULA_WORD = re.compile(r"(?<![\\A-Za-z])[^\W\d_]{2,}")


def is_number(text: str) -> bool:
    """Whether a text is one number, with signs of currency or percent around it, and with a unit or words after it.

    >>> [is_number(text) for text in ("$1,234.50", "50%", "6 square units", "-1/2", "2x", "3:30", "(1, 2)", "x = 6")]
    [True, True, True, True, False, False, False, False]
    """
    number = NUMBER.search(text)
    return (
        number is not None
        and not text[: number.start()].strip(" \t\r\n*+~\u2248\\$\u20ac\xa3\xa5-\u2212")
        and _DECORATION.fullmatch(text, number.end()) is not None
    )


def find_expression(text: str) -> str | None:
    """The whole of a text that is an expression or a time, or what follows its last `=`; None for prose and numbers."""
    text = text.strip().rstrip(".")
    if not _EXPRESSION.fullmatch(text) or _OPTION.match(text):
        return None
    if any(word not in FUNCTIONS and word not in ("pi", "sqrt") for word in _FORMULA_WORD.findall(text)):
        return None
    end = text.rpartition("=")[2].strip("$ ") if "=" in text else text
    return end if any(map(str.isdigit, end)) and not is_number(end) else None
