"""``karat power``: how many rows a difference takes, and how many labels by people a width of the interval."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options.completion import COLUMN, ROWS
from karat.cli.options.numbers import Real
from karat.cli.options.people import LabelOptions, label_options
from karat.cli.options.scoring import scored_metric_option
from karat.cli.options.sections import command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from karat.stats.corrected.label_count import LabelCount
    from karat.stats.paired.margin_size import MarginSize
    from karat.stats.paired.sample_size import NoSampleSize, SampleSize
    from karat.stats.reliability.design import Design, VarianceComponents

_SHARE = Real(0.000001, 0.999999)
_ABOVE_0 = Real(0, min_open=True)


def _prices(_: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
    """The price of a verdict by the name of a judge, `""` for all others."""
    prices = {}
    for text in texts:
        name, _sign, price = text.rpartition("=")
        prices[name] = _ABOVE_0.convert(price, parameter, None)
    return prices


@command()
@click.option(
    "--run", "runs", multiple=True, required=True, type=ROWS, metavar="A",
    help="A run or a scored file; from a second one follows how much two systems differ on a row.",
)  # fmt: skip
@click.option(
    "--difference",
    type=Real(0.000001, 1e9),
    metavar="D",
    help="The difference to find, such as 0.02.",
)
@click.option(
    "--margin", type=Real(0, 1e9, min_open=True), metavar="D",
    help="Instead, report how many rows show that a system is no worse by D or more, and equivalent within D, if the "
    "two do not differ.",
)  # fmt: skip
@click.option(
    "--width", type=Real(0.000001, 1e9), metavar="W",
    help="Instead, report how many labels by people give the value of A an interval of this width, end to end.",
)  # fmt: skip
@click.option(
    "--answers", is_flag=True,
    help="Instead, report how many more answers or questions halve the standard error. A was scored with "
    "intraclass_correlation.",
)  # fmt: skip
@click.option(
    "--budget", type=_ABOVE_0, metavar="USD",
    help="Instead, report which questions, prompts and verdicts more make the interval of a judge's mean narrowest for "
    "the money. A is what karat judge wrote with -o exam.json.",
)  # fmt: skip
@click.option(
    "--price-question", type=Real(0), metavar="USD",
    help="With --budget: what one more question costs, with its gold and its answer.",
)  # fmt: skip
@click.option(
    "--price-call", "calls", multiple=True, callback=_prices, metavar="[NAME=]USD",
    help="With --budget: what one verdict costs, of all judges or the one of this name.",
)  # fmt: skip
@label_options
@click.option("--on", type=COLUMN, help="The id that joins A with --human; default: one that tells rows apart.")
@scored_metric_option
@click.option("--power", type=_SHARE, default=0.8, show_default=True, help="The probability of finding it.")
@click.option("--level", type=_SHARE, default=0.05, show_default=True, help="The level of the test.")
@click.option(
    "--correlation", type=Real(-1, 1, max_open=True), default=0.5, show_default=True,
    help="Between the scores of the run and of the next system; two runs show it. With --width: between scores and "
    "labels; --human shows it.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def power(
    runs: tuple[str, ...],
    difference: float | None,
    margin: float | None,
    width: float | None,
    budget: float | None,
    *,
    answers: bool,
    as_json: bool,
    people: LabelOptions,
    **options: Any,
) -> None:
    """Say how many rows are needed to find a difference between two systems, and what the rows at hand can see.

    With --width: how many labels by people a corrected value takes; labels of some rows (--human) are its pilot.

    \b
    karat power --run before --difference 0.02
    karat power --run before --run after --difference 0.02 -m f1 --power 0.9
    karat power --run before --run after --margin 0.02
    karat power --run before --answers
    karat power --run exam.json --budget 20 --price-question 0.3 --price-call 0.002
    karat power --run before --width 0.06 --human labels.csv --label-map good=1,bad=0
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if sum(each is not None for each in (difference, margin, width, budget)) + answers != 1:
        raise click.UsageError(
            "expected --difference or --margin, or --width for labels by people, or --answers, or --budget: "
            "--difference 0.02, say"
        )
    prices = options.pop("price_question"), options.pop("calls")
    if budget is None and any(prices):
        raise click.UsageError("--price-question and --price-call are what --budget is spent on: --budget 20")
    most = 2 if difference is not None or margin is not None else 1
    if len(runs) > most:
        raise click.UsageError(f"--run: expected one run{' or two' if most == 2 else ''}, found {len(runs)}")
    lines: Mapping[str, tuple[SampleSize | MarginSize | NoSampleSize | LabelCount | VarianceComponents | Design, str]]
    if budget is not None:
        lines = _spend(runs[0], budget, prices, options["level"])
    elif answers:
        lines = _count_answers(runs[0], options["metrics"])
    elif width is not None:
        lines = _count_labels(runs[0], width, people, options)
    else:
        lines = _count_rows(runs, people, options | {"difference": difference, "margin": margin})
    if as_json:
        click.echo(json.dumps({spec: plan.as_dict() for spec, (plan, _) in lines.items()}, ensure_ascii=False))
        return
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)

    screen = open_screen()
    for spec, (_, line) in lines.items():
        screen.line(f"{spec}: {line}")


