"""When judges stop asking: at a width of the interval, or at a cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from karat.cli.options.governor import ModelOptions
from karat.cli.options.numbers import Real
from karat.cli.options.scoring import Command, option_group
from karat.cli.options.sections import options_under

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.runs.scoring.result import Result
    from karat.stats.sequential.until import Until

_option = options_under("Models and judges")
_ABOVE_0 = Real(0, min_open=True)
_OPTIONS: Sequence[Callable[[Command], Command]] = [
    _option(
        "--until-width", type=_ABOVE_0, metavar="WIDTH",
        help="Ask a judge rows in a random order, until its interval is at most this wide from end to end.",
    ),
    _option("--until-cost", type=_ABOVE_0, metavar="USD", help="The same, until this is spent; or what comes first."),
]  # fmt: skip


@dataclass(frozen=True)
class UntilOptions:
    """The rule by which judges stop asking, if there is one."""

    until_width: float | None
    until_cost: float | None

    @property
    def decision(self) -> str | None:
        """The decision about two systems that ends it: "decided", or "no-worse"."""
        return None

    def read(self, asking: ModelOptions) -> Until | None:
        """The rule; raises `click.UsageError` where the flags of models contradict it."""
        flags = {"--until": self.decision, "--until-width": self.until_width, "--until-cost": self.until_cost}
        if (flag := next((name for name, value in flags.items() if value), None)) is None:
            return None
        if asking.write_requests is not None or asking.replies:
            other = "--replies" if asking.replies else "--write-requests"
            raise click.UsageError(f"{flag} decides after each reply whether to ask on: leave {other} away")
        if asking.resume and asking.no_cache:
            raise click.UsageError(
                f"{flag} --resume takes earlier answers from the cache of replies: leave --no-cache away"
            )
        from karat.stats.sequential.until import Until  # noqa: PLC0415  (heavy)

        return Until(self.until_width, self.until_cost, self.decision == "decided", self.decision == "no-worse")


def until_options(command: Command) -> Command:
    """Give a command the flags of the rule; it gets them as `rule`."""
    return option_group("rule", UntilOptions, _OPTIONS)(command)


def describe_rows(until: Until, results: Mapping[str, Result], metrics: Sequence[Metric]) -> str:
    """What a dry run says: how many rows are asked at most, and about how many until the width."""
    from karat.stats.inference import Inference  # noqa: PLC0415  (heavy)
    from karat.stats.sequential.planning import expect_rows  # noqa: PLC0415

    rows = max(result.n for result in results.values())
    most = f"these are the calls for all {rows:,} rows, the most that can be asked"
    if until.width is None:
        return f"{most}; --until-cost {until.cost:g} ends it before, where it is less"
    judges = [each for each in metrics if each.definition.judge]
    inference = Inference(next(iter(results.values())).confidence)
    expected = max(expect_rows(until.width, rows, (e.definition.low, e.definition.high), inference) for e in judges)
    spread = "where half of the scores are the lowest and half the highest, fewer where they agree more"
    return f"{most}; --until-width {until.width:g} takes about {expected:,} rows {spread}"
