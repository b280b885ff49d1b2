"""Whether an answer that should be wrong might be right after all; the exam leaves it out then, and counts it.

A claim is compared with every reference: as normalised text, contained either way, as an alias or initials, as a
number, as a date, by words in common and by spelling. The guard rather drops a wrong answer than keeps a right one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from functools import cache, lru_cache

from karat.runs.judge.exam.answers.frames import read_frames
from karat.runs.judge.exam.answers.gold_types import (
    NUMBER_WORDS,
    YES_NO,
    PartialDate,
    find_dates,
    find_number,
    is_date,
    list_items,
    read_date,
)
from karat.text.normalise import normalise_squad

NEAR = Fraction(1, 10)
"""Two numbers that differ by no more than this part may be one number, rounded."""
_SPELLED_ALIKE = 0.8
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_SMALL = {
    *("of", "in", "on", "at", "to", "for", "from", "by", "with", "and", "or", "as", "is", "was", "were", "are", "be"),
    *("been", "it", "its", "his", "her", "their", "this", "that", "not", "no"),
}


def why_right(claim: str, references: Iterable[str], *, edited: bool = False) -> str | None:
    """Why a claim might mean the same as one of the references; None where it cannot by these rules.

    `edited`: the claim was made from a reference, of which it keeps words on purpose.

    >>> why_right("NYC", ["New York City"]), why_right("March 4, 1961", ["1961"]), why_right("1,000", ["one thousand"])
    ('it has the same name', 'it is the same date', 'it is the same number')
    >>> why_right("Denver Broncos", ["Broncos"]), why_right("Carolina Panthers", ["Denver Broncos"])
    ('it contains a reference', None)
    """
    golds = list(references)
    doubt = next((reason for each in golds if (reason := _why(claim, each, edited=edited))), None)
    return "it is between two references" if doubt is None and _is_between(claim, golds) else doubt


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text by which it is compared: without case, accents, articles, signs and plural endings.

    >>> words_of("The Café's twenty-two tables"), words_of("U.S.")
    (('cafe', '22', 'table'), ('us',))
    """
    plain = text.replace("&", " and ")
    if not plain.isascii():
        plain = "".join(each for each in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(each))
    plain = re.sub(r"['\u2019]s\b", "", re.sub(r"[-\u2010-\u2015/]", " ", plain))
    words, spelled = normalise_squad(plain).split(), list[str]()
    for word in words:
        value = NUMBER_WORDS.get(word)
        if value is not None and value < 10 and spelled and spelled[-1] in _TENS:
            spelled[-1] = str(int(spelled[-1]) + value)
            continue
        long = len(word) > 3 and word.endswith("s") and not word.endswith("ss")
        spelled.append(str(value) if value is not None else word[:-1] if long else word)
    return tuple(spelled)


def contains_words(text: str, part: str) -> bool:
    """Whether the words of `part` stand in a text, one after the other.

    >>> contains_words("It is not in the city of Paris.", "Paris"), contains_words("Parisian", "Paris")
    (True, False)
    """
    return _holds(words_of(text), words_of(part))


_TENS = {str(10 * each) for each in range(2, 10)}


def _why(claim: str, reference: str, *, edited: bool) -> str | None:
    one, two = _words(claim), _words(reference)
    if not two or not one:
        return "there is nothing to compare"
    if (same := _why_same(claim, reference)) is not None:
        return same
    if {"".join(one), "".join(two)} <= YES_NO.keys():
        return None
    if is_date(claim) and (is_date(reference) or find_dates(reference)):
        return "it is the same date" if _same_date(claim, reference) else None
    ours, theirs = find_number(claim), find_number(reference)
    if ours is not None and theirs is not None:
        may_be = _near(ours, theirs, edited=edited) or _is_open(ours, theirs, reference)
        return "it is the same number" if may_be else None
    if edited and list_items(reference):
        return "it is the same list" if _items(claim) == _items(reference) else None
    if _holds(one, two):
        return "it contains a reference"
    if _holds(two, one):
        return "a reference contains it"
    return None if edited else _why_alike(claim, reference)


def _why_same(claim: str, reference: str) -> str | None:
    """By the same words, another name of the same thing, or its initials."""
    one, two = _words(claim), _words(reference)
    if sorted(one) == sorted(two):
        return "it is the same text"
    if _alias(claim) & _alias(reference):
        return "it has the same name"
    if _initials(claim) & {"".join(two)} or _initials(reference) & {"".join(one)}:
        return "it has the same initials"
    return None


