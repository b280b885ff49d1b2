"""The numbers that flags take: each lies in a range, which its error names."""

from __future__ import annotations

import math
from typing import Any

import click

MOST = 2**63 - 1


class Whole(click.IntRange):
    """A whole number of at most 64 bits."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The number; `click.BadParameter` for text that is none, and for a number out of range."""
        number = super().convert(value, parameter, context)
        if number > MOST:
            self.fail(f"{value!s:.40} is too large: the range ends at {MOST}.", parameter, context)
        return number


class Real(click.FloatRange):
    """A finite number."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The number; `click.BadParameter` for text that is none, for what is not finite, and out of range."""
        if self.max is not None and self.max <= 1 and (percent := _percent(value)) is not None:
            self.fail(
                f"{value} is not a share; expected a number up to {self.max:g}, {percent:g} for {value} %.",
                parameter,
                context,
            )
        number = super().convert(value, parameter, context)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", parameter, context)
        return number


def _percent(value: Any) -> float | None:
    """What a number above 1 is as a share, if it is one in per cent."""
    try:
        number = float(str(value).removesuffix("%"))
    except ValueError:
        return None
    return number / 100 if 1 < number < 100 else None
