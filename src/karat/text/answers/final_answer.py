r"""Finds the final answer in a text: the formula, number, option letter or words that the text gives as its result.

Searched in this order: after the last "final answer"; the last `\boxed{…}` (several that belong together are a list);
after the last "the answer is", in one of many languages; the whole text. A formula stands between `$`, `\(` or `\[`, or
is a run of numbers, single letters, functions and operators between words. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple

from karat.text.answers.announcements import find_announcements
from karat.text.answers.choices import read_choice
from karat.text.formula import BOX, UNIT_SYMBOL, closing_braces

Notation = Literal["any", "latex", "plain"]

LOOK = 20_000
"""At most this many characters are searched for a formula that is not in a box."""
SENTENCE = 500
"""At most this many characters of a sentence or line are searched for a formula without marks."""


class FinalAnswer(NamedTuple):
    """A formula in a text, and whether it was between marks of LaTeX."""

    formula: str
    marked: bool


_SPANS = re.compile(
    r"(?<!\\)\$\$(?P<a>(?:[^$])+)(?<!\\)\$\$|(?<!\\)\\\[(?P<b>(?:[^\\]|\\(?![\[\]]))+)\\\]"
    r"|(?<![\\\d])\$(?P<c>(?:\\\$|[^\n$])+)(?<!\\)\$|(?<!\\)\\\((?P<d>(?:[^\\\n]|\\(?![()]))+)\\\)"
    r"|(?P<e>-?\\[dt]?frac\{-?\d+\}\{-?\d+\})"
)
_AFTER = re.compile(r"\s*(?:\\?%|percentage\b|percent\b|pct\b)", re.IGNORECASE)
_NUMBER = r"[-−]?(?:[1-9]\d{0,2}(?:[ ,]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:[.,]\d+)?(?:[eE][-+]?\d+(?!\w))?|\.\d+)"
_PLAIN = re.compile(
    rf"(?:(?<=[\s=:\"*：$€£¥₹\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af])|^)"
    rf"(?P<plain>\(?{_NUMBER}\)?(?:\s?[-+*/^×÷]\s?\(?{_NUMBER}\)?){{0,8}})"
    r"(?P<percent>\s*(?:%|[Pp]ercentage|[Pp]ercent|[Pp]ct))?"
)
_NAMES = r"(?:sqrt|cbrt|arc(?:sin|cos|tan)|sin|cos|tan|sec|csc|cot|log|ln|exp|pi)"
_ATOM = (
    rf"(?:\\[A-Za-z]+|(?<![A-Za-z])(?<![A-Za-z]['’])(?:{_NAMES}|[A-Za-zπθ]\d*)(?![A-Za-z])|\d+(?:[.,]\d+)*"
    r"|[-+*/^=<>≤≥≠≈()\[\]{}|!%²³√×·÷∞−∪∩±_]|(?<![A-Za-z]{{2}})['’]|,(?= ?[-\d(\[{A-Za-z]))"
)
_RUN = re.compile(rf"{_ATOM}(?: ?{_ATOM})++")
_EDGES = re.compile(r"^(?:[aAI] (?=[\w(\[{])|[*+/^=,)\]}%!'’_<> ])+|(?:[-+*/^=<>({\[,_ ]|(?<=[^-+*/^=<>( ]) [aAI]$)+$")
_FORMULA = re.compile(
    rf"[^\W_][)\]²³'’]* ?[-+*/^=<>≤≥≠≈×÷∪∩±−]|[²³√\[{{(]|\d ?(?![msghLl](?:[²³]|\b))[A-Za-zπ\\]|{_NAMES} ?\("
)
_MEASURE = re.compile(rf"{_NUMBER} ?{UNIT_SYMBOL}[²³]?(?: ?/ ?{UNIT_SYMBOL}[²³]?)?")
_UNIT = re.compile(r"[$)\d] ")
_QUANTIFIER = re.compile(r"\s*\(?\s*[a-z]\s*(?:,\s*[a-z]\s*)?(?:\\in|∈)\s*(?:\\mathbb|\\[ZN]|[ZNℤℕ]).*")
_WORD = re.compile(r" [^\W\d_]{2}")
_TRIVIAL = re.compile(r"\s*(?:[A-Za-z]+'*|\\[A-Za-z]+|[A-Za-z]\([A-Za-z]\))\s*")
_VERB = re.compile(r"\s*(?:is|are|equals?|=|be)\s*$")
_BARE_BOX = re.compile(r"\\boxed\s+([\w.]+)")
_BETWEEN = re.compile(r",|;|\band\b|\bor\b|[和或、]|\\quad")
_AND = re.compile(r"\s*(?:,|,?\s*(?:and|or|和|或))\s*")
_HOPE = re.compile(r"\.?\s*I hope", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?](?=\s|$|\*)|[。！？\n]")
_OPEN = r"(?:[\s(\[{<*_\"'“`$（:：~]|\\[ ,;~]|\\(?:boxed|text\w*|math\w+)\s*\{){0,12}"
_OPTION = re.compile(
    rf"{_OPEN}(?:(?i:option|choice|letter|the|la|lettre|letra|选项|вариант|буква|is|:)\s*{_OPEN}){{0,3}}"
    r"(?P<letter>[A-Z])"
    r"(?=(?P<close>[)\]}>*_\"'”`$.,:;。，、：）~]|\\[ ,;~]|\s*$)|(?P<more>\s+[^\W\d_]{2}|[^\W\d_A-Za-z]))"
    r"(?:[)\]}>*_\"'”`$.,:;：）~\s]|\\[ ,;~])*+"
)
_ARITHMETIC = re.compile(r"[\\=+^²]")
_LETTERS = re.compile(r"(?:(?:[\s,;、&$(){}]|and|\\text|\\quad|\\[ ,;])*+[A-Z](?![A-Za-z]))++[\s.)}$]*")


def find_answer(text: str, notation: Notation = "any", *, stated: bool = False) -> FinalAnswer | None:
    r"""The final formula in a text, or None; `latex` searches between marks only, `plain` only for plain numbers.

    With `stated=True` a number or formula among words counts only if the text says that it is the answer.

    >>> find_answer("So it is 4. Final Answer: The final answer is $\\frac{1}{2}$. I hope it is correct.")
    FinalAnswer(formula='\\frac{1}{2}', marked=True)
    >>> find_answer("She has $12 left, so the answer is 3 apples.").formula
    '3'
    >>> find_answer("Therefore, the simplified result is x + 1.").formula
    'x + 1'
    """
    final, announced = find_announcements(text)
    answer = None
    if final:
        section = text[final : final + LOOK]
        if hope := _HOPE.search(section):
            section = section[: hope.start() + 1]
        answer = _boxes(section, notation) or _first_in(section, notation) or _last_in(section, notation)
    answer = answer or _boxes(text, notation)
    if not answer and announced:
        section = text[announced : announced + LOOK]
        answer = _first_in(section, notation) or _last_in(section, notation)
    return answer or (None if stated else _last_in(text[-LOOK:], notation))


def find_words(text: str) -> list[str]:
    r"""The texts in which an answer in words may stand: the last box, what follows "the answer is", and the whole text.

    >>> find_words("In short: the answer is Paris. I am sure.")[0]
    'Paris'
    """
    texts = [box.formula] if (box := _boxes(text, "any")) else []
    final, announced = find_announcements(text)
    texts += [_first_sentence(text[start:]) for start in (announced, final) if start]
    return [*texts, text]


def find_letter(text: str) -> tuple[str, str] | None:
    r"""The option letters that a text chooses, and the words after them; None if it chooses none.

    >>> find_letter(r"So \boxed{\textbf{(D)}\ 12}"), find_letter("(B) Alina"), find_letter("La réponse est C.")
    (('D', '12'), ('B', 'Alina'), ('C', ''))
    """
    places = find_words(text)
    for place in places:
        if (option := _OPTION.match(place)) and (place is not text or option["close"] is not None):
            rest = place[option.end() :].strip()
            if _LETTERS.fullmatch(rest):
                return "".join(sorted(option["letter"] + re.sub("[^A-Z]", "", rest))), ""
            return option["letter"], rest
    prose = _SPANS.sub(" ", text[-LOOK:])
    if _ARITHMETIC.search(prose):  # the C of x + C is not an option
        return None
    index = read_choice(prose, [None] * 26, count_from=1_000)  # so that numbers name no option
    return None if isinstance(index, str) else (chr(ord("A") + index), "")


def _first_sentence(text: str) -> str:
    text = text[:SENTENCE].lstrip(" \t\r\n*:：=_")
    return text[: end.start()] if (end := _SENTENCE.search(text)) else text


def _boxes(text: str, notation: Notation) -> FinalAnswer | None:
    """The last box and the boxes before it that belong to it."""
    if notation == "plain" or "\\" not in text:
        return None
    inner: list[str] = []
    end = 0
    closing = closing_braces(text)
    for match in BOX.finditer(text):
        close = closing.get(match.end())
        if close is None:
            rest = text[match.end() + 1 : match.end() + LOOK]
            if BOX.search(rest):
                continue
            return FinalAnswer(rest.partition("$")[0].partition("\n")[0], marked=True)
        if close < end:
            continue
        if inner and not _belong(text[end : match.start()]):
            inner.clear()
        end = close + 1
        after = _AFTER.match(text, end + (text[end : end + 1] == "$"))
        inner.append(text[match.end() + 1 : close] + ("%" if after else ""))
    if not inner and (bare := _BARE_BOX.search(text)):
        return FinalAnswer(bare[1], marked=True)
    return FinalAnswer(", ".join(dict.fromkeys(inner)), marked=True) if inner else None


def _belong(between: str) -> bool:
    """Whether two boxes with this text between them are one answer: within a sentence, joined by "and" or a comma."""
    if len(between) < 10 and "." not in between:
        return True
    return len(between) < 70 and bool(_BETWEEN.search(between)) and not _SENTENCE.search(between.strip())


def _last_in(text: str, notation: Notation) -> FinalAnswer | None:
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


def _last_within(text: str, notation: Notation) -> FinalAnswer | None:
    spans = _spans(text) if notation != "plain" else []
    place = spans[-1].end() if spans else 0
    if notation != "latex":
        numbers = deque(_PLAIN.finditer(text, place), maxlen=1)
        rest = max(place, len(text) - SENTENCE)
        runs = deque(_runs(text, rest), maxlen=1) if notation == "any" else []
        if runs and (not numbers or runs[0][1] >= numbers[0].end("plain")):
            return runs[0][2]
        for number in numbers:
            return _number_answer(number)
    if not spans:
        return None
    if len(spans) > 1 and _QUANTIFIER.fullmatch(spans[-1][0].strip("$\\()")):
        spans.pop()
    joined = [spans[-1]]
    for span in reversed(spans[:-1]):
        if not _AND.fullmatch(text[span.end() : joined[0].start()]):
            break
        joined.insert(0, span)
    return _joined(joined, text)


def _first_in(text: str, notation: Notation) -> FinalAnswer | None:
    """The formula that the first sentence gives as the answer: the first in it, but of `f(3) is 4` the second."""
    text = _first_sentence(text)
    answers: list[tuple[int, int, FinalAnswer]] = []
    spans = _spans(text) if notation != "plain" else []
    for span in spans:
        if answers and answers[-1][2].marked and (joint := _AND.fullmatch(text[answers[-1][1] : span.start()])):
            start, _, before = answers.pop()
            formula = f"{before.formula}{' or ' if 'or' in joint[0] or '或' in joint[0] else ', '}"
            answers.append((start, span.end(), FinalAnswer(formula + _joined([span], text).formula, marked=True)))
        else:
            answers.append((span.start(), span.end(), _joined([span], text)))
    for start, end in zip([0, *(span.end() for span in spans)], [*(s.start() for s in spans), len(text)], strict=True):
        if notation != "latex":
            piece = text[:end]
            answers += [(m.start("plain"), m.end(), _number_answer(m)) for m in _PLAIN.finditer(piece, start)]
            answers += _runs(piece, start) if notation == "any" else []
    answers.sort(key=lambda each: (each[0], -each[1]))
    answer, after = None, 0
    for start, end, candidate in answers:
        if start < after:
            continue
        if answer is None or _TRIVIAL.fullmatch(answer.formula) or _VERB.match(text[after:start]):
            answer = candidate
        else:
            break
        after = end
    return answer


def _spans(text: str) -> list[re.Match[str]]:
    return list(_SPANS.finditer(text)) if "\\" in text or "$" in text else []


def _joined(spans: list[re.Match[str]], text: str) -> FinalAnswer:
    """Formulas between marks as one list, with the percent sign or the word "or" that stands outside them."""
    formula = ""
    for before, span in zip([None, *spans], spans, strict=False):
        if before:
            between = text[before.end() : span.start()]
            formula += " or " if "or" in between or "或" in between else ", "
        formula += span[span.lastgroup or "a"].strip()
    return FinalAnswer(formula + ("%" if _AFTER.match(text, spans[-1].end()) else ""), marked=True)


def _number_answer(number: re.Match[str]) -> FinalAnswer:
    return FinalAnswer(number["plain"] + ("%" if number["percent"] else ""), marked=False)


def _runs(text: str, start: int) -> Iterator[tuple[int, int, FinalAnswer]]:
    """Formulas without marks: runs of numbers, letters, functions and operators, without articles around them."""
    for run in _RUN.finditer(text, start):
        article = run[0][-2:] in {" a", " A", " I"} and _WORD.match(text, run.end())
        formula = _EDGES.sub("", run[0][:-2] if article else run[0])
        at = run.start() + run[0].find(formula)
        if _FORMULA.search(formula) and not _MEASURE.fullmatch(formula) and not _UNIT.match(text[max(0, at - 2) : at]):
            yield at, at + len(formula), FinalAnswer(formula, marked=False)
