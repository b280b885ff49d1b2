"""Whether a prediction is the expected number."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np

from karat.core.columns.kinds import Score, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.rows import Rows
from karat.text.numbers import Number, close, parse_number

Percent = Literal["either", "value", "ignore"]


def _from_zero(value: float) -> None:
    if not 0 <= value < float("inf"):
        raise SpecError("a number from 0 is expected")


@metric(source="our definition; exact rational arithmetic", aliases=("number",))
def numeric_match(
    prediction: Text,
    reference: Text,
    *,
    relative: Annotated[float, _from_zero] = 0.0,
    absolute: Annotated[float, _from_zero] = 0.0,
    percent: Percent = "either",
) -> Score:
    """1 where prediction and reference are the same number, however written, else 0.

    Thousands, decimal commas, signs, currency, fractions, powers of ten and words such as million are read; a unit may
    stand behind a number and is passed over. `relative` and `absolute` are tolerances: |p - r| ≤ max(relative·|r|,
    absolute). 50 % equals both 50 and 0.5 (`percent="value"`: 0.5 alone; `"ignore"`: 50 alone). A prediction that is
    not one number, such as a sentence with one, scores 0; a reference that is none leaves the row unscored.

    >>> numeric_match(["$1,234.50", "12 km", "1 1/2", "1.2×10^3"], ["1234.5", "12", "1.5", "1200"]).to_pylist()
    [1.0, 1.0, 1.0, 1.0]
    >>> numeric_match(["3.14"], ["3.14159"], relative=0.001).to_pylist()
    [1.0]
    """
    scores = np.zeros(len(prediction))
    reasons = np.full(len(prediction), None, dtype=object)
    for row, (given, wanted) in enumerate(zip(prediction.to_pylist(), reference.to_pylist(), strict=True)):
        expected = parse_number(wanted)
        if expected is None:
            scores[row], reasons[row] = np.nan, f"reference is no number: {wanted!r:.60}"
        elif (number := parse_number(given)) is not None:
            scores[row] = same_number(number, expected, relative, absolute, percent)
    return Rows(scores[:, None], reasons)


def same_number(a: Number, b: Number, relative: float, absolute: float, percent: Percent) -> bool:
    """Whether two numbers are equal within the tolerances, percentages read as told."""
    if a.percent == b.percent or percent == "ignore":
        return close(a.value, b.value, relative, absolute)
    if percent == "either" and close(a.value, b.value, relative, absolute):
        return True
    return close(_share(a), _share(b), relative, absolute)


def _share(number: Number) -> Fraction | Decimal:
    if not number.percent:
        return number.value
    return number.value / 100 if isinstance(number.value, Fraction) else number.value.scaleb(-2)
