"""Right answers: the gold, another reference, the gold in a sentence, and changes that do no harm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

from karat.runs.judge.exam.answers.answer import Drawn, MadeAnswer
from karat.runs.judge.exam.answers.frames import read_frames
from karat.runs.judge.exam.answers.gold_types import MONTHS, NUMBER_WORDS, PartialDate, list_items, read_date

_WORDS_OF = {value: word for word, value in NUMBER_WORDS.items()}


def gold(drawn: Drawn, _: Random) -> Iterator[MadeAnswer]:
    """The gold as it is written."""
    yield MadeAnswer(drawn.gold, "as it is")


def other_reference(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """Another of the references."""
    others = [each for each in drawn.question.references[1:] if each != drawn.gold]
    if others:
        yield MadeAnswer(rng.choice(others), "another reference")


def sentence(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """The gold in a sentence."""
    if drawn.question.is_short:
        yield MadeAnswer(read_frames().fill("sentence", rng, answer=drawn.gold.rstrip(".")), "in a sentence")


def harmless_change(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """The gold with one change that leaves its meaning: format of a date or number, a unit, an alias, order, case."""
    changes = {name: text for name, edit in _CHANGES.items() if (text := edit(drawn, rng)) and text != drawn.gold}
    telling = [name for name in changes if name not in {"case", "full stop"}]
    if changes:
        name = rng.choice(telling or list(changes))
        yield MadeAnswer(changes[name], name)


def _case(drawn: Drawn, _: Random) -> str | None:
    """Lower case, where no short name in capitals would become a word."""
    lowered = drawn.gold.lower()
    return None if re.search(r"\b[A-Z]{2,4}\b", drawn.gold) or len(drawn.gold) < 4 else lowered


def _article(drawn: Drawn, _: Random) -> str | None:
    """Without the article that it begins with, or with one before a name of several words that ends in a kind."""
    dropped = re.sub(r"^(?:the|an?)\s+", "", drawn.gold, flags=re.IGNORECASE)
    return dropped if len(dropped.split()) > 1 else None


def _full_stop(drawn: Drawn, _: Random) -> str | None:
    return None if drawn.gold.endswith(".") else f"{drawn.gold}."


def _date(drawn: Drawn, rng: Random) -> str | None:
    """A whole date in another format: 4 March 1961, March 4, 1961, 1961-03-04."""
    date = read_date(drawn.gold.rstrip("."))
    if date is None or None in (date.year, date.month, date.day) or not date.month:
        return None
    return rng.choice([each for each in spell_date(date) if each != drawn.gold])


def spell_date(date: PartialDate) -> list[str]:
    """The ways in which a whole date is written.

    >>> spell_date(PartialDate(1961, 3, 4))
    ['4 March 1961', 'March 4, 1961', '1961-03-04']
    """
    month = MONTHS[(date.month or 1) - 1]
    return [
        f"{date.day} {month} {date.year}",
        f"{month} {date.day}, {date.year}",
        f"{date.year:04}-{date.month:02}-{date.day:02}",
    ]


def _number(drawn: Drawn, _: Random) -> str | None:
    """A number in words or in digits, with or without commas; a year, and a number in a name, stay as they are."""
    if drawn.question.type != "number":
        return None
    text = drawn.gold
    if text.lower() in NUMBER_WORDS:
        return str(NUMBER_WORDS[text.lower()])
    if text.isdecimal() and int(text) in _WORDS_OF:
        return _WORDS_OF[int(text)]
    if re.search(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d.,])", text):
        return text.replace(",", "")
    match = re.search(r"(?<![\d.,])\d{4,}(?![\d.,])", text)
    return None if match is None else text.replace(match[0], f"{int(match[0]):,}")


def _unit(drawn: Drawn, _: Random) -> str | None:
    """A unit after a number, spelled out."""
    match = re.fullmatch(r"(.*\d)\s?([a-z]+|%)\.?", drawn.gold)
    units = read_frames().units
    return f"{match[1]} {units[match[2]]}" if match and match[2] in units and match[1] != "1" else None


def _list(drawn: Drawn, _: Random) -> str | None:
    """A list in the opposite order, where its order is not what the question asks for."""
    items = list_items(drawn.gold)
    if not items or drawn.asks("order", "ranking", "ranked", "sequence", "rank", "first", "respectively"):
        return None
    *first, last = reversed(items)
    return f"{', '.join(first)} and {last}"


def _alias(drawn: Drawn, rng: Random) -> str | None:
    """Another name of the same thing."""
    row = next((row for row in read_frames().aliases if drawn.gold in row), None)
    return None if row is None else rng.choice([each for each in row if each != drawn.gold])


_CHANGES: dict[str, Callable[[Drawn, Random], str | None]] = {
    "case": _case,
    "article": _article,
    "full stop": _full_stop,
    "format of a date": _date,
    "format of a number": _number,
    "unit spelled out": _unit,
    "order of a list": _list,
    "another name": _alias,
}
