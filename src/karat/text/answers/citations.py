"""The marks in an answer, such as `[1]` or `[2, 3]`, by which its sentences cite contexts."""

from __future__ import annotations

import re

CITATION = re.compile(r" ?\[([0-9]{1,9}(?:\s*[,;]\s*[0-9]{1,9})*)\]")
_AFTER_STOP = re.compile(rf"([.!?…。！？]+)((?:\s?{CITATION.pattern.lstrip()})+)")


def read_citations(sentence: str) -> tuple[str, tuple[int, ...]]:
    """A sentence without its marks, and the numbers in them.

    >>> read_citations("Rain falls [1, 3].")
    ('Rain falls.', (1, 3))
    """
    numbers = (int(number) for mark in CITATION.findall(sentence) for number in re.split(r"\s*[,;]\s*", mark))
    return CITATION.sub("", sentence).strip(), tuple(numbers)


def before_stops(text: str) -> str:
    """The text with the marks that follow the end of a sentence before it, so that they belong to the sentence.

    >>> before_stops("Rain falls.[1] Pigs fly. [2][3]")
    'Rain falls[1]. Pigs fly [2][3].'
    """
    return _AFTER_STOP.sub(r"\2\1", text)
