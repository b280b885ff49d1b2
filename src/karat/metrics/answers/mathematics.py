"""The metric of mathematics: whether a prediction is the same number, formula, set or matrix as the reference."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from karat.core.columns.kinds import Score, Text
from karat.core.metric.decorator import metric
from karat.core.parallel import map_ordered
from karat.metrics.answers.algebra.canonical import Undecided
from karat.metrics.answers.algebra.equivalence import Equivalence
from karat.metrics.answers.algebra.worker import POOL
from karat.metrics.answers.number import same_number
from karat.metrics.row_statistics import collect_rows
from karat.metrics.setting_types import Positive
from karat.text.formula import Answer, Notation, find_answer, normalise_formula, spelling
from karat.text.latex import FUNCTIONS, LENGTH, Node, NotAFormula, Refused, parse_formula
from karat.text.normalise import normalizer
from karat.text.numbers import parse_number

_WORD = re.compile(r"(?<![\\A-Za-z])[^\W\d_]{2,}")
_OTHERS = ["sqrt", "cbrt", "pi", "infinity", "oo", "inf", "matrix", "pmatrix", "bmatrix", "vmatrix", "array", "cc"]
_NAMES = {*FUNCTIONS, *_OTHERS}
_SHORT = 48
Verdict: TypeAlias = bool | str | tuple[str, str]
_plain = normalizer("unicode")


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
    seconds: Positive = 2.0,
) -> Score:
    r"""1 where prediction and reference are mathematically equal, else 0: numbers, formulas, sets, matrices, relations.

    The final answer of each side is compared (`\boxed{}`, after "final answer", or the last formula or number): first
    as text, then as a number, then as a formula; only what is still undecided goes to sympy (the extra `math`), in
    another process. With `strict=True` the whole texts are compared as MATH does: spelling may differ, order and form
    may not. `notation` says whether answers are LaTeX, plain numbers or `any`, `places` how many decimals of a decimal
    number count; with `ranges=True` an inequality may equal an interval. Text that is not mathematics is compared as
    words. A row is unscored if a formula exceeds the limits or takes longer than `seconds`.

    >>> predictions = [r"So \boxed{\frac12}", "x^2-1", "Paris", "(1, 2]"]
    >>> math_match(predictions, ["0.5", "$(x-1)(x+1)$", "Paris", "[1, 2]"]).to_pylist()
    [1.0, 1.0, 1.0, 0.0]
    """
    equivalence = Equivalence(_leave_open, places=places, ranges=ranges)
    verdicts: list[Verdict] = [
        _match_strictly(*pair) if strict else _match(*pair, equivalence, notation)
        for pair in zip(prediction.to_pylist(), reference.to_pylist(), strict=True)
    ]
    undecided = {row: verdict for row, verdict in enumerate(verdicts) if isinstance(verdict, tuple)}

    def ask_sympy(formulas: tuple[str, str]) -> bool | str:
        request = {"prediction": formulas[0], "reference": formulas[1], "places": places, "ranges": ranges}
        return POOL.ask(request, seconds)

    for row, answer in zip(undecided, map_ordered(ask_sympy, list(undecided.values())), strict=True):
        verdicts[row] = answer
    return collect_rows(verdict if isinstance(verdict, str) else verdict is True for verdict in verdicts)


def _leave_open(_a: Node, _b: Node) -> bool:
    raise Undecided


def _match(prediction: str, reference: str, equivalence: Equivalence, notation: Notation) -> Verdict:
    """Whether they match, the reason why that is unknown, or the two formulas that only sympy can compare."""
    if prediction.strip() == reference.strip():
        return True
    if notation != "latex" and (equal := _compare_numbers(prediction, reference, equivalence.places)) is not None:
        return equal
    predicted, expected = _answer(prediction, notation), _answer(reference, notation)
    if predicted is None or expected is None:
        return predicted is expected is None and _plain(prediction) == _plain(reference)
    a, b = predicted.formula, expected.formula
    if max(len(a), len(b)) > LENGTH:
        return a == b or f"a formula has more than {LENGTH} characters"
    if a == b:
        return True
    if not (predicted.marked or expected.marked) and (equal := _compare_numbers(a, b, equivalence.places)) is not None:
        return equal
    if spelling(a) == spelling(b):
        return True
    try:
        return equivalence.same_answer(_tree(predicted), _tree(expected))
    except NotAFormula:
        return _plain(a) == _plain(b)
    except Undecided:
        return a, b
    except (Refused, RecursionError) as error:
        return str(error) or "a formula is nested too deeply"


def _compare_numbers(a: str, b: str, places: int) -> bool | None:
    """Whether two plain numbers are equal; None if one is not a number, or has a unit that may also be a factor."""
    if len(a) >= _SHORT or len(b) >= _SHORT or a.count("$") > 1 or b.count("$") > 1:  # $1,2$ is a list
        return None
    x = parse_number(a)
    y = parse_number(b) if x and not x.unit else None
    if x is None or y is None or y.unit:
        return None
    return same_number(x, y, 0, 0.5 * 10**-places if "." in a + b or "," in a + b else 0, "either")


def _answer(text: str, notation: Notation) -> Answer | None:
    """The whole text if it is a formula, else the final answer in it."""
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


def _match_strictly(prediction: str, reference: str) -> bool | str:
    """Whether both are spelled the same by MATH's rules: a/b is a fraction, percent signs and units are ignored."""
    return prediction.strip() == reference.strip() or _respell(prediction) == _respell(reference)


def _respell(text: str) -> str:
    if len(text) > LENGTH:
        return text
    text = spelling(text.replace("\\\\", "\\")).rstrip("%")
    text = re.sub(r"(?<![\d.])\.(?=\d)", "0.", text)
    text = re.sub(r"\\frac(\d|\{[^{}]*\})(\d|\{[^{}]*\})", _fraction, text)
    text = re.sub(r"\\sqrt(\d)", r"\\sqrt{\1}", text)
    text = re.sub(r"^[a-z]=", "", text)
    return re.sub(r"^(-?\d+)/(\d+)$", r"\\frac{\1}{\2}", text)


def _fraction(match: re.Match[str]) -> str:
    return rf"\frac{{{match[1].strip('{}')}}}{{{match[2].strip('{}')}}}"
