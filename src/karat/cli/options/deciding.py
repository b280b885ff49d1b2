"""A judge that is asked about two systems until their difference is decided: `karat compare --until`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from karat.cli.options.governor import ModelOptions
from karat.cli.options.models import ask_models, refuse_models
from karat.cli.options.numbers import Real
from karat.cli.options.scoring import Command, option_group, progress_bar
from karat.cli.options.sections import options_under
from karat.cli.options.until import UntilOptions

_option = options_under("Asking a judge about two systems")
_ABOVE_0 = Real(0, min_open=True)
_OPTIONS: Sequence[Callable[[Command], Command]] = [
    _option(
        "--until", type=click.Choice(["decided", "no-worse"]),
        help="Ask the judge of -m about both answers to each row, in a random order, until one system is shown to be "
        "better or, with --margin, both to be equivalent; no-worse: or the second to be no worse by the margin.",
    ),
    _option(
        "--until-width", type=_ABOVE_0, metavar="WIDTH",
        help="The same, until the interval of the difference is this wide, or what comes first.",
    ),
    _option("--until-cost", type=_ABOVE_0, metavar="USD", help="The same, until this is spent; or what comes first."),
    _option("--run", metavar="NAME", help="Keep both systems' judged rows as the runs NAME-SYSTEM."),
]  # fmt: skip


@dataclass(frozen=True)
class DecidingOptions(UntilOptions):
    """The rule by which a judge stops asking about two systems, if there is one, and the name of what is kept."""

    until: str | None
    run: str | None

    def __bool__(self) -> bool:
        return any(vars(self).values())

    @property
    def decision(self) -> str | None:
        """The decision that ends it."""
        return self.until

    @contextmanager
    def ask(
        self, systems: Sequence[str], asking: ModelOptions, options: Mapping[str, Any]
    ) -> Iterator[dict[str, Any] | None]:
        """The arguments of `karat.compare`, with whom to ask, and until when; None where requests were only counted.

        Raises `click.UsageError` for flags about asking without a rule, and for those that contradict it.
        """
        until = self.read(asking)
        if until is None:
            if self.run is not None:
                raise click.UsageError("--run keeps what --until asks: --until decided")
            refuse_models(asking, "and nothing is asked without a rule: --until decided")
            yield dict(options)
            return
        from karat.core.metric.spec import parse_all  # noqa: PLC0415  (heavy)
        from karat.runs.compare.asking.ask import Asking  # noqa: PLC0415
        from karat.runs.match.match import How  # noqa: PLC0415
        from karat.stats.inference import Inference  # noqa: PLC0415

        metrics, same = parse_all(options["metrics"]), [str(Path(system).absolute()) for system in systems]
        with (
            ask_models(metrics, asking, same, run=None, several=True) as chosen,
            progress_bar("asking", "answers") as progress,
        ):
            if not asking.rehearses:
                yield {**options, "metrics": chosen, "until": until, "run": self.run, "progress": progress}
                return
            inference = Inference(options["confidence"], options["seed"])
            how: How = {"cluster": options["cluster"], "common": options["common"]}
            how["allow_different"] = options["allow_different"]
            Asking.plan(chosen, None, options["margin"], inference).ask(systems, options["on"], how)
        click.echo("these are the calls for both answers to all rows, the most that can be asked")
        yield None


deciding_options = option_group("rule", DecidingOptions, _OPTIONS)
"""Give a command the flags of asking about two systems; it gets them as `rule`."""
