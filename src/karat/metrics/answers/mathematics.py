"""The metric of mathematics: whether a prediction is the same number, formula, set or matrix as the reference."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Literal, TypeAlias

from karat.core.columns.kinds import Score, Text
from karat.core.metric.decorator import metric
from karat.core.metric.rows import collect_rows
from karat.core.metric.setting import NotNegative, Positive, Range
from karat.core.parallel import map_ordered
from karat.metrics.answers.algebra.canonical import Undecided
from karat.metrics.answers.algebra.equivalence import Equivalence
from karat.metrics.answers.algebra.rounding import Rounding, Written
from karat.metrics.answers.algebra.worker import POOL
from karat.text.answers.final_answer import FinalAnswer, Notation, find_answer, find_letter, find_words
from karat.text.formula import normalise_formula, spelling
from karat.text.latex import FUNCTIONS, LENGTH, Node, NotAFormula, TooComplex, parse_formula
from karat.text.normalise import normalizer
from karat.text.numbers import ParsedNumber, parse_number
from karat.text.times import parse_time

_WORD = re.compile(r"(?<![\\A-Za-z])[^\W\d_]{2,}")
_LONG_WORD = re.compile(r"[^\W\d_]{3,}")
_OTHERS = ["sqrt", "cbrt", "pi", "infinity", "oo", "inf", "matrix", "pmatrix", "bmatrix", "vmatrix", "array", "cc"]
_NAMES = {*FUNCTIONS, *_OTHERS, "cases", "aligned", "or", "and", "mod", "words"}
_LETTER = re.compile(
    r"[\W_]*(?:\\(?:text\w*|math(?:rm|bf|it|sf)|boxed)\s*\{[\W_]*)*[A-Z](?=\s*(?:[)\].:,;}*$]|and\b|$))"
)
_LOGARITHM = re.compile(r"(?<![A-Za-z])\\?log(?![_A-Za-z])")
_TIME = re.compile(r"\d[\s$\\{}~]*(?:text|mathrm)?[\s{~]*(?::\s*\d|[hmsdapHAP])")
_SPELLED_POWER = re.compile(r"-?\d+e[-+]\d")
_SHORT = 48
MathVerdict: TypeAlias = bool | str | tuple[str, str]
Strict: TypeAlias = bool | Literal["answer"]
_plain = normalizer("unicode")


@metric(
    source="Math-Verify 0.9, github.com/huggingface/Math-Verify @5d148cf; strict: MATH, arXiv:2103.03874",
    aliases=("math",),
    version=2,
)
def math_match(
    prediction: Text,
    reference: Text,
    *,
    strict: Strict = False,
    notation: Notation = "any",
    places: Annotated[int, Range(0, 100)] = 6,
    relative: NotNegative = 0.0,
    ranges: bool = False,
    seconds: Positive = 2.0,
) -> Score:
    r"""1 where prediction and reference are mathematically equal, else 0: numbers, formulas, sets, matrices, relations.

    The final answer of each side is compared (`\boxed{}`, after "the answer is" in many languages, or the last formula
    or number): first as text, then as a number, then as a formula; only what is still undecided goes to sympy (the
    extra `math`), in another process. With `strict="answer"` a last number in prose does not count; with `strict=True`
    the whole texts are compared as MATH does: spelling may differ, order and form may not. `notation` says whether
    answers are LaTeX, plain numbers or `any`. A decimal with at least `places` decimals is a rounded number: 0.333333
    equals 1/3, and 0.333 does not; 7 needs no rounding and is not 7.0000001. `relative` is a tolerance beside that, as
    a part of the reference. With `ranges=True` an inequality may equal an interval. A reference that is an option's
    letter, or words, is compared with the letter or the words that the prediction gives as its answer. A row is
    unscored if a formula exceeds the limits or takes longer than `seconds`.

    >>> predictions = [r"So \boxed{\frac12}", "x^2-1", "The answer is Paris.", "(1, 2]", "$x_1 = 2, x_2 = 3$"]
    >>> math_match(predictions, ["0.5", "$(x-1)(x+1)$", "Paris", "[1, 2]", "$2, 3$"]).to_pylist()
    [1.0, 1.0, 1.0, 0.0, 1.0]
    """
    rounding = Rounding(places, relative)
    comparison = _FormulaComparison(
        Equivalence(_leave_open, rounding, ranges=ranges), notation, stated=strict == "answer"
    )
    verdicts: list[MathVerdict] = [
        _match_strictly(*pair) if strict is True else comparison.match(*pair)
        for pair in zip(prediction.to_pylist(), reference.to_pylist(), strict=True)
    ]
    undecided = {row: verdict for row, verdict in enumerate(verdicts) if isinstance(verdict, tuple)}
    settings = {"places": places, "relative": relative, "ranges": ranges}

    def ask_sympy(formulas: tuple[str, str]) -> bool | str:
        return POOL.ask({"prediction": formulas[0], "reference": formulas[1], **settings}, seconds)

    for row, answer in zip(undecided, map_ordered(ask_sympy, list(undecided.values())), strict=True):
        verdicts[row] = answer
    return collect_rows(verdict if isinstance(verdict, str) else verdict is True for verdict in verdicts)


def _leave_open(_a: Node, _b: Node) -> bool:
    raise Undecided


class _FormulaComparison:
    """The settings of a comparison of two texts."""

    def __init__(self, equivalence: Equivalence, notation: Notation, *, stated: bool) -> None:
        self.equivalence, self.notation, self.stated = equivalence, notation, stated

    def match(self, prediction: str, reference: str) -> MathVerdict:
        """Whether they match, the reason why that is unknown, or the two formulas that only sympy can compare."""
        if prediction.strip() == reference.strip():
            return True
        if self.notation != "latex" and (equal := self._compare_numbers(prediction, reference)) is not None:
            return equal
        if len(reference) < 2 * _SHORT and _LETTER.match(reference) and (letter := find_letter(reference)):
            chosen = find_letter(prediction)
            if chosen and (chosen[0] == letter[0] or letter[1]):
                return chosen[0] == letter[0]
            if letter[1] and (verdict := self.match(prediction, letter[1])):
                return verdict
        if len(reference) < 2 * _SHORT and _TIME.search(reference):
            answer, wanted = (
                next(filter(None, map(parse_time, find_words(text))), None) for text in (prediction, reference)
            )
            if answer and wanted:
                return answer.equals(wanted)
        expected = _answer(reference, self.notation)
        if expected is None:
            return _match_words(prediction, reference)
        predicted = _answer(prediction, self.notation, stated=self.stated)
        if predicted is None:
            return _match_words(prediction, expected.formula)
        return self._match_formulas(predicted, expected) or (
            "\\words" in normalise_formula(expected.formula[:LENGTH]) and _match_words(prediction, reference)
        )

    def _match_formulas(self, predicted: FinalAnswer, expected: FinalAnswer) -> MathVerdict:
        a, b = predicted.formula, expected.formula
        if max(len(a), len(b)) > LENGTH:
            return a == b or f"a formula has more than {LENGTH} characters"
        if a == b:
            return True
        if not (predicted.marked or expected.marked) and (equal := self._compare_numbers(a, b)) is not None:
            return equal
        if spelling(a) == spelling(b):
            return True
        try:
            if self.equivalence.same_answer(_tree(predicted), _tree(expected)):
                return True
            other = [_LOGARITHM.sub(r"\\lg", formula) for formula in (a, b)]
            if other == [a, b]:
                return False
            return self.equivalence.same_answer(*map(parse_formula, other))  # with logarithms to the base 10
        except NotAFormula:
            return _plain(a) == _plain(b)
        except Undecided:
            return a, b
        except (TooComplex, RecursionError) as error:
            return str(error) or "a formula is nested too deeply"

    def _compare_numbers(self, a: str, b: str) -> bool | None:
        """Whether two plain numbers are equal; None if one is not, or has a unit that may also be a factor."""
        if len(a) >= _SHORT or len(b) >= _SHORT or a.count("$") > 1 or b.count("$") > 1:  # $1,2$ is a list
            return None
        x = parse_number(a)
        y = parse_number(b) if x and not x.unit else None
        if x is None or y is None or y.unit:
            return None
        same = self.equivalence.rounding.equal
        if x.percent != y.percent and same(_written(x), _written(y)):
            return True
        return same(_share(x), _share(y))


def _written(number: ParsedNumber) -> Written:
    return Written(number.value, number.places)


def _share(number: ParsedNumber) -> Written:
    if not number.percent:
        return _written(number)
    value = number.value / 100 if isinstance(number.value, Fraction) else number.value.scaleb(-2)
    return Written(value, None if number.places is None else number.places + 2)


def _match_words(prediction: str, reference: str) -> bool:
    r"""Whether the words that the prediction gives as its answer are the reference's, without `\text{}` and `$`."""
    words = _words(reference)
    return bool(words) and any(_words(text) == words for text in find_words(prediction))


