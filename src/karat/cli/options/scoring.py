"""What the commands that score have in common: their options, how they report, and how they end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from karat.runs.scoring.result import Result
    from karat.stats.value import Value

Command = TypeVar("Command", bound=Callable[..., Any])

UNDER = 3  # exit code: a value is under --fail-under


def once(_: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str | None:
    if len(given) > 1:
        raise click.BadParameter(f"one column is expected, {', '.join(given)} were given", param=option)
    return given[0] if given else None


_OPTIONS = [
    click.option(
        "-m", "--metric", "metrics", multiple=True, required=True, metavar="SPEC", help="A metric: `karat metrics`."
    ),
    click.option(
        "--map", "mapping", multiple=True, metavar="ROLE=COLUMN", help="Which column is the prediction, reference, …"
    ),
    click.option("-o", "--output", metavar="OUT", help="Write the scored rows; the format is the ending's."),
    click.option("--run", metavar="NAME", help="Keep the whole run under this name: `karat runs`."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table."),
    click.option(
        "--by", metavar="COLUMN", callback=once, multiple=True, help="Also a value for each value of this column."
    ),
    click.option("--cluster", metavar="COLUMN", help="Rows that share its value are not independent; for intervals."),
    click.option("--where", metavar="SQL", help="Only rows for which this holds."),
    click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first N rows."),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the intervals that are resampled."),
    click.option(
        "--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True,
        help="Of the intervals.",
    ),
    click.option(
        "--fail-under", "floors", multiple=True, metavar="[SPEC=]VALUE",
        help="Exit with 3 if a value (of this metric, else of any) is lower; for errors and rates of them: higher.",
    ),
]  # fmt: skip


def scoring_options(command: Command) -> Command:
    """Give a command the options of scoring."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def report(
    result: Result, said: Iterable[str], bounds: list[tuple[str, float]], *, as_json: bool, by: str | None
) -> None:
    """Print what came out, warnings aside, and leave with 3 where a value does not reach its floor."""
    for line in dict.fromkeys([*said, *_unsaid(result)]):
        click.echo(f"warning: {line}", err=True)
    if as_json:
        click.echo(json.dumps(result.as_dict(), ensure_ascii=False))
    else:
        from karat.cli.options.table import show  # noqa: PLC0415  (heavy)

        show(result, by=by)
    if missed := list(_missed(result, bounds)):
        for line in missed:
            click.echo(line, err=True)
        sys.exit(UNDER)


def split(text: str, flag: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise click.UsageError(f"{flag} {text!r}: ROLE=COLUMN is expected, such as reference=gold")
    return left, right


def floor(text: str) -> tuple[str, float]:
    """The spec, if any, and the number of a `--fail-under`."""
    spec, _, number = text.rpartition("=")
    try:
        return spec, float(number)
    except ValueError:
        raise click.UsageError(f"--fail-under {text!r}: a number, or SPEC=NUMBER, is expected") from None


def _unsaid(result: Result) -> Iterator[str]:
    """A line for each metric that has no value."""
    for spec, value in result.values.items():
        if value.value is None:
            yield f"{spec} has no value: none of {value.n} rows is scored"


def _missed(result: Result, floors: list[tuple[str, float]]) -> Iterator[str]:
    """A line for each value that does not reach its floor."""
    for spec, bound in floors:
        names = [_spec_of(spec, result)] if spec else list(result.values)
        for metric in result.metrics:
            if metric.spec in names and not _reaches(result.values[metric.spec], bound, metric.definition.direction):
                said = result.values[metric.spec].value
                yield f"{metric.spec} is {'not known' if said is None else f'{said:.6g}'}, {bound:g} was asked for"


def _spec_of(text: str, result: Result) -> str:
    from karat.core.metric.spec import parse  # noqa: PLC0415  (heavy)

    spec = parse(text).spec
    if spec not in result.values:
        raise click.UsageError(
            f"--fail-under {text}: {spec} is not among the metrics scored ({', '.join(result.values)})"
        )
    return spec


def _reaches(value: Value, bound: float, direction: str) -> bool:
    if value.value is None:
        return False
    return value.value >= bound if direction == "maximize" else value.value <= bound


@contextmanager
def saying_how_to_go_on(run: str | None) -> Iterator[None]:
    """A line for a run that is kept and was interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        if run is not None:
            click.echo(f"run {run} is kept as far as it came: the same command with --resume goes on", err=True)
        raise


@contextmanager
def progress_bar(doing: str = "scoring", what: str = "rows") -> Iterator[Callable[[int, int | None], None] | None]:
    """A bar on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  (heavy)
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
