"""The metric of numbers: whether a prediction is the same number as the reference."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Literal

from karat.core.columns.kinds import Score, Text
from karat.core.metric.decorator import metric
from karat.core.metric.rows import collect_rows
from karat.core.metric.setting import NotNegative
from karat.text.numbers import ParsedNumber, close, parse_number

Percent = Literal["either", "value", "ignore"]


@metric(source="our definition; exact rational arithmetic", aliases=("number",), lowered_by=("longer",))
def numeric_match(
    prediction: Text,
    reference: Text,
    *,
    relative: NotNegative = 0.0,
    absolute: NotNegative = 0.0,
    percent: Percent = "either",
) -> Score:
    """1 where prediction and reference are the same number, in whatever notation, else 0.

    Thousands separators, decimal commas, signs, currencies, fractions, powers of ten and words such as million are
    read; a unit after a number is ignored. `relative` and `absolute` are tolerances: |p - r| ≤ max(relative·|r|,
    absolute). 50 % equals both 50 and 0.5 (`percent="value"`: only 0.5; `"ignore"`: only 50). A prediction that is not
    one number, such as a sentence with a number, scores 0; a row whose reference is not a number is unscored.

    >>> numeric_match(["$1,234.50", "12 km", "1 1/2", "1.2×10^3"], ["1234.5", "12", "1.5", "1200"]).to_pylist()
    [1.0, 1.0, 1.0, 1.0]
    >>> numeric_match(["3.14"], ["3.14159"], relative=0.001).to_pylist()
    [1.0]
    """

    def compare(prediction: str, reference: str) -> float | str:
        expected = parse_number(reference)
        if expected is None:
            return f"reference is not a number: {reference!r:.60}"
        number = parse_number(prediction)
        return number is not None and same_number(number, expected, relative, absolute, percent)

    return collect_rows(map(compare, prediction.to_pylist(), reference.to_pylist()))


def same_number(a: ParsedNumber, b: ParsedNumber, relative: float, absolute: float, percent: Percent) -> bool:
    """Whether two numbers are equal within the tolerances; `percent` as in `numeric_match`."""
    if a.percent == b.percent or percent == "ignore":
        return close(a.value, b.value, relative, absolute)
    if percent == "either" and close(a.value, b.value, relative, absolute):
        return True
    return close(_share(a), _share(b), relative, absolute)


def _share(number: ParsedNumber) -> Fraction | Decimal:
    if not number.percent:
        return number.value
    return number.value / 100 if isinstance(number.value, Fraction) else number.value.scaleb(-2)
