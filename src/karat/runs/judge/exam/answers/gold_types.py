"""What a gold answer is (a person, a number, a date, …), by rules on its spelling and on how the question begins.

The first rule that holds decides:

- `yes/no`: yes, no, true or false.
- `date`: a day, a month or a year, alone or together, a decade or a century (4 March 1961, March 1961, 1961, 1980s,
  5th century); a bare year after "how many" or "how much" is a number.
- `number`: a number in digits or words, with a unit or a counted thing of up to three words (12, twelve, 12 km).
- `list`: three items or more between commas or semicolons, or two between a comma and "and".
- `person`: after who, whom or whose, or a word such as "which president": up to five words, the first a name.
- `place`: after where, or a word such as "which city": up to six words, the first a name.
- `other`: anything else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from karat.text.numbers import parse_number

GoldType: TypeAlias = Literal["person", "number", "date", "place", "yes/no", "list", "other"]
GOLD_TYPES: tuple[GoldType, ...] = get_args(GoldType)
YES_NO = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
"""Each answer to a yes/no question, and its opposite."""
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_UP_TO_20 = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_TENS = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {word: at for at, word in enumerate(_UP_TO_20)} | {word: 10 * at for at, word in enumerate(_TENS, 3)}
"""Numbers that are spelled as one word."""
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS).replace("Sep(", "Sept?(")
_DAY = r"(?P<day{n}>\d{{1,2}})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year{n}>[1-9]\d{{2,3}})"
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_DAY.format(n='')}\s+(?:of\s+)?(?P<month>{_MONTH})\.?(?:,?\s+{_YEAR.format(n='')})?",
        rf"(?P<month>{_MONTH})\.?\s+{_DAY.format(n='')}(?:,?\s+{_YEAR.format(n='')})?",
        rf"(?P<month>{_MONTH})\.?(?:,?\s+(?:of\s+)?{_YEAR.format(n='')})?",
        r"(?P<year>[12]\d{3})-(?P<number>\d{1,2})-(?P<day>\d{1,2})",
        r"(?P<year>1\d{3}|20\d{2})",
        r"(?P<year>[1-9]\d{0,3})\s*(?:A\.?D|B\.?C|C\.?E|B\.?C\.?E)\.?",
        r"(?P<decade>1\d{2}|20\d)0'?s",
    )
]
_CENTURY = re.compile(r"\d{1,2}(?:st|nd|rd|th)[ -]century(?: (?:BC|AD|BCE|CE))?", re.IGNORECASE)
_BEFORE_DATE = re.compile(r"^(?:(?:in|on|by|since|early|late|mid|around|about|circa|c\.|the|year|summer|spring|winter|"
                          r"autumn|fall|of)[\s-]+)+", re.IGNORECASE)  # fmt: skip
_COUNT = re.compile(r"\b(?:how (?:many|much|long|far|tall|high|old|big|large|deep|wide|often)|what (?:number|percent\w*"
                    r"|amount|population))\b", re.IGNORECASE)  # fmt: skip
_QUALIFIER = re.compile(
    r"(?:about|around|approximately|nearly|almost|over|more than|less than|at least|at most|up to|some|roughly|an?)\s+",
    re.IGNORECASE)  # fmt: skip
_AMOUNT = re.compile(
    r"(?P<number>[-−$€£¥]?\s?\d[\d,. ]*\d|[-−$€£¥]?\s?\d)(?P<rest>.*)", re.IGNORECASE | re.DOTALL)  # fmt: skip
_PERSON = re.compile(
    r"^(?:who|whom|whose)\b|\b(?:what|which) (?:\w+ )?(?:person|man|woman|president|king|queen|emperor|"
    r"actor|actress|singer|author|writer|artist|composer|director|scientist|philosopher|pope|leader|player|"
    r"general|inventor|poet|painter)\b|\bby whom\b", re.IGNORECASE)  # fmt: skip
_PLACE = re.compile(
    r"^where\b|\b(?:what|which) (?:\w+ )?(?:city|cities|country|countries|state|town|river|island|"
    r"continent|county|province|region|village|location|place|mountain|lake|ocean|sea|street|venue)\b",
    re.IGNORECASE)  # fmt: skip


@dataclass(frozen=True)
class PartialDate:
    """A date as far as it is written; `month` from 1. A decade is its first year and `decade`."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    decade: bool = False

    def may_be(self, other: PartialDate) -> bool:
        """Whether both may be the same date: they contradict each other in nothing and have something in common.

        >>> PartialDate(1961).may_be(PartialDate(1961, 3, 4)), PartialDate(1961).may_be(PartialDate(1962))
        (True, False)
        """
        one, two = self.year, other.year
        if one is not None and two is not None and (self.decade or other.decade):
            one, two = one // 10, two // 10
        pairs = [(one, two), (self.month, other.month), (self.day, other.day)]
        known = [a == b for a, b in pairs if a is not None and b is not None]
        return bool(known) and all(known)