def _why_alike(claim: str, reference: str) -> str | None:
    """By letters, words or numbers in common; an answer that was not made from the reference should have none."""
    one, two = _words(claim), _words(reference)
    letters = "".join(one), "".join(two)
    if letters[0] in letters[1] or letters[1] in letters[0]:
        return "its letters contain a reference's, or the other way round"
    if {word for word in one if len(word) > 2 and word not in _SMALL} & {*two}:
        return "it has a word in common with a reference"
    if {*map(_figure, _NUMBER.findall(claim))} & {*map(_figure, _NUMBER.findall(reference))}:
        return "it has a number in common with a reference"
    spelled = SequenceMatcher(None, " ".join(one), " ".join(two), autojunk=False)
    if spelled.quick_ratio() >= _SPELLED_ALIKE <= spelled.ratio():
        return "it is spelled alike"
    return None


@lru_cache(4096)
def _words(text: str) -> tuple[str, ...]:
    return words_of(text)


def _holds(text: tuple[str, ...], part: tuple[str, ...]) -> bool:
    width = len(part)
    return bool(part) and any(text[at : at + width] == part for at in range(len(text) - width + 1))


@cache
def _names() -> dict[tuple[str, ...], int]:
    return {words_of(name): at for at, row in enumerate(read_frames().aliases) for name in row}


def _alias(text: str) -> set[int]:
    return {at for at in [_names().get(_words(text))] if at is not None}


def _initials(text: str) -> set[str]:
    """The initials of a name of several words, with and without its small words."""
    words = [word for word in re.findall(r"[^\W\d_]+", text) if word.lower() not in {"the", "a", "an"}]
    large = [word for word in words if word.lower() not in _SMALL]
    return {"".join(word[0].lower() for word in each) for each in (words, large) if len(each) > 1}


def _near(one: Fraction, two: Fraction, *, edited: bool) -> bool:
    if one == two:
        return True
    most = max(abs(one), abs(two))
    return not edited and most >= 20 and abs(one - two) <= NEAR * most


def _is_between(claim: str, references: Sequence[str]) -> bool:
    """Whether the year of a date lies between the years of several references, which do not agree on one."""
    ours = [date.year for date in _dates(claim) if date.year] if is_date(claim) else []
    theirs = [date.year for each in references if is_date(each) for date in _dates(each) if date.year]
    return any(min(theirs) <= year <= max(theirs) for year in ours) if len(set(theirs)) > 1 else False


def _is_open(claim: Fraction, limit: Fraction, reference: str) -> bool:
    """Whether a number is beyond the one of a reference that gives only a limit, such as "over fifty" and "6.7+"."""
    text = f" {reference.lower()} "
    above = re.search(r"\b(?:over|above|more than|at least|minimum|exceeding|upwards)\b|\d\s?\+", text)
    below = re.search(r"\b(?:under|below|less than|fewer than|at most|up to|maximum|nearly|almost)\b", text)
    return bool(above and claim >= limit) or bool(below and claim <= limit)


def _same_date(claim: str, reference: str) -> bool:
    ours, theirs = list(_dates(claim)), list(_dates(reference))
    if not ours or not theirs:  # a century, of which no date is read
        figures = [set(_NUMBER.findall(each)) for each in (claim, reference)]
        return bool(figures[0] & figures[1]) or not (ours or theirs) or _in_century(claim, reference)
    years = [each.year for each in theirs if each.year is not None]
    if years and re.search(r"\b(?:present|now|today|since|onwards?|after)\b|[-\u2013]\s*$", reference.lower()):
        return any(each.year is None or each.year >= min(years) for each in ours)
    if len(years) == 2 and any(each.year and min(years) <= each.year <= max(years) for each in ours):
        return True
    return any(one.may_be(two) for one in ours for two in theirs)


def _in_century(one: str, two: str) -> bool:
    """Whether one text names a century in which the year of the other lies."""
    for century, other in ((one, two), (two, one)):
        if (named := re.search(r"(\d{1,2})(?:st|nd|rd|th)[ -]century", century, re.IGNORECASE)) is not None:
            return any(each.year and (each.year - 1) // 100 + 1 == int(named[1]) for each in _dates(other))
    return False


def _dates(text: str) -> Iterator[PartialDate]:
    whole = read_date(text.strip().rstrip("."))
    yield from [whole] if whole is not None else find_dates(text)


def _items(text: str) -> set[tuple[str, ...]]:
    return {words_of(each) for each in list_items(text) or re.split(r"\s*[,;]\s*|\s+and\s+", text)}


def _figure(text: str) -> str:
    return text.replace(",", "").rstrip(".")
