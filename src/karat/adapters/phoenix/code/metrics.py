"""Phoenix's evaluators that compute: equality, a regular expression, and precision, recall and F of labels."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from karat.adapters.phoenix.code.evaluator import Evaluator
from karat.adapters.phoenix.code.precision_recall import PrecisionRecallFScore
from karat.adapters.phoenix.schema.schema import Schema
from karat.adapters.phoenix.score import Column, Read, Score
from karat.core.columns.arrow import is_text

__all__ = ["MatchesRegex", "PrecisionRecallFScore", "exact_match", "matches_regex"]


class ExactMatch(Evaluator):
    """Whether two texts are equal, character by character: score 1 or 0, no label."""

    def __init__(self) -> None:
        schema = Schema({"output": str, "expected": str}, descriptions={"expected": "What the output must be."})
        super().__init__(name="exact_match", kind="code", input_schema=schema)

    def __call__(self, output: str, expected: str) -> Score:
        """The score of a pair of texts."""
        return Score(name=self.name, score=float(output == expected), kind="code")

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return [self(**eval_input)]

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._evaluate(eval_input)

    def score_columns(self, read: Read) -> list[Column] | None:
        """All rows at once, if both columns hold text."""
        output, expected = read("output"), read("expected")
        if not (is_text(output.type) and is_text(expected.type)):
            return None
        equal = pc.equal(output.cast(pa.large_string()), expected.cast(pa.large_string()))
        reason = _missing(output=output, expected=expected) if equal.null_count else None
        return [Column(name=self.name, score=equal.cast(pa.float64()), reason=reason)]


class MatchesRegex(Evaluator):
    """Whether a regular expression matches anywhere in a text, and how often.

    Raises `re.error` for a pattern that is not a regular expression.

    >>> has_year = MatchesRegex(r"[0-9]{4}", name="has_year")
    >>> has_year.evaluate({"output": "from 1990 to 1994"})
    [Score(name='has_year', score=1.0, explanation='There are 2 matches for the regex: [0-9]{4}', kind='code', ...)]
    """

    def __init__(
        self, pattern: str | re.Pattern[str], name: str | None = None, include_explanation: bool = True
    ) -> None:
        """`pattern`: in the syntax of `re`. `include_explanation`: explain a score by the number of matches."""
        schema = Schema({"output": str}, descriptions={"output": "The text to be searched."})
        super().__init__(name=name or "matches_regex", kind="code", input_schema=schema)
        self.pattern = re.compile(pattern)
        self.include_explanation = include_explanation

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        count = self._count(eval_input["output"])
        return [Score(name=self.name, score=float(count > 0), explanation=self._explain(count), kind="code")]

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._evaluate(eval_input)

    def score_columns(self, read: Read) -> list[Column] | None:
        """All rows at once, if the column holds text."""
        output = read("output")
        if not is_text(output.type):
            return None
        counts = pa.array([None if text is None else self._count(text) for text in output.to_pylist()], pa.int64())
        encoded = counts.dictionary_encode()
        explanations = pa.array([self._explain(count) for count in encoded.dictionary.to_pylist()], pa.string())
        return [
            Column(
                name=self.name,
                score=pc.greater(counts, 0).cast(pa.float64()),
                explanation=explanations.take(encoded.indices) if self.include_explanation else None,
                reason=_missing(output=output) if output.null_count else None,
            )
        ]

    def _count(self, text: str) -> int:
        return sum(1 for _ in self.pattern.finditer(text))

    def _explain(self, count: int) -> str | None:
        if not self.include_explanation:
            return None
        if count:
            return f"There are {count} matches for the regex: {self.pattern.pattern}"
        return f"No substrings matched the regex pattern {self.pattern.pattern}"


def _missing(**columns: pa.Array) -> pa.Array:
    """For each row the error that `Schema` raises for its first null, null if there is none."""
    errors: pa.Array = pa.nulls(len(next(iter(columns.values()))), pa.string())
    for name, column in reversed(columns.items()):
        errors = pc.if_else(column.is_null(), f"Input validation failed: {name}: str is expected, got None", errors)
    return errors


exact_match = ExactMatch()
matches_regex = MatchesRegex