def find_type(gold: str, question: str | None = None) -> GoldType:
    """The type of a gold answer, by the rules above.

    >>> find_type("Marie Curie", "Who discovered radium?"), find_type("12 km"), find_type("March 1961")
    ('person', 'number', 'date')
    >>> find_type("red, white and blue"), find_type("Bern", "Where is it?"), find_type("No."), find_type("copper")
    ('list', 'place', 'yes/no', 'other')
    """
    gold, question = gold.strip(), (question or "").strip()
    words = gold.split()
    if gold.rstrip(".!").lower() in YES_NO:
        return "yes/no"
    if is_date(gold) and not (gold.isdecimal() and _COUNT.search(question)):
        return "date"
    if find_number(gold) is not None and len(words) <= 5:
        return "number"
    if list_items(gold):
        return "list"
    named = bool(words) and (words[0][0].isupper() or words[0].lower() in {"the", "in", "at", "on"})
    if named and len(words) <= 5 and _PERSON.search(question) and not any(map(str.isdigit, gold)):
        return "person"
    if named and len(words) <= 6 and _PLACE.search(question):
        return "place"
    return "other"


def is_date(text: str) -> bool:
    """Whether the whole text is a date, a decade or a century, with a word such as "in" or "early" before it."""
    bare = _BEFORE_DATE.sub("", text.strip().rstrip("."))
    return read_date(bare) is not None or bool(_CENTURY.fullmatch(bare))


def read_date(text: str) -> PartialDate | None:
    """The date that the whole text is, as far as it is written; None for other texts.

    >>> read_date("4 March 1961"), read_date("March 4th, 1961") == read_date("1961-03-04")
    (PartialDate(year=1961, month=3, day=4, decade=False), True)
    >>> read_date("1980s"), read_date("May"), read_date("31 May be")
    (PartialDate(year=1980, month=None, day=None, decade=True), PartialDate(year=None, month=5, day=None, decade=False), None)
    """  # noqa: E501  (a doctest shows whole values)
    text = text.strip()
    for pattern in _DATES:
        if (match := pattern.fullmatch(text)) is None:
            continue
        parts = match.groupdict()
        if decade := parts.get("decade"):
            return PartialDate(int(decade) * 10, decade=True)
        month = int(parts["number"]) if parts.get("number") else _month(parts.get("month"))
        day = int(parts["day"]) if parts.get("day") else None
        if (day is None or 1 <= day <= 31) and (month is None or 1 <= month <= 12):
            return PartialDate(int(parts["year"]) if parts.get("year") else None, month, day)
    return None


def find_dates(text: str) -> list[PartialDate]:
    """All dates in a text, in their order.

    >>> find_dates("from March 1939 to 1945")
    [PartialDate(year=1939, month=3, day=None, decade=False), PartialDate(year=1945, month=None, day=None, decade=False)]
    """  # noqa: E501
    spans = list[tuple[int, int]]()
    for pattern in _DATES:
        for match in re.finditer(rf"(?<![\w.,-]){pattern.pattern}(?![\w-]|[.,]\d)", text, re.IGNORECASE):
            if all(match.end() <= start or end <= match.start() for start, end in spans):
                spans.append(match.span())
    dates = (read_date(text[start:end]) for start, end in sorted(spans))
    return [date for date in dates if date is not None]


def find_number(text: str) -> Fraction | None:
    """The number that a text begins with, in digits or words; at most three words may follow it.

    >>> find_number("twenty-five"), find_number("$1.5 million"), find_number("12 million people")
    (Fraction(25, 1), Fraction(1500000, 1), Fraction(12000000, 1))
    >>> find_number("Apollo 11"), find_number("3 or 4")
    (None, None)
    """
    text = text.strip().rstrip(".")
    text = text[qualifier.end() :] if (qualifier := _QUALIFIER.match(text)) else text
    whole = parse_number(text)
    if whole is not None and isinstance(whole.value, Fraction):
        return whole.value
    match = _AMOUNT.fullmatch(text)
    if match is not None:
        rest = match["rest"].split()
        number = parse_number(match["number"].strip())
        if number is None or not isinstance(number.value, Fraction) or len(rest) > 3 or {"or", "to", "and"} & {*rest}:
            return None
        if match["rest"][:1] not in {"", " ", "%"}:
            return None
        return number.value * (SCALES.get(rest[0].lower(), 1) if rest else 1)
    return _read_words(text)


def list_items(text: str) -> list[str]:
    """The items of a list in a text; [] where it is none.

    >>> list_items("red, white, and blue"), list_items("Denver, Colorado"), list_items("Procter and Gamble")
    (['red', 'white', 'blue'], [], [])
    """
    separator = ";" if ";" in text else ","
    if separator not in text or re.search(r"\d,\d", text):
        return []
    *parts, last = text.strip().rstrip(".").split(separator)
    joint = re.match(r"\s*(?:and|or|&)\s+", last)
    ends = [last[joint.end() :]] if joint else re.split(r"\s+(?:and|&)\s+", last, maxsplit=1)
    items = [each.strip() for each in (*parts, *ends)]
    long = any(not item or len(item.split()) > 6 for item in items)
    return items if len(items) >= 3 and not long and len(items) == len({each.lower() for each in items}) else []


def _month(name: str | None) -> int | None:
    return None if name is None else [each[:3].lower() for each in MONTHS].index(name[:3].lower()) + 1


def _read_words(text: str) -> Fraction | None:
    """The number that the first words of a text spell; at most two further words may follow."""
    words = text.lower().replace("-", " ").split()
    total, part, used = 0, 0, 0
    for word in words:
        if word in NUMBER_WORDS:
            part += NUMBER_WORDS[word]
        elif word == "hundred" and part:
            part *= 100
        elif word in SCALES and part:
            total, part = total + part * SCALES[word], 0
        else:
            break
        used += 1
    return Fraction(total + part) if used and len(words) - used <= 2 else None
