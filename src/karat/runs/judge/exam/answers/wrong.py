"""Wrong answers: gold of other questions, changed gold, what gives no answer, and what gives several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from random import Random

from karat.runs.judge.exam.answers.answer import Drawn, MadeAnswer, Question
from karat.runs.judge.exam.answers.frames import read_frames
from karat.runs.judge.exam.answers.gold_types import (
    MONTHS,
    NUMBER_WORDS,
    YES_NO,
    find_number,
    is_date,
    list_items,
)
from karat.runs.judge.exam.answers.guard import contains_words, why_right

_LONGEST_ITEM = 4  # words of an item
_RANGE = re.compile(r"\d\s*[-\u2013]\s*\d|\b(?:to|or|and|between|in|of|out)\b", re.IGNORECASE)
_OPEN_LIST = re.compile(r"\b(?:such as|includ\w+|like|e\.g|etc|hundreds|other|others|various|many)\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)")
_WORDS_OF = {value: word for word, value in NUMBER_WORDS.items()}
_NO_ANSWER = re.compile(r"unknown|unanswerable|(?:no|not) .*|none|nothing|nobody|never|n/?a|", re.IGNORECASE)


def other_gold(drawn: Drawn, _: Random) -> Iterator[MadeAnswer]:
    """The gold of another question, of the same type."""
    yield from (MadeAnswer(each.gold, f"another {each.type}", (each.gold,)) for each in drawn.alike)


def changed_number(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """The gold with another number: by a fifth or more, whole numbers up to 20 by 1 or more."""
    if drawn.question.type != "number" or _RANGE.search(drawn.gold):
        return
    words = drawn.gold.split()
    if words[0].lower() in NUMBER_WORDS:
        value = NUMBER_WORDS[words[0].lower()]
        near = [each for each in _WORDS_OF if each != value and abs(each - value) <= 10 and each > 1]
        for each in rng.sample(near, min(3, len(near))):
            changed = " ".join([_WORDS_OF[each], *words[1:]])
            yield MadeAnswer(changed, "number", (changed,), edited=True)
        return
    match = _DIGITS.search(drawn.gold)
    if match is None:
        return
    for _ in range(3):
        other = _change_figure(match[0], rng)
        changed = drawn.gold[: match.start()] + other + drawn.gold[match.end() :]
        yield MadeAnswer(changed, "number", (changed,), edited=True)


def _change_figure(figure: str, rng: Random) -> str:
    """Another number of as many decimals."""
    plain = figure.replace(",", "")
    places = len(plain.partition(".")[2])
    value = Fraction(plain)
    if not places and value <= 20:
        other = Fraction(rng.choice([each for each in range(1, 26) if each != value]))
    else:
        part = Fraction(rng.choice([*range(20, 61, 5)]), 100)
        other = value * (1 + part) if rng.random() < 0.5 else value * (1 - part)
    text = f"{float(other):.{places}f}"
    return f"{int(text):,}" if "," in figure and not places else text


def changed_date(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """The gold with another year, month or day."""
    if drawn.question.type != "date" or not is_date(drawn.gold):
        return
    edits = [each for each in (_change_year, _change_month, _change_day) if each(drawn.gold, rng)]
    for _ in range(3 if edits else 0):
        edit = rng.choice(edits)
        if changed := edit(drawn.gold, rng):
            yield MadeAnswer(changed, edit.__name__.removeprefix("_change_"), (changed,), edited=True)


def _change_year(text: str, rng: Random) -> str | None:
    match = _YEAR.search(text)
    if match is None:
        return None
    step = rng.choice([-1, 1]) * (
        rng.choice([10, 20, 30]) if text[match.end() :].startswith("s") else rng.randint(2, 15)
    )
    return text[: match.start()] + str(min(int(match[0]) + step, 2024)) + text[match.end() :]


def _change_month(text: str, rng: Random) -> str | None:
    month_name = next((month for month in MONTHS if month in text), None)
    others = [month for month in MONTHS if month not in {month_name, "May"}]
    return None if month_name is None else text.replace(month_name, rng.choice(others), 1)


def _change_day(text: str, rng: Random) -> str | None:
    if not any(month in text for month in MONTHS):
        return None
    match = re.search(r"(?<!\d)([1-9]|[12]\d|3[01])(?!\d|st|nd|rd|th)", text)
    days = [day for day in range(1, 29) if match and day != int(match[0])]
    return None if match is None else text[: match.start()] + str(rng.choice(days)) + text[match.end() :]


def changed_unit(drawn: Drawn, _: Random) -> Iterator[MadeAnswer]:
    """The gold with its number and another unit or scale."""
    if find_number(drawn.gold) is None:
        return
    units = read_frames().other_units
    for at, word in enumerate(words := drawn.gold.split()):
        if at and word.lower() in units:
            changed = " ".join([*words[:at], units[word.lower()], *words[at + 1 :]])
            yield MadeAnswer(changed, "unit", (changed,), edited=True)


def changed_name(drawn: Drawn, _: Random) -> Iterator[MadeAnswer]:
    """A person or place with a part of its name from another one: the first word of a name of two or three."""
    words = drawn.gold.split()
    if drawn.question.type not in {"person", "place"} or not 2 <= len(words) <= 3 or not _is_name(words):
        return
    for each in drawn.alike:
        part = each.gold.split()
        if 2 <= len(part) <= 3 and _is_name(part) and {*map(str.lower, part)}.isdisjoint(map(str.lower, words)):
            changed = " ".join([part[0], *words[1:]])
            yield MadeAnswer(
                changed, "first name" if drawn.question.type == "person" else "part of a name", (changed,), edited=True
            )


def _is_name(words: Sequence[str]) -> bool:
    return all(word[0].isupper() and word.isalpha() for word in words)


def negation(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """The opposite: no for yes, else that the gold is not the answer."""
    opposite = YES_NO.get(drawn.gold.strip().rstrip(".!").lower())
    if opposite is not None:
        yield MadeAnswer(opposite.capitalize(), "opposite", (opposite,))
    elif drawn.question.is_short and not drawn.asks("not", "n't", "never", "except", "false", "isn't", "wasn't"):
        yield MadeAnswer(read_frames().fill("negation", rng, answer=drawn.gold.rstrip(".")), "negation")


def wrong_list(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """A list with one item too many, from another question's gold, or one missing, where the question asks for all."""
    items = list_items(drawn.gold)
    if not items or _OPEN_LIST.search(drawn.gold) or any(len(item.split()) > _LONGEST_ITEM for item in items):
        return
    complete = drawn.asks("two", "three", "four", "five", "six", "seven", "all", "both", "list", "names", "members")
    for edit in rng.sample(("item missing", "item too many"), 2) if complete else ["item too many"]:
        changed = list(items)
        if edit == "item missing":
            del changed[rng.randrange(len(items))]
        else:
            extra = next((item for each in drawn.alike for item in list_items(each.gold) or [each.gold]
                          if why_right(item, items) is None), None)  # fmt: skip
            if extra is None:
                continue
            changed.insert(rng.randrange(len(items)), extra)
        text = f"{', '.join(changed[:-1])} and {changed[-1]}"
        yield MadeAnswer(text, edit, (text,), edited=True)


