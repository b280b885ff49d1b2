r"""Finds the final formula in a text, and gives one spelling to the many that LaTeX has.

Searched in this order: after the last "final answer"; the last `\boxed{…}` (several in a row are a list); after the
last "answer"; the whole text; each for the last formula between `$`, `\(` or `\[`, or the last plain number or sum,
whichever comes later. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import Literal, NamedTuple

Notation = Literal["any", "latex", "plain"]

_COMMANDS = ["times", "cdot", "cdot", "le", "ge", "ne", "approx"]
_COMMANDS += ["pi", "infty", "cup", "cap", "in", "pm", "emptyset", "theta"]
_UNICODE = str.maketrans(
    dict(zip("−–²³°√÷\u00a0\u202f\u2009", ["-", "-", "^2", "^3", "", r"\sqrt ", "/", " ", " ", " "], strict=True))
    | {sign: rf"\{name} " for sign, name in zip("×·⋅≤≥≠≈π∞∪∩∈±∅θ", _COMMANDS, strict=True)}
)
_SPACING = re.compile(
    r"(?<!\\)\\(?:(?:left|right|[bB]igg?[lr]?|displaystyle|textstyle|limits|q?quad|allowbreak)(?![A-Za-z])\.?|[,!;:> ])"
    r"|(?<!\\)~"
)
_SEPARATED = re.compile(r"(?<=\d)(?:\s?\{,\s*\}|,?\\[,!]|\{\\,\})\s*(?=\d{3})|(?<=\d),\\!\s*(?=\d)")
_WORDS = r"\\(?:text(?:normal|bf|it|rm|tt)?|mbox|mathrm|mathbf|mathit|mathsf|hbox|operatorname)\s*\{([^{}]*)\}"
_UNIT = re.compile(r"(?<=[\d})])\s*" + _WORDS + r"(?:\s*\^\s*\{?\s*-?\d\s*\}?)?")
_TEXT = re.compile(_WORDS)
_PLAIN_UNIT = re.compile(
    r"(?<=\d)\s+(?!(?:and|or|pi|sin|cos|tan|ln|log|sqrt|in)\b)[A-Za-z]{2,}(?:\s*/\s*[A-Za-z]+|\s+[A-Za-z]{2,}){0,3}\s*$"
)
_DEGREES = re.compile(r"\^\s*\{?\s*\\circ\s*\}?|\\degree\b|\\circ\b")
_PERCENT = re.compile(r"\\%|(?<=[\d} ])\s*(?:percentage|percent|pct)\b")
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_BACKSLASHES = re.compile(r"\\\\(?=[A-Za-z])")
_FRACTIONS = re.compile(r"\\[dtc]frac\b|\\[dtc]frac(?=\d)")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?=\{)")
_MARKED_WORDS = re.compile(r"\\words\{([^{}]*)\}")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_MONEY = re.compile(r"\\\$|\$")


@lru_cache(maxsize=4096)
def normalise_formula(text: str) -> str:
    r"""The formula without layout: sizes, spaces, degree signs, units after a number, other commands for fractions.

    >>> normalise_formula(r"\left( \tfrac12,\; 10\text{ units} \right).")
    '( \\frac1 2, 10 )'
    """
    text = text.translate(_UNICODE).strip()
    if r"\begin" not in text:
        text = _BACKSLASHES.sub(lambda _: "\\", text)
    while (box := _BOX.search(text)) and (end := _braces(text).get(box.end())):
        text = text[: box.start()] + " " + text[box.end() + 1 : end] + " " + text[end + 1 :]
    text = _SEPARATED.sub("", text)
    text = _SPACING.sub(" ", text)
    text = _FRACTIONS.sub(lambda _: r"\frac", text)
    text = _DEGREES.sub("", _MONEY.sub(" ", _PERCENT.sub("%", text)))
    text = _TEXT.sub(_words, _UNIT.sub(_unit, text))
    text = _PLAIN_UNIT.sub("", text)
    text = re.sub(r"\b(?:and|or)\b", ",", text) if " and " in text or " or " in text else text
    if len(text) < 40 and "(" not in text and "[" not in text:
        text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    text = re.sub(r"\\d?frac\s*([0-9])\s*([0-9])", r"\\frac\1 \2", text) if r"\frac" in text else text
    return " ".join(text.split()).rstrip(" .,;:")


def _unit(match: re.Match[str]) -> str:
    """A space in place of a unit, a comma in place of `and`."""
    words = match[1].strip()
    return _words(match) if words in {"and", "or", "", ","} or words.startswith("pi") else " "


def _words(match: re.Match[str]) -> str:
    words = match[1].strip().rstrip(".")
    if words in {"and", "or"}:
        return " , "
    if words in {"percent", "pct"}:
        return "%"
    return rf"\words{{{''.join(words.split())}}}" if len(words) > 1 else f" {words} "


def spelling(formula: str) -> str:
    r"""The normalised formula without spaces, braces and text commands, to compare as text; for prose its words.

    >>> spelling(r"\text{(C)}"), spelling("C")
    ('C', 'C')
    """
    text = "".join(_MARKED_WORDS.sub(r"\1", normalise_formula(formula)).split())
    return text[1:-1] if text[:1] == "(" and text[-1:] == ")" and text[1:-1].isalpha() else text


class Answer(NamedTuple):
    """A formula in a text, and whether it was between marks of LaTeX."""

    formula: str
    marked: bool


_SPANS = re.compile(
    r"(?<!\\)\$\$(?P<a>(?:[^$])+)(?<!\\)\$\$|(?<!\\)\\\[(?P<b>(?:[^\\]|\\(?![\[\]]))+)\\\]"
    r"|(?<![\\\d])\$(?P<c>(?:\\\$|[^\n$])+)(?<!\\)\$|(?<!\\)\\\((?P<d>(?:[^\\\n]|\\(?![()]))+)\\\)"
    r"|(?P<e>-?\\[dt]?frac\{-?\d+\}\{-?\d+\})"
)
_AFTER = re.compile(r"\s*(?:\\?%|percentage\b|percent\b|pct\b)", re.IGNORECASE)
_JOINED = re.compile(r"(?:[\s$,.]|\\q?quad|\\text\{\s*(?:and|or)\s*\}|and\b|or\b)*+")
_NUMBER = r"-?(?:[1-9]\d{0,2}(?:[ ,]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:[.,]\d+)?|\.\d+)"
_PLAIN = re.compile(
    rf"(?:(?<=[\s=:\"*])|^)[$€£¥₹]?(?P<plain>\(?{_NUMBER}\)?(?:\s?[-+*/^×÷]\s?\(?{_NUMBER}\)?){{0,8}})"
    r"(?P<percent>\s*(?:%|[Pp]ercentage|[Pp]ercent|[Pp]ct))?"
)
_AND = re.compile(r"\s*(?:,|,?\s*(?:and|or))\s*")
_FINAL = re.compile(r"final answer", re.IGNORECASE)
_ANSWER = re.compile(r"answer(?: is|:)", re.IGNORECASE)
_HOPE = re.compile(r"\.?\s*I hope", re.IGNORECASE)


def find_answer(text: str, notation: Notation = "any") -> Answer | None:
    r"""The final formula in a text, or None; `latex` searches between marks only, `plain` only for plain numbers.

    >>> find_answer("So it is 4. Final Answer: The final answer is $\\frac{1}{2}$. I hope it is correct.")
    Answer(formula='\\frac{1}{2}', marked=True)
    >>> find_answer("She has $12 left, so the answer is 3 apples.").formula
    '3'
    """
    answer = None
    announced = "answer" in text.lower()
    if announced and (start := _last(_FINAL, text)):
        section = text[start:]
        if hope := _HOPE.search(section):
            section = section[: hope.start() + 1]
        section = section[:LOOK]
        answer = _boxes(section, notation) or _last_in(section, notation)
    answer = answer or _boxes(text, notation)
    if not answer and announced and (start := _last(_ANSWER, text)):
        answer = _last_in(text[start:][:LOOK], notation)
    return answer or _last_in(text[-LOOK:], notation)


LOOK = 20_000
"""At most this many characters are searched for a formula that is not in a box."""


def _last(pattern: re.Pattern[str], text: str) -> int | None:
    return max((match.end() for match in pattern.finditer(text)), default=None)


def _boxes(text: str, notation: Notation) -> Answer | None:
    """The last box and the boxes directly before it, with only "and" or a comma between them."""
    if notation == "plain" or "\\" not in text:
        return None
    inner: list[str] = []
    end = 0
    closing = _braces(text)
    for match in _BOX.finditer(text):
        close = closing.get(match.end())
        if close is None or close < end:
            continue
        if inner and not _JOINED.fullmatch(text[end : match.start()]):
            inner.clear()
        end = close + 1
        after = _AFTER.match(text, end + (text[end : end + 1] == "$"))
        inner.append(text[match.end() + 1 : close] + ("%" if after else ""))
    return Answer(", ".join(inner), marked=True) if inner else None


def _braces(text: str) -> dict[int, int]:
    """The place of the closing brace by the place of its opening brace."""
    closing: dict[int, int] = {}
    open_braces: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            open_braces.append(match.start())
        elif match[0] == "}" and open_braces:
            closing[open_braces.pop()] = match.start()
    return closing


def _last_in(text: str, notation: Notation) -> Answer | None:
    """The last formula or number, searched line by line from the end: only display formulas span several lines."""
    if "$$" in text or r"\[" in text:
        return _last_within(text, notation)
    end = len(text)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        if answer := _last_within(text[start:end], notation):
            return answer
        end = start - 1
    return None


def _last_within(text: str, notation: Notation) -> Answer | None:
    spans = list(_SPANS.finditer(text)) if notation != "plain" and ("\\" in text or "$" in text) else []
    place = spans[-1].end() if spans else 0
    if notation != "latex":
        for last in deque(_PLAIN.finditer(text, place), maxlen=1):
            return Answer(last["plain"] + ("%" if last["percent"] else ""), marked=False)
    if not spans:
        return None
    joined = [spans[-1]]
    for span in reversed(spans[:-1]):
        if not _AND.fullmatch(text[span.end() : joined[0].start()]):
            break
        joined.insert(0, span)
    percent = "%" if _AFTER.match(text, place) else ""
    return Answer(", ".join(span[span.lastgroup or "a"].strip() for span in joined) + percent, marked=True)
