"""Whether a prediction is the expected mathematical answer."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from karat.core.columns.kinds import Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.rows import Rows
from karat.core.parallel import map_ordered
from karat.metrics.answers.algebra.exact import Undecided
from karat.metrics.answers.algebra.verdict import Verdict
from karat.metrics.answers.algebra.worker import POOL
from karat.metrics.answers.number import same_number
from karat.text.formula import Answer, Notation, find_answer, normalise_formula, spelling
from karat.text.latex import FUNCTIONS, LENGTH, Node, NotAFormula, Refused, parse_formula
from karat.text.normalise import normalizer
from karat.text.numbers import parse_number

_WORD = re.compile(r"(?<![\\A-Za-z])[^\W\d_]{2,}")
_NAMES = {
    *FUNCTIONS,
    *["sqrt", "cbrt", "pi", "infinity", "oo", "inf", "matrix", "pmatrix", "bmatrix", "vmatrix", "array", "cc"],
}
_SHORT = 48
_plain = normalizer("unicode")


def _positive(value: float) -> None:
    if not 0 < value < float("inf"):
        raise SpecError("a number above 0 is expected")


@metric(
    source="Math-Verify 0.9, github.com/huggingface/Math-Verify @5d148cf; strict: MATH, arXiv:2103.03874",
    aliases=("math",),
)
def math_match(
    prediction: Text,
    reference: Text,
    *,
    strict: bool = False,
    notation: Notation = "any",
    places: int = 6,
    ranges: bool = False,
    seconds: Annotated[float, _positive] = 2.0,
) -> Score:
    r"""1 where prediction and reference are the same mathematics, else 0: numbers, formulas, sets, matrices, relations.

    Text is compared first, then normalised text, then numbers, then formulas; only what is still open goes to sympy
    (the extra `math`), in another process. Each side's final answer is looked for (`\boxed{}`, "final answer", the last
    formula or number); with `strict=True` the whole texts are compared as MATH does: spelling may differ, order and
    form may not. `notation` says where answers are looked for, `places` how many decimals of a decimal number count;
    `ranges=True` lets an inequality stand for an interval. What is no mathematics is compared as words. A formula
    beyond the limits, or one that takes longer than `seconds`, leaves the row unscored.

    >>> given = [r"So \boxed{\frac12}", "x^2-1", "Paris", "(1, 2]"]
    >>> math_match(given, ["0.5", "$(x-1)(x+1)$", "Paris", "[1, 2]"]).to_pylist()
    [1.0, 1.0, 1.0, 0.0]
    """
    verdict = Verdict(_open, places=places, ranges=ranges)
    settled: list[bool | str | tuple[str, str]] = [
        _strictly(given, wanted) if strict else _match(given, wanted, verdict, notation)
        for given, wanted in zip(prediction.to_pylist(), reference.to_pylist(), strict=True)
    ]
    rest = {row: found for row, found in enumerate(settled) if isinstance(found, tuple)}

    def ask(formulas: tuple[str, str]) -> bool | str:
        request: dict[str, Any] = {
            "prediction": formulas[0],
            "reference": formulas[1],
            "places": places,
            "ranges": ranges,
        }
        return POOL.ask(request, seconds)

    for row, answer in zip(rest, map_ordered(ask, list(rest.values())), strict=True):
        settled[row] = answer
    reasons = np.array([found if isinstance(found, str) else None for found in settled], dtype=object)
    scores = np.array([np.nan if isinstance(found, str) else float(found is True) for found in settled])
    return Rows(scores[:, None], reasons)


def _open(_a: Node, _b: Node) -> bool:
    raise Undecided


def _match(given: str, wanted: str, verdict: Verdict, notation: Notation) -> bool | str | tuple[str, str]:
    """The verdict, the reason why there is none, or the two formulas that only algebra settles."""
    if given.strip() == wanted.strip():
        return True
    if notation != "latex" and (settled := _as_numbers(given, wanted, verdict.places)) is not None:
        return settled
    predicted, expected = _answer(given, notation), _answer(wanted, notation)
    if predicted is None or expected is None:
        return predicted is expected is None and _plain(given) == _plain(wanted)
    a, b = predicted.formula, expected.formula
    if max(len(a), len(b)) > LENGTH:
        return a == b or f"a formula of more than {LENGTH} characters"
    if a == b:
        return True
    if not (predicted.marked or expected.marked) and (settled := _as_numbers(a, b, verdict.places)) is not None:
        return settled
    if spelling(a) == spelling(b):
        return True
    try:
        x, y = _tree(predicted), _tree(expected)
        return verdict.answers(x, y)
    except NotAFormula:
        return _plain(a) == _plain(b)
    except Undecided:
        return a, b
    except (Refused, RecursionError) as error:
        return str(error) or "a formula nested too deep"


def _as_numbers(a: str, b: str, places: int) -> bool | None:
    """Whether two plain numbers are equal; None where one is none, or has a unit that algebra may read as a factor."""
    if len(a) >= _SHORT or len(b) >= _SHORT or a.count("$") > 1 or b.count("$") > 1:  # $1,2$ is a list
        return None
    x = parse_number(a)
    y = parse_number(b) if x and not x.unit else None
    if x is None or y is None or y.unit:
        return None
    return same_number(x, y, 0, 0.5 * 10**-places if "." in a + b or "," in a + b else 0, "either")


def _answer(text: str, notation: Notation) -> Answer | None:
    """The whole text where it is a formula, else the one it finally gives."""
    prose = len(text) > 10 * _SHORT or (
        len(text) > _SHORT and "\\" not in text and len(_WORD.findall(text, 0, 4 * _SHORT)) > 8
    )
    if notation == "any" and not prose and "$" not in text and "\\(" not in text and "\\[" not in text:
        bare = normalise_formula(text)
        words = "\\words" in bare or any(word not in _NAMES for word in _WORD.findall(bare))
        if not words and ("\\" in bare or _parses(bare)):
            return Answer(text, marked=False)
    return find_answer(text, notation)


@lru_cache(maxsize=4096)
def _parses(text: str) -> bool:
    try:
        parse_formula(text)
    except Refused:
        return True
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def _tree(answer: Answer) -> Node:
    number = parse_number(answer.formula, decimal_comma=not answer.marked)
    if number and not number.unit and isinstance(number.value, Fraction):
        decimal = "." in answer.formula or "," in answer.formula
        node = Node("num", (number.value, decimal and number.value.denominator != 1))
        return Node("percent", (node,)) if number.percent else node
    return parse_formula(answer.formula)


def _strictly(given: str, wanted: str) -> bool | str:
    """Equal as MATH has it: the same after respelling, a/b as a fraction, percent signs and units passed over."""
    return given.strip() == wanted.strip() or _respelt(given) == _respelt(wanted)


def _respelt(text: str) -> str:
    if len(text) > LENGTH:
        return text
    text = spelling(text.replace("\\\\", "\\")).rstrip("%")
    text = re.sub(r"(?<![\d.])\.(?=\d)", "0.", text)
    text = re.sub(r"\\frac(\d|\{[^{}]*\})(\d|\{[^{}]*\})", _fraction, text)
    text = re.sub(r"\\sqrt(\d)", r"\\sqrt{\1}", text)
    text = re.sub(r"^[a-z]=", "", text)
    return re.sub(r"^(-?\d+)/(\d+)$", r"\\frac{\1}{\2}", text)


def _fraction(found: re.Match[str]) -> str:
    return rf"\frac{{{found[1].strip('{}')}}}{{{found[2].strip('{}')}}}"
