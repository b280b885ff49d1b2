"""Gates: values that a result must reach, and rows that must have a score, else the command fails."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from karat.core.errors import SpecError, did_you_mean

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.runs.scoring.result import Result
    from karat.stats.value import Value

UNDER = 3  # exit code: a value is under its gate, too many rows are unscored, or "no worse" is not shown
WORSE = 4  # exit code: a system is worse than the first

_ENDS = ("low", "high", "worst", "best")
_GATE = re.compile(
    rf"(?P<spec>.*?)(?:\[(?P<column>[^=\[\]]+)=(?P<label>.*)\])?(?:\.(?P<end>{'|'.join(_ENDS)}))?", re.DOTALL
)
_FORM = "[SPEC][[COLUMN=VALUE]][.low|.high|.worst|.best]=NUMBER"


@dataclass(frozen=True)
class Gate:
    """The least that a value may be, or for errors and rates of them the most.

    `spec` is empty for all metrics, `column` and `label` name a slice, `end` an end of the interval or of the range
    that unscored rows leave open. `at` are the numbers of the metrics, in their order.
    """

    text: str
    spec: str
    column: str | None
    label: str | None
    end: str | None
    floor: float
    at: Sequence[int] = ()

    def failures(self, result: Result) -> Iterator[str]:
        """A line for each value that does not reach the gate, or is not known."""
        from karat.stats.value import spell  # noqa: PLC0415  (NumPy, which is loaded by now)

        for metric in (result.metrics[at] for at in self.at):
            name = f"{metric.spec}{'' if self.column is None else f'[{self.column}={self.label}]'}"
            name += "" if self.end is None else f".{self.end}"
            groups: Mapping[str, Value] = {} if self.label is None else result.groups[metric.spec]
            if self.label is not None and self.label not in groups:
                yield f"{name} is not known: no row has this value{did_you_mean(self.label, groups)}"
                continue
            value = result.values[metric.spec] if self.label is None else groups[self.label]
            number: float | None = getattr(value, self.end or "value")
            if number is None:
                yield f"{name} is not known, {self.floor:g} was asked for"
            elif number < self.floor if metric.definition.direction == "maximize" else number > self.floor:
                yield f"{name} is {spell(number, '.6g')}, {self.floor:g} was asked for"


def fail(lines: Iterable[str], code: int) -> None:
    """Print what does not reach a gate on standard error, and exit with this code; nothing where all does."""
    if shown := list(lines):
        click.echo("\n".join(shown), err=True)
        sys.exit(code)


def read_gate(text: str) -> Gate:
    """The gate of a `--fail-under`.

    >>> gate = read_gate("token_f1[topic=law].low=0.6")
    >>> gate.spec, gate.column, gate.label, gate.end, gate.floor
    ('token_f1', 'topic', 'law', 'low', 0.6)
    """
    name, _, number = text.rpartition("=")
    with suppress(ValueError):
        floor, match = float(number), _GATE.fullmatch(name)
        if match is not None and math.isfinite(floor):
            spec, column, label, end = match.group("spec", "column", "label", "end")
            return Gate(text, spec, column, label, end, floor)
    raise click.UsageError(f"--fail-under {text!r}: expected a number or SPEC=NUMBER; in full, {_FORM}")


def read_case(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, int] | None:
    """How many of how many answers have to be right, from 9/10."""
    if text is None:
        return None
    least, _, of = text.partition("/")
    if not (least.isdecimal() and of.isdecimal() and 1 <= int(least) <= int(of)):
        expected = "expected how many of how many answers have to be right, such as 9/10"
        raise click.BadParameter(f"{expected}, found {text!r}", context, parameter)
    return int(least), int(of)


def read_margins(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> dict[str, float] | None:
    """The margin of each metric, by spec; the empty spec is all metrics."""
    margins = dict[str, float]()
    for text in texts:
        spec, _, number = text.rpartition("=")
        try:
            margins[spec] = float(number)
        except ValueError:
            expected = "expected a number or SPEC=NUMBER, such as 0.02"
            raise click.BadParameter(f"{expected}, found {text!r}", context, parameter) from None
    return margins or None


margin_option = click.option(
    "--margin", multiple=True, metavar="[SPEC=]D", callback=read_margins,
    help="Also test whether a system is no worse than A by D or more, in the metric's unit (0.02 is 2 points), and "
    "whether both are equivalent within D: two one-sided tests. Repeat it for a metric of its own.",
)  # fmt: skip


no_worse_option = click.option(
    "--fail-unless-no-worse", "no_worse", multiple=True, metavar="[SPEC=]D", callback=read_margins,
    help=f"Exit with {UNDER} unless it is shown in each metric and slice that no system is worse than A by D or more; "
    "few rows do not show it. Sets --margin. With --human the differences corrected by people decide.",
)  # fmt: skip


@dataclass(frozen=True)
class Gates:
    """All gates of a command: `floors`, and the largest share of rows that may be `unscored`.

    `case`: how many of how many answers to each question have to be right.
    """

    floors: Sequence[Gate]
    unscored: float | None = None
    case: tuple[int, int] | None = None

    def complete(self, metrics: Sequence[Metric]) -> Sequence[Metric]:
        """The metrics with those that a gate by question is about: one for each metric of the answers to a question.

        Raises `click.UsageError` where no metric is of several answers.
        """
        if self.case is None:
            return metrics
        from karat.metrics.repeats.passing import enough_right  # noqa: PLC0415  (heavy)

        of_several = [each for each in metrics if each.definition.samples]
        if not of_several:
            problem = "--fail-case is about several answers to each question, but no metric is"
            raise click.UsageError(f"{problem}: -m 'pass_at(em)', with the metric of one answer in brackets")
        known = {str(each.definition.inner) for each in of_several if each.name == enough_right.name}
        least, of = self.case
        added: dict[str, Metric] = {}
        for each in of_several:
            if (inner := each.definition.inner) is not None and str(inner) not in known:
                at = each.settings.get("at")
                added.setdefault(str(inner), enough_right.using(metric=inner, least=least, of=of, at=at))
        return [*metrics, *added.values()]

    def check(self, metrics: Sequence[Metric], others: Sequence[Metric], by: str | None, files: Sequence[Any]) -> Gates:
        """The gates of these metrics, before anything is scored.

        `others` are the same metrics with their models; either spec names one. Where a model will be asked, the slices
        are looked for in the `files`. Raises `click.UsageError`, with the nearest name, for a gate of another metric or
        slice.
        """
        numbers = {metric.spec: at for each in (metrics, others) for at, metric in enumerate(each)}
        gates = [replace(gate, at=_find(gate, numbers, by)) for gate in self.floors]
        if by is not None and (wanted := [gate for gate in gates if gate.column is not None]):
            _check_slices(wanted, by, files)
        return replace(self, floors=gates)

    def failures(self, result: Result) -> Iterator[str]:
        """A line for each value that does not reach its gate, and for each metric with too few scores."""
        for gate in self.floors:
            yield from gate.failures(result)
        yield from self._failing_cases(result)
        for spec, value in result.values.items():
            if self.unscored is not None and value.unscored > self.unscored * value.n:
                rows = f"{value.unscored} of {value.n} rows"
                yield f"{spec}: {rows} have no score; a share of at most {self.unscored:g} was asked for"

    def _failing_cases(self, result: Result) -> Iterator[str]:
        """A line for each metric by which a question is answered right too seldom, or too few answers have a score."""
        for metric in result.metrics if self.case is not None else ():
            if metric.name != "enough_right":
                continue
            value, settings = result.values[metric.spec], metric.settings
            inner, share = metric.definition.inner, f"{settings['least']} of {settings['of']}"
            seldom = round((1 - (value.value or 0)) * value.scored)
            if seldom:
                yield f"{inner}: {seldom} of {value.n} questions are answered right fewer than {share} times"
            if value.unscored:
                few = f"fewer than {settings['of']} answers with a score"
                yield f"{inner}: {value.unscored} of {value.n} questions have {few}"


def _find(gate: Gate, numbers: Mapping[str, int], by: str | None) -> Sequence[int]:
    if gate.column is not None and gate.column != by:
        remedy = f"--by {gate.column}" if by is None else f"the slices come from --by {by}"
        raise click.UsageError(f"--fail-under {gate.text}: {gate.column} makes no slices: {remedy}")
    if not gate.spec:
        return sorted(set(numbers.values()))
    from karat.core.metric.spec import match_spec  # noqa: PLC0415  (heavy)

    with suppress(SpecError):
        return [numbers[match_spec(gate.spec, numbers)]]
    problem = f"{gate.spec} is not among the metrics scored{did_you_mean(gate.spec, numbers)}"
    base, _, end = gate.spec.rpartition(".")
    with suppress(SpecError):
        match_spec(base, numbers)
        problem = f"{end!r} is not an end{did_you_mean(end, _ENDS)}"
    raise click.UsageError(f"--fail-under {gate.text}: {problem}")


def _check_slices(gates: Sequence[Gate], by: str, files: Sequence[Any]) -> None:
    """Raise `click.UsageError` for a gate of a slice that no row is in, where a file has the column."""
    from karat.data.open import open_source  # noqa: PLC0415  (heavy)
    from karat.runs.columns.groups import encode_groups  # noqa: PLC0415

    for source in (open_source(file) for file in files if isinstance(file, str) and file != "-"):
        if by not in source.schema.names:
            continue
        labels = set[str]()
        for batch in source.batches([by]):
            encode_groups(batch.column(by), labels, by)
        for gate in gates:
            if gate.label not in labels:
                problem = f"no row has {by} = {gate.label}{did_you_mean(str(gate.label), labels)}"
                raise click.UsageError(f"--fail-under {gate.text}: {problem}")
        return