def other_question(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """The right answer to another question, which it names."""
    for each in drawn.others:
        if each.text is not None and each.is_short:
            text = read_frames().fill("other_question", rng, question=each.text, answer=each.gold.rstrip("."))
            yield MadeAnswer(text, "answer to another question", (each.gold,))


def off_the_point(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """Prose on the question that does not answer it."""
    question = drawn.question.text
    if question is None or not _wants_answer(drawn.question):
        return
    text = read_frames().fill("off_the_point", rng, question=question.strip())
    reason = any(contains_words(text, gold) for gold in drawn.question.references)
    yield MadeAnswer(text, "prose without an answer", (drawn.gold,) if reason else ())


def hedge(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """Several answers side by side, the gold among them."""
    short = dict.fromkeys(each.gold for each in drawn.alike if each.is_short)
    others = list(islice((each for each in short if why_right(each, drawn.question.references) is None), 2))
    if len(others) == 2 and drawn.question.is_short and drawn.question.type != "yes/no":
        names = dict(zip("abc", rng.sample([drawn.gold, *others], 3), strict=True))
        yield MadeAnswer(read_frames().fill("hedge", rng, **names), "one of three")


def empty(drawn: Drawn, _: Random) -> Iterator[MadeAnswer]:
    """No text at all."""
    if _wants_answer(drawn.question):
        yield MadeAnswer("", "empty")


def refusal(drawn: Drawn, rng: Random) -> Iterator[MadeAnswer]:
    """That it does not know, or does not answer."""
    if _wants_answer(drawn.question):
        yield MadeAnswer(read_frames().fill("refusal", rng), "refusal")


def _wants_answer(question: Question) -> bool:
    """Whether no reference says that there is no answer."""
    return not any(_NO_ANSWER.fullmatch(each.strip().rstrip(".")) for each in question.references)
