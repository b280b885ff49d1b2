r"""The formula that a text finally gives, and one spelling for the many that LaTeX has.

Looked for in this order: after the last "final answer", the last `\boxed{…}` (several in a row are a list), after the
last "answer", the whole text; there, the last formula between `$`, `\(` or `\[`, or the last plain number or sum,
whichever comes later. Time is linear in the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

Notation = Literal["any", "latex", "plain"]

_UNICODE = str.maketrans(
    dict(zip("−–²³°√÷\u00a0\u202f\u2009", ["-", "-", "^2", "^3", "", r"\sqrt ", "/", " ", " ", " "], strict=True))
    | {
        sign: rf"\{name} "
        for sign, name in zip("×·⋅≤≥≠≈", ["times", "cdot", "cdot", "le", "ge", "ne", "approx"], strict=True)
    }
    | {
        sign: rf"\{name} "
        for sign, name in zip("π∞∪∩∈±∅θ", ["pi", "infty", "cup", "cap", "in", "pm", "emptyset", "theta"], strict=True)
    }
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
    r"""A formula without what only looks: sizes, spaces, degrees, units after a number, the many kinds of fraction.

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
        text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    text = re.sub(r"\\d?frac\s*([0-9])\s*([0-9])", r"\\frac\1 \2", text) if r"\frac" in text else text
    return " ".join(text.split()).rstrip(" .,;:")


def _unit(found: re.Match[str]) -> str:
    """Nothing for a unit, a comma for and."""
    words = found[1].strip()
    return _words(found) if words in {"and", "or", "", ","} or words.startswith("pi") else " "


def _words(found: re.Match[str]) -> str:
    words = found[1].strip().rstrip(".")
    if words in {"and", "or"}:
        return " , "
    if words in {"percent", "pct"}:
        return "%"
    return rf"\words{{{''.join(words.split())}}}" if len(words) > 1 else f" {words} "


def spelling(formula: str) -> str:
    r"""A normalised formula without spaces, braces and text commands, to compare as text; for prose, its words.

    >>> spelling(r"\text{(C)}"), spelling("C")
    ('C', 'C')
    """
    text = "".join(_MARKED_WORDS.sub(r"\1", normalise_formula(formula)).split())
    return text[1:-1] if text[:1] == "(" and text[-1:] == ")" and text[1:-1].isalpha() else text


class Answer(NamedTuple):
    """A formula found in a text, and whether it stood between marks of LaTeX."""

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
    r"""The formula that a text finally gives, or None; `latex` looks between marks only, `plain` for numbers only.

    >>> find_answer("So it is 4. Final Answer: The final answer is $\\frac{1}{2}$. I hope it is correct.")
    Answer(formula='\\frac{1}{2}', marked=True)
    >>> find_answer("She has $12 left, so the answer is 3 apples.").formula
    '3'
    """
    found = None
    announced = "answer" in text.lower()
    if announced and (final := _last(_FINAL, text)):
        section = text[final:]
        if hope := _HOPE.search(section):
            section = section[: hope.start() + 1]
        section = section[:LOOK]
        found = _boxes(section, notation) or _last_in(section, notation)
    found = found or _boxes(text, notation)
    if not found and announced and (answer := _last(_ANSWER, text)):
        found = _last_in(text[answer:][:LOOK], notation)
    return found or _last_in(text[-LOOK:], notation)


LOOK = 20_000
"""At most so many characters are looked through for a formula that no box marks."""


def _last(pattern: re.Pattern[str], text: str) -> int | None:
    end = None
    for match in pattern.finditer(text):
        end = match.end()
    return end


def _boxes(text: str, notation: Notation) -> Answer | None:
    """The last box and those right before it, with nothing but "and" or a comma between."""
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
        content = text[match.end() + 1 : close]
        after = _AFTER.match(text, end + (text[end : end + 1] == "$"))
        inner.append(content + ("%" if after else ""))
    return Answer(", ".join(inner), marked=True) if inner else None


def _braces(text: str) -> dict[int, int]:
    """The place of the brace that closes each brace, for those that are closed."""
    closing: dict[int, int] = {}
    open_braces: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            open_braces.append(match.start())
        elif match[0] == "}" and open_braces:
            closing[open_braces.pop()] = match.start()
    return closing


def _last_in(text: str, notation: Notation) -> Answer | None:
    """The last formula or number, from the last line up: only formulas on display go on over the end of a line."""
    if "$$" in text or r"\[" in text:
        return _last_within(text, notation)
    end = len(text)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        if found := _last_within(text[start:end], notation):
            return found
        end = start - 1
    return None


def _last_within(text: str, notation: Notation) -> Answer | None:
    spans = list(_SPANS.finditer(text)) if notation != "plain" and ("\\" in text or "$" in text) else []
    place = spans[-1].end() if spans else 0
    if notation != "latex":
        last = None
        for last in _PLAIN.finditer(text, place):  # noqa: B007  (the last one is wanted)
            pass
        if last:
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
