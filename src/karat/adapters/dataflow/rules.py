"""The rules by which DataFlow's UnifiedBenchDatasetEvaluator reads gold and answers, its faults included.

They are for `rules="dataflow"`; `unified.py` says what karat does instead.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from karat.core.errors import SpecError

_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_ENDS = (".", "。", "!", "！", "?", "？")


def load_matcher(*, several: bool) -> Callable[[str, Sequence[str]], tuple[bool, str]]:
    """How DataFlow compares an answer with one gold answer or `several`: whether it is right, and what was read of it.

    Its extractor and Math-Verify are the installed ones; `SpecError` without them.
    """
    try:
        reasoning = import_module("dataflow.utils.reasoning.AnswerExtraction")
        mathematics = import_module("math_verify")
    except ImportError as error:
        need = "rules='dataflow' extracts answers with DataFlow's own extractor, and compares them by Math-Verify"
        raise SpecError(f"{need}: pip install open-dataflow ({error})") from None
    extractor = reasoning.AnswerExtractor(reasoning.StringCleaner(reasoning.UnitTextManager()))

    def verify(answer: str, gold: str) -> bool:
        try:
            return bool(mathematics.verify(mathematics.parse(gold), mathematics.parse(answer)))
        except Exception:  # noqa: BLE001  (so does DataFlow)
            return False

    def match(answer: str, golds: Sequence[str]) -> tuple[bool, str]:
        final = str(extractor.extract_answer(answer, None))
        for gold in golds:
            by_text = contains_either(answer, gold) or contains_either(final, gold)
            by_value = verify(final, gold)
            if by_text or by_value:
                return True, answer if (by_text if several else not by_value) else final
        return False, final if several else answer

    return match


def contains_either(prediction: str, gold: str) -> bool:
    """Whether either text contains the other, in any place.

    >>> contains_either("The answer is 21.", "1"), contains_either("a", "cat"), contains_either("", "cat")
    (True, True, False)
    """
    a, b = _plain(prediction), _plain(gold)
    return bool(a and b) and (a in b or b in a)


def _plain(text: str) -> str:
    text = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).translate(_SUBSCRIPTS).strip())
    return (text[:-1].strip() if text.endswith(_ENDS) else text).casefold()


def split_targets(text: str) -> list[str]:
    """The gold answers in a text: a JSON list, or what `||`, else `|`, else `;` separates.

    >>> split_targets("Paris; Lyon"), split_targets("f(x)=|x|")
    (['Paris', 'Lyon'], ['f(x)=', 'x'])
    """
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            return [str(each) for each in json.loads(text) if str(each).strip()]
        except ValueError:
            pass
    mark = next((mark for mark in ("||", "|", ";") if mark in text), None)
    return [part.strip() for part in text.split(mark) if part.strip()] if mark else [text] * bool(text)


def find_label(label: Any, count: int) -> int | None:
    """The index that a label means: a letter, or a number, counted from 0 where there is such an option, else from 1.

    >>> [find_label(label, 4) for label in ("B", 3, "4", 5, True)]
    [1, 3, 3, None, 1]
    """
    text = str(int(label) if isinstance(label, bool) else label).strip()
    if len(text) == 1 and text.isalpha():
        index = ord(text.upper()) - ord("A")
        return index if 0 <= index < count else None
    return _number(int(text), count) if text.isdecimal() else None


def _number(value: int, count: int) -> int | None:
    return value if value < count else value - 1 if value == count > 0 else None


def find_choice(text: str, count: int) -> int | None:
    """The first letter that stands alone, if it is an option's, else the first number.

    >>> find_choice("A good answer is B", 4), find_choice("I think it is B", 4), find_choice("It is 4", 4)
    (0, None, 3)
    """
    if (letter := re.search(r"\b([A-Za-z])\b", text)) and (index := find_label(letter[1], count)) is not None:
        return index
    number = re.search(r"\b(\d+)\b", text)
    return _number(int(number[1]), count) if number else None


def find_choices(text: str, count: int) -> set[int] | None:
    """All options that an answer names: the items of a JSON list, else letters that stand alone, else numbers.

    >>> find_choices('["A", 3]', 4), find_choices("A, C and x", 4), find_choices("none", 4)
    ({0, 3}, {0, 2}, None)
    """
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            return set(_known(json.loads(text), count))
        except ValueError:
            pass
    for pattern in (r"\b([A-Za-z])\b", r"\b(\d+)\b"):
        if names := re.findall(pattern, text):
            return set(_known(names, count)) or None
    return None


def find_labels(labels: Any, count: int) -> set[int] | None:
    """The options that the gold names: a list, a JSON list, or labels between commas, blanks, `;`, `/` or `|`.

    >>> find_labels("A;C", 4), find_labels([0, 9], 4), find_labels(" ", 4)
    ({0, 2}, {0}, None)
    """
    if isinstance(labels, list):
        return set(_known(labels, count))
    text = "" if labels is None else str(labels).strip()
    if not text:
        return None
    if text.startswith("[") and text.endswith("]"):
        try:
            return set(_known(json.loads(text), count))
        except ValueError:
            pass
    return set(_known(filter(None, re.split(r"[,\s;/|]+", text)), count))


def _known(labels: Iterable[Any], count: int) -> Iterable[int]:
    return (index for label in labels if (index := find_label(label, count)) is not None)
