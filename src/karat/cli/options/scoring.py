"""What the commands that score share: their flags, how they print a result, and their exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click import option

from karat.cli.options.completion import COLUMN, FILE, MAPPING, OUT, SCORED, SPEC
from karat.cli.options.controls import show_controls
from karat.cli.options.gates import UNDER, Gates, fail, read_case, read_gate
from karat.cli.options.numbers import Real, Whole
from karat.cli.options.sections import options_under
from karat.core.context import change_context
from karat.core.progress import NarrowingLine

if TYPE_CHECKING:
    from karat.runs.compare.comparison import Compared
    from karat.runs.scoring.result import Result

_interval = options_under("Intervals")
_gate = options_under("Exit codes")
Command = TypeVar("Command", bound=Callable[..., Any])

CAPPED = f"{__name__}.capped"  # that a cap has kept requests from being sent, in the command's context


def _one(_: click.Context, parameter: click.Parameter, columns: tuple[str, ...]) -> str | None:
    if len(columns) > 1:
        raise click.BadParameter(f"expected one column, found {len(columns)}: {', '.join(columns)}", param=parameter)
    return columns[0] if columns else None


def option_group(
    name: str, kind: type, options: Sequence[Callable[[Command], Command]]
) -> Callable[[Command], Command]:
    """Give a command these flags, in this order; it gets their values as one `name`, a frozen value of this kind."""
    members = [each.name for each in fields(kind)]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def wrapped(**values: Any) -> Any:
            chosen = {member: values.pop(member) for member in members if member in values}
            return command(**{name: kind(**chosen)}, **values)

        return add_options(cast("Command", wrapped), options)

    return decorate


def map_option(meaning: str, option: Callable[..., Any] = option) -> Callable[[Command], Command]:
    """The flag `--map`, as a mapping from roles to columns; `meaning` is its help, `option` makes it."""

    def read(_: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
        return dict(read_pair(text, parameter.opts[0]) for text in texts)

    decorator: Callable[[Command], Command] = option(
        "--map", "map", multiple=True, type=MAPPING, callback=read, help=meaning
    )
    return decorator


def confidence_option(meaning: str, default: float | None = 0.95) -> Callable[[Command], Command]:
    """The flag `--confidence`; `meaning` is its help."""
    return _interval(
        "--confidence", type=Real(0.0001, 0.9999), metavar="LEVEL", default=default, show_default=True, help=meaning
    )


def seed_option(meaning: str, default: int | None = 0) -> Callable[[Command], Command]:
    """The flag `--seed`; `meaning` is its help."""
    shown = default is not None
    return _interval("--seed", type=Whole(min=0), metavar="N", default=default, show_default=shown, help=meaning)


cluster_option = _interval(
    "--cluster", type=COLUMN,
    help="Rows that share its value are not independent; by default an id or a question that repeats. "
    "`none`: each row is by itself.",
)  # fmt: skip
_SCORED = "A metric that was scored; default: all."
scored_metric_option = option("-m", "--metric", "metrics", multiple=True, type=SCORED, help=_SCORED)

_OPTIONS = [
    option(
        "-m", "--metric", "metrics", multiple=True, required=True, type=SPEC, help="A metric: see `karat metrics`."
    ),
    map_option("Which column is the prediction, reference, …"),
    option("-o", "--output", type=OUT, help="Write the scored rows to this file; its ending is the format."),
    option("--run", metavar="NAME", help="Keep the whole run under this name: see `karat runs`."),
    option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table."),
    option("--by", type=COLUMN, callback=_one, multiple=True, help="Also a value for each value of this column."),
    cluster_option,
    option("--where", metavar="SQL", help="Only rows for which this holds."),
    option("--limit", type=Whole(min=0), metavar="N", help="Only the first N rows."),
    seed_option("Of the intervals by resampling."),
    confidence_option("Of the intervals."),
]  # fmt: skip
_GATES = [
    _gate(
        "--fail-under", "floors", multiple=True, metavar="[SPEC=]VALUE",
        callback=lambda _, __, texts: tuple(map(read_gate, texts)),
        help="Exit with 3 if a value (of this metric, else of any) is lower; for errors and rates of them: higher. "
        "Of a slice and the lower end of its interval: `SPEC[COLUMN=VALUE].low=NUMBER`.",
    ),
    _gate(
        "--fail-unscored", "unscored", type=Real(0, 1), metavar="SHARE",
        help="Exit with 3 if a larger share of the rows has no score.",
    ),
    _gate(
        "--fail-case", "case", metavar="K/N", callback=read_case,
        help="Exit with 3 if any question is answered right fewer than K of N times, by the metric in a metric of "
        "several answers, such as -m 'pass_at(em)'.",
    ),
]  # fmt: skip


gold_patch_option = option(
    "--gold-patch", type=FILE, help="Gold that people found wrong, ambiguous or incomplete: karat label --gold."
)


def scoring_options(command: Command) -> Command:
    """Give a command the flags of scoring and of `gates`."""
    return add_options(option_group("gates", Gates, _GATES)(command), _OPTIONS)


def add_options(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    """Give a command these flags, in this order."""
    return reduce(lambda wrapped, each: each(wrapped), reversed(options), command)


def print_report(
    results: Mapping[str, Result],
    warned: Iterable[str],
    gates: Gates,
    *,
    as_json: bool,
    by: str | None,
    compared: Compared | None = None,
) -> None:
    """Print the result of each system, by its name, and how they compare; warnings on standard error.

    Exit with 6 where a cap was reached, with 3 where a value does not reach its gate or too many rows have no score,
    with 1 where all have none. The name of a single system is empty.
    """
    missing = (
        f"{of}{spec} has no value: it is not defined for these {value.n} rows"
        for of, result in _each(results)
        for spec, value in result.values.items()
        if value.value is None and value.scored
    )
    for line in dict.fromkeys([*warned, *missing]):
        click.echo(f"warning: {line}", err=True)
    if as_json:
        from karat.cli.options.printed import SystemValues  # noqa: PLC0415  (heavy)

        stored = {name: result.stored for name, result in results.items()}
        click.echo(json.dumps(stored.get("", SystemValues(stored, compared)).as_dict(), ensure_ascii=False))
    else:
        _print_results(results, compared, by)
    exit_if_capped()
    fail((f"{of}{line}" for of, result in _each(results) for line in gates.failures(result)), UNDER)
    for of, result in _each(results):
        if empty := [spec for spec, value in result.values.items() if not value.scored]:
            reasons = [f"; {reason}" for reason in result.reasons.get(empty[0], {})][:1]
            problem = f"{of}nothing was scored by {', '.join(empty)}: none of {result.n} rows has a score"
            raise click.ClickException(problem + "".join(reasons))


def _each(results: Mapping[str, Result]) -> Iterator[tuple[str, Result]]:
    """Each result, with the name of its system for messages."""
    return ((f"{name}: " if name else "", result) for name, result in results.items())


def _print_results(results: Mapping[str, Result], compared: Compared | None, by: str | None) -> None:
    from karat.cli.options.result_table import print_comparison, print_result  # noqa: PLC0415  (heavy)

    for name, result in results.items():
        if name:
            click.secho(show_controls(name), bold=True)
        print_result(result, by=by)
        if name:
            click.echo()
    if compared is not None:
        print_comparison(compared, by)


def is_capped() -> bool:
    """Whether a cap has kept requests from being sent."""
    return bool(click.get_current_context().meta.get(CAPPED))


def exit_if_capped() -> None:
    """Exit with 6 where a cap has kept requests from being sent."""
    if is_capped():
        sys.exit(6)


def read_pair(text: str, flag: str) -> tuple[str, str]:
    """The two sides of `ROLE=COLUMN`."""
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise click.UsageError(f"{flag} {text!r}: expected ROLE=COLUMN, such as reference=gold")
    return left, right


@contextmanager
def report_interruption(run: str | None) -> Iterator[None]:
    """Say, when the command is interrupted, how to continue a run that is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if run is not None:
            click.echo(f"run {run} is kept up to here: the same command with --resume continues it", err=True)
        raise