def _words(text: str) -> str:
    return _plain(re.sub(r"\\(?:text|mbox|math)\w*\s*|\\boxed\s*|\\[ ,;!]|[{}$~*]", " ", text[: 4 * LENGTH]))


def _answer(text: str, notation: Notation, *, stated: bool = False) -> FinalAnswer | None:
    """The whole text if it is a formula, else the final answer in it."""
    prose = len(text) > 10 * _SHORT or (
        len(text) > _SHORT and "\\" not in text and len(_LONG_WORD.findall(text, 0, 4 * _SHORT)) > 6
    )
    bare = text.lstrip(" *").rstrip(" *.")
    if (
        notation == "any"
        and not prose
        and "\\boxed" not in bare
        and bare.count("$") < 2
        and "\\(" not in bare
        and "\\[" not in bare
    ):
        formula = normalise_formula(bare)
        words = "\\words" in formula or any(word not in _NAMES for word in _WORD.findall(formula))
        if not words and ("\\" in formula or _parses(formula)):
            return FinalAnswer(bare, marked=False)
    return find_answer(text, notation, stated=stated)


@lru_cache(maxsize=4096)
def _parses(text: str) -> bool:
    try:
        parse_formula(text)
    except TooComplex:
        return True
    except ValueError:
        return False
    return True


@lru_cache(maxsize=4096)
def _tree(answer: FinalAnswer) -> Node:
    number = parse_number(answer.formula, decimal_comma=not answer.marked)
    product = answer.marked and _SPELLED_POWER.fullmatch(answer.formula)  # 2e-1 is 2e - 1
    if number and not number.unit and isinstance(number.value, Fraction) and not product:
        node = Node("num", (number.value, number.places))
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