def _count_rows(
    runs: tuple[str, ...], people: LabelOptions, options: dict[str, Any]
) -> dict[str, tuple[SampleSize | MarginSize | NoSampleSize, str]]:
    from karat.runs.compare.rows_needed import plan_margin, plan_rows  # noqa: PLC0415  (heavy)

    if wrong := [flag for flag, value in {**vars(people), "on": options.pop("on")}.items() if value]:
        raise click.UsageError(f"--{wrong[0].replace('_', '-')} needs --width")
    difference, margin = options.pop("difference"), options.pop("margin")
    systems = runs[0] if len(runs) == 1 else (runs[0], runs[1])
    plans: Mapping[str, SampleSize | MarginSize | NoSampleSize]
    plans = plan_rows(systems, difference, **options) if margin is None else plan_margin(systems, margin, **options)
    return {spec: (plan, _describe(plan)) for spec, plan in plans.items()}


def _count_answers(run: str, metrics: list[str]) -> dict[str, tuple[VarianceComponents, str]]:
    from karat.runs.compare.rows_needed import plan_more_answers  # noqa: PLC0415  (heavy)

    return {spec: (plan, _describe_answers(plan)) for spec, plan in plan_more_answers(run, metrics=metrics).items()}


def _spend(
    path: str, budget: float, prices: tuple[float | None, Mapping[str, float]], level: float
) -> dict[str, tuple[Design, str]]:
    from karat.runs.judge.reliability.budget import Prices, describe_design, plan_budget  # noqa: PLC0415  (heavy)

    question, calls = prices
    if question is None or not calls:
        lacking = "--price-question 0.3" if question is None else "--price-call 0.002"
        raise click.UsageError(f"--budget needs prices in USD: {lacking}, say, for one more of them")
    plans = plan_budget(path, budget, Prices(question, calls), confidence=round(1 - level, 12))
    return {name: (plan, describe_design(plan)) for name, plan in plans.items()}


def _describe_answers(plan: VarianceComponents) -> str:
    at_hand = (
        f"{plan.questions} questions with {plan.answers:.3g} answers each have a standard error of {plan.error:.4f}"
    )
    half = f"half of it takes {plan.questions_needed} questions"
    if plan.answers_needed is None:
        return f"{at_hand}; {half}; more answers to these leave more than {plan.least:.4f}"
    return f"{at_hand}; {half}, or {plan.answers_needed} answers to each of these"


def _count_labels(
    run: str, width: float, people: LabelOptions, options: dict[str, Any]
) -> dict[str, tuple[LabelCount, str]]:
    pilot = people.read()
    from karat.runs.sampling.labels_needed import plan_labels, plan_labels_from_pilot  # noqa: PLC0415  (heavy)

    shared = {"metrics": options["metrics"], "confidence": round(1 - options["level"], 12)}
    if pilot is not None:
        plans = plan_labels_from_pilot(run, width, pilot, on=options["on"], **shared)
    else:
        plans = plan_labels(run, width, correlation=options["correlation"], **shared)
    return {spec: (plan, _describe_labels(plan)) for spec, plan in plans.items()}


def _describe_labels(plan: LabelCount) -> str:
    wide = f"an interval {plan.width:g} wide"
    if plan.labels is None:
        rows = math.ceil(plan.n * (plan.smallest / plan.width) ** 2)
        smallest = f"theirs is {plan.smallest:.3g} wide"
        return f"not even labels of all {plan.n} rows give {wide}: {smallest}; labels of all of {rows} rows would do"
    source = f"assuming one more error than in the pilot's {plan.pilot} labels" if plan.pilot else "assumed"
    needed = f"{plan.labels} labels of {plan.n} rows give {wide}, {plan.alone} without the judge"
    return f"{needed}; its correlation with people is {plan.correlation:.2f}, {source}"


def _describe(plan: SampleSize | MarginSize | NoSampleSize) -> str:
    from karat.stats.paired.margin_size import MarginSize  # noqa: PLC0415  (heavy)
    from karat.stats.paired.sample_size import NoSampleSize  # noqa: PLC0415

    if isinstance(plan, NoSampleSize):
        return plan.reason
    assumed = "" if plan.correlation is None else f", if two systems correlate by {plan.correlation:g}"
    if isinstance(plan, MarginSize):
        shown = f"{plan.no_worse} rows show no worse by {plan.margin:g} or more, {plan.equivalent} rows equivalent"
        chance = f"with a chance of {100 * plan.power:g} % at level {plan.level:g}{assumed}"
        seen = "no margin" if plan.smallest is None else f"no worse by {plan.smallest:.4f} or more"
        return f"{shown} within it, if the systems do not differ, {chance}; {plan.n} rows show {seen}"
    seen = "no difference is sure to be seen" if plan.smallest is None else f"{plan.smallest:.4f} can be seen"
    shown = f"{plan.rows} rows show a difference of {plan.difference:g} with a chance of {100 * plan.power:g} %"
    return f"{shown} at level {plan.level:g}{assumed}; with {plan.n} rows {seen}"
