"""When labels by people are enough: the flags that `karat label` and `karat view` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from click import UsageError

from karat.cli.options.numbers import Real
from karat.cli.options.scoring import option_group
from karat.cli.options.sections import options_under

if TYPE_CHECKING:
    from karat.stats.sequential.until import Until

_ABOVE_0 = Real(0, min_open=True)
_option = options_under("When labels are enough")
_OPTIONS = [
    _option(
        "--until-width", type=_ABOVE_0, metavar="W",
        help="Stop when the interval of your mean over all rows is this wide, end to end. It is shown as it narrows, "
        "and holds at all times. Metrics that all rows have (-m, at most 3) make it narrower.",
    ),
    _option("--until-cost", type=_ABOVE_0, metavar="USD", help="Stop when no further label can be paid from this."),
    _option("--price-label", type=_ABOVE_0, metavar="USD", help="What a row costs that a person labels or skips."),
]  # fmt: skip


@dataclass(frozen=True)
class RuleOptions:
    """At which width or cost labelling stops, and what a label costs."""

    until_width: float | None
    until_cost: float | None
    price_label: float | None

    def read(self) -> tuple[Until, float] | None:
        """The rule, and the price of a label; None where all rows are to be labelled."""
        if self.until_width is None and self.until_cost is None:
            if self.price_label is not None:
                raise UsageError("--price-label is what --until-cost is spent on: --until-cost 20")
            return None
        if self.until_cost is not None and self.price_label is None:
            raise UsageError("--until-cost needs the price of a label in USD: --price-label 0.3, say")
        from karat.stats.sequential.until import Until  # noqa: PLC0415  (heavy)

        return Until(self.until_width, self.until_cost), self.price_label or 0.0


rule_options = option_group("enough", RuleOptions, _OPTIONS)
"""Give a command the flags of the rule; it gets them as `enough`."""


def offering(metrics: Sequence[str], label_map: str | None, *, several: bool) -> str | None:
    """The one of some metrics whose labels are offered; None where a map says which.

    `several`: there may be others, which narrow an interval.
    """
    if not several:
        if len(metrics) > 1:
            raise UsageError(f"expected one judge whose labels are offered, found {', '.join(metrics)}")
        return metrics[0] if metrics else None
    if label_map is not None:
        return None
    from karat.core.metric.spec import parse  # noqa: PLC0415  (heavy)
    from karat.runs.labels.choices import judge_choices  # noqa: PLC0415

    return next((spec for spec in metrics if judge_choices([parse(spec)])), None)
