"""Phoenix's own evaluators that compute, by columns: `exact_match` and `MatchesRegex`, also bound or renamed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from phoenix.evals import Evaluator
from phoenix.evals.metrics import MatchesRegex, exact_match

from karat.adapters.phoenix.column import Column, Read
from karat.core.columns.arrow import is_text

_NOT_AS_IN_RE2 = re.compile(r"\$|\{,|\[:|\\[1-9]|[^ -~]")  # patterns that may match other texts there
_PLAIN = b"\t\n\f\r"  # with ASCII from space to tilde: RE2 knows no other white space, letters or digits


def score_known(evaluator: Evaluator, read: Read) -> list[Column] | None:
    """The scores of all rows, if the evaluator is one of these and its fields are columns of text."""
    if isinstance(evaluator, type(exact_match)):  # a class of its own
        texts = _read_texts(read, "output", "expected")
        return None if texts is None else [_equal(evaluator, **texts)]
    if type(evaluator)._evaluate is MatchesRegex._evaluate:  # noqa: SLF001
        texts = _read_texts(read, "output")
        return None if texts is None else [_search(evaluator, **texts)]
    return None


def _read_texts(read: Read, *fields: str) -> dict[str, pa.Array] | None:
    columns = {field: read(field) for field in fields}
    if not all(is_text(column.type) for column in columns.values()):
        return None
    return {field: column.cast(pa.large_string()) for field, column in columns.items()}


def _equal(evaluator: Evaluator, output: pa.Array, expected: pa.Array) -> Column:
    score = pc.equal(output, expected).cast(pa.float64())
    return _column(evaluator, score, None, {"output": output, "expected": expected})


def _search(evaluator: Any, output: pa.Array) -> Column:
    """The counts of matches, and what Phoenix says of a text with as many."""
    counts, first, number = np.unique(_counts(evaluator.pattern, output), return_index=True, return_inverse=True)
    examples = output.take(pa.array(first)).to_pylist()
    explanations = [text if text is None else evaluator._evaluate({"output": text})[0].explanation for text in examples]  # noqa: SLF001
    score = pc.greater(pa.array(counts[number]), 0).cast(pa.float64())
    return _column(evaluator, score, pa.array(explanations, pa.string()).take(pa.array(number)), {"output": output})


def _counts(pattern: re.Pattern[str], texts: pa.Array) -> NDArray[np.int64]:
    """How many matches each text has, -1 for a null; where it can, Arrow's RE2 finds the texts with none or one."""
    valid = texts.is_valid()
    counts, rows = np.where(valid.to_numpy(zero_copy_only=False), 0, -1), pc.indices_nonzero(valid)
    if pattern.flags == re.UNICODE and not _NOT_AS_IN_RE2.search(pattern.pattern) and _are_plain(texts):
        with suppress(pa.ArrowInvalid):  # it lacks references and looking around
            rows = pc.indices_nonzero(pc.match_substring_regex(texts, pattern.pattern))
            twice = f"(?:{pattern.pattern})(?s:.*)(?:{pattern.pattern})"
            several = pc.match_substring_regex(texts.take(rows), twice)
            counts[rows.to_numpy()] = 1
            rows = rows.filter(several)
    counts[rows.to_numpy()] = [len(pattern.findall(text)) for text in texts.take(rows).to_pylist()]
    return counts


def _are_plain(texts: pa.Array) -> bool:
    characters = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    control = characters[characters < ord(" ")]
    return bool(characters.max(initial=0) <= ord("~") and np.isin(control, list(_PLAIN)).all())


def _column(evaluator: Evaluator, score: pa.Array, explanation: Any, texts: Mapping[str, pa.Array]) -> Column:
    about: dict[str, Any] = {"kind": evaluator.kind, "direction": evaluator.direction}
    return Column(name=evaluator.name, score=score, explanation=explanation, reason=_reasons(evaluator, texts), **about)


def _reasons(evaluator: Evaluator, texts: Mapping[str, pa.Array]) -> list[str | None] | None:
    """For each row with a null the error that Phoenix raises for it; None if all values are there."""
    if not any(column.null_count for column in texts.values()):
        return None
    present = list(zip(*(column.is_valid().to_pylist() for column in texts.values()), strict=True))
    errors: dict[tuple[bool, ...], str | None] = {}
    for each in set(present):
        record = {field: "" if valid else None for field, valid in zip(texts, each, strict=True)}
        try:
            evaluator.evaluate(record, {field: field for field in texts})
            errors[each] = None
        except ValueError as error:
            errors[each] = str(error)
    return [errors[each] for each in present]
