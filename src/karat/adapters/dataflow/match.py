"""Compare final answers with gold answers without a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from fractions import Fraction

from karat.adapters.dataflow.conclusion import find_complement, find_conclusion, find_marked, is_formula, is_prose
from karat.metrics import exact_match, math_match
from karat.metrics.answers.number import same_number
from karat.text.numbers import parse_number

PLACES = 6
"""A decimal number with at least so many places stands for each number that rounds to it; a shorter one is exact."""
NOISE = 1e-14
"""The relative error of binary numbers when they are printed: 0.1 + 0.2 is 0.30000000000000004."""

_TEXT = re.compile(r"\\(?:text(?:bf|it|rm)?|mathrm|mbox)\s*\{([^{}]*)\}|(?<!\\)\$")
_ARTICLE = re.compile(r"\A(?:the|an)\s+(?=\w)", re.IGNORECASE)
_PLACES = re.compile(r"\.(\d+)")
_RAISED_OR_LOWERED = re.compile("(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+)|[₀₁₂₃₄₅₆₇₈₉]+")
_UNIT = re.compile(r"(?<=\S)\s+(?:[^\W\d_²³]{2,}|[mgshLlNJWVAKCF](?![^\W\d_²³]))[^=+\-(]*\Z")


def match_answers(answers: Sequence[str | None], golds: Sequence[Sequence[str]]) -> list[bool]:
    """Whether each answer, or its conclusion, equals one of its gold answers: as text or, except for prose, as maths.

    >>> match_answers(["The answer is 4.", "Paris", "I know", "15"], [["4"], ["paris"], ["no"], ["1"]])
    [True, True, False, False]
    """
    texts: list[tuple[int, str, str]] = []  # rows, readings of their answers, gold answers
    formulas: list[tuple[int, str, str]] = []
    for row, (answer, wanted) in enumerate(zip(answers, golds, strict=True)):
        if not answer or not answer.strip():
            continue
        formula, words = find_conclusion(answer)
        for gold in (find_marked(text) or text for text in wanted):
            texts += [(row, reading, gold) for reading in (answer, words, answer.rpartition("\n")[2]) if reading]
            value = (find_complement(gold) or gold) if is_prose(gold) else gold
            if formula and not is_prose(value):
                formulas += [(row, *sides) for sides in _sides(formula, value)]
    same = _equal_texts(texts)
    numbers = {(row, a, b): equal for row, a, b in formulas if (equal := _equal_numbers(a, b)) is not None}
    same |= {row for (row, _, _), equal in numbers.items() if equal}
    undecided = [each for each in formulas if each[0] not in same and each not in numbers]
    scores = math_match([formula for _, formula, _ in undecided], [gold for _, _, gold in undecided]).to_pylist()
    same |= {row for (row, _, _), score in zip(undecided, scores, strict=True) if score == 1}
    return [row in same for row in range(len(answers))]


def _equal_texts(pairs: Sequence[tuple[int, str, str]]) -> set[int]:
    """The rows in which a reading equals a gold answer: a formula as it is spelled, prose but for case and article."""
    plain = [(_plain(reading), _plain(gold)) for _, reading, gold in pairs]
    scores = exact_match.using(normalize="unicode")([a for a, _ in plain], [b for _, b in plain]).to_pylist()
    return {
        row
        for (row, _, gold), (a, b), score in zip(pairs, plain, scores, strict=True)
        if score == 1 and (is_prose(gold) or b.isalnum() or a == b)
    }


def _plain(text: str) -> str:
    return _ARTICLE.sub("", _TEXT.sub(r"\1", text).strip())


def _sides(formula: str, gold: str) -> Iterable[tuple[str, str]]:
    """The formula and the gold answer; then without the left sides, or the unit, that only one of them has."""
    pairs = [(formula, gold)]
    for strip in (lambda text: text.rpartition("=")[2].strip(), lambda text: _UNIT.sub("", text)):
        a, b = pairs[-1]
        if (strip(a) == a) != (strip(b) == b):
            pairs.append((strip(a), strip(b)))
    return [(_spell(a), _spell(b)) for a, b in pairs if a and b]


def _spell(formula: str) -> str:
    """A formula with letters between dollar signs, so that it is not read as prose, with LaTeX's powers and indices."""
    formula = _RAISED_OR_LOWERED.sub(_spell_script, formula)
    marked = not is_formula(formula) or "$" in formula or "\\(" in formula or "\\[" in formula
    return formula if marked or not any(map(str.isalpha, formula)) else f"${formula}$"


def _spell_script(digits: re.Match[str]) -> str:
    return f"{'^' if digits['raised'] else '_'}{{{unicodedata.normalize('NFKC', digits[0])}}}"


def _equal_numbers(text: str, gold: str) -> bool | None:
    """Whether two numbers without units are equal; None if one is not such a number."""
    a, b = parse_number(text), parse_number(gold)
    if a is None or b is None or a.unit or b.unit:
        return None
    places = [len(part) for part in _PLACES.findall(text + " " + gold) if len(part) >= PLACES]
    tolerance = Fraction(1, 2 * 10 ** min(places)) if places else 0
    return same_number(a, b, NOISE if places else 0, float(tolerance), "either")
