"""Marks attached to the words of an answer that are not part of them: citations, trade marks, what is not seen."""

from __future__ import annotations

import re

MARKS = "[⁰¹²³⁴-⁹™℠\\[【\u00ad\u200b\u200e\u200f\u2060\ufeff]"
"""A pattern, for `re` and RE2, that matches every text which `strip_marks` changes."""


_WITHOUT_MEANING = re.compile("[™℠\u00ad\u200b\u200e\u200f\u2060\ufeff]")
_NUMBERS = r"\^?\d{1,3}\^?(?:\s?[-–,;]\s?\^?\d{1,3}\^?)*"
_NOTE = re.compile(
    rf"(?<=[^\s\[(=:])(?:\[(?:{_NUMBERS}|(?:note|nb|ref) \d+|citation needed)\]|【[^】\n]{{1,40}}】)+", re.IGNORECASE
)
_RAISED = re.compile(r"([^\W⁰¹²³⁴-⁹]*)[⁰¹²³⁴-⁹]++(?:[,;][⁰¹²³⁴-⁹]++)*(?![⁺⁻ⁿ⁄/])")
_POWER = re.compile(r"10|[^\W\d_]|[cdkm]m|mc|ft|mi|yd")


def strip_marks(text: str) -> str:
    """The text without marks that are attached to its words and not part of them.

    These are trade marks, invisible characters, and citations: numbers or notes in brackets without a space before
    them, and raised numbers. A raised number is a power, and stays, after "10", one letter, or a unit such as "km",
    and beside a sign; before a letter it stays too.

    >>> strip_marks("Elena Anaya⁶,⁷ (1975[3])™ [4]"), strip_marks("10⁶ m², Ca²⁺, ⁶Li"), strip_marks("in 1975⁵【2†a】.")
    ('Elena Anaya  (1975 ) [4]', '10⁶ m², Ca²⁺, ⁶Li', 'in 1975  .')
    """
    return _RAISED.sub(_strip_raised, _NOTE.sub(" ", _WITHOUT_MEANING.sub("", text)))


def _strip_raised(match: re.Match[str]) -> str:
    before, after = match[1], match.string[match.end() :][:1]
    stays = _POWER.fullmatch(before) if before else after.isalpha()
    return match[0] if stays else f"{before} "