def _keep_progress(context: click.Context, _: click.Parameter, wanted: bool | None) -> None:
    context.meta[_PROGRESS] = wanted


_PROGRESS = f"{__name__}.progress"
progress_option = option(
    "--progress/--no-progress", default=None, expose_value=False, callback=_keep_progress,
    help="How much is done, how fast, and the time left, on standard error; by default only on a terminal.",
)  # fmt: skip


@contextmanager
def progress_bar(action: str = "scoring", unit: str = "rows") -> Iterator[Callable[[int, int | None], None] | None]:
    """A line of progress on a terminal; lines in a pipe if `--progress` asks for them, none with `--no-progress`.

    Call its value with the number done and the total. Meanwhile what metrics, functions and clusters print goes to
    standard error: standard output has the result alone.
    """
    context, terminal = click.get_current_context(silent=True), sys.stderr.isatty()
    wanted = None if context is None else context.meta.get(_PROGRESS)
    with redirect_stdout(sys.stderr):
        if not (terminal if wanted is None else wanted):
            yield None
            return
        from karat.cli.options.progress import print_progress, show_progress  # noqa: PLC0415  (heavy)

        shown = show_progress if terminal else print_progress
        with change_context(watched=[], narrowing=NarrowingLine()), shown(action, unit, sys.stderr) as report:
            yield report
