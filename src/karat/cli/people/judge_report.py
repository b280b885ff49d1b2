"""``karat judge-report``: how far a judge can be relied on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options import scoring
from karat.cli.options.models import ask_models, model_options
from karat.cli.options.numbers import Whole
from karat.cli.options.people import label_options, read_label_options

if TYPE_CHECKING:
    from karat.cli.options.screen import Screen
    from karat.runs.judge_report.findings import JudgeFindings
    from karat.runs.judge_report.judge_report import JudgeReport
    from karat.stats.value import Estimate


@click.command("judge-report")
@click.argument("file")
@click.option(
    "-m", "--metric", "judges", multiple=True, required=True, metavar="SPEC", help="judge:NAME, or column(NAME)."
)
@click.option("--gold", metavar="FILE", help="A second file with the gold, joined by --on.")
@click.option("--on", metavar="COLUMN", help="The id that joins FILE with --gold and --human.")
@click.option("--map", "mapping", multiple=True, metavar="ROLE=COLUMN", help="Which column is the prediction, …")
@click.option("--where", metavar="SQL", help="Only rows for which this holds.")
@click.option("--limit", type=Whole(min=0), metavar="N", help="Only the first N rows.")
@click.option(
    "--repetitions", type=click.IntRange(1, 10_000), default=3, show_default=True, help="Verdicts on each row."
)
@click.option(
    "--reword", "rewordings", multiple=True, metavar="NAME",
    help="A rewording of the prompt: role, choices, layout, reminder, or a judge's file; default: the first four.",
)  # fmt: skip
@click.option("--no-rewording", is_flag=True, help="Ask with the prompt as it is only.")
@label_options
@click.option("--by", metavar="COLUMN", help="With --human: where it fails, by the values of this column.")
@click.option("--cluster", metavar="COLUMN", help="Rows that share its value are not independent.")
@click.option("--answer", metavar="COLUMN", help="The answers whose length counts; default: the predictions.")
@click.option("--author", multiple=True, metavar="COLUMN", help="The model that wrote the answer; two for pairs.")
@click.option("--own", multiple=True, metavar="NAME", help="An author that is the judge's own model.")
@click.option("--calibration", metavar="FILE", help="Say whether a kept calibration still holds for the judges.")
@click.option("--keep-calibration", metavar="FILE", help="With --human: write how the judges compare with people.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@scoring.confidence_option("Of the intervals.")
@click.option("--seed", type=Whole(min=0), default=0, show_default=True, help="Of the random numbers.")
@model_options
@scoring.progress_option
def judge_report(
    file: str,
    judges: tuple[str, ...],
    mapping: tuple[str, ...],
    rewordings: tuple[str, ...],
    no_rewording: bool,
    keep_calibration: str | None,
    as_json: bool,
    model_settings: Mapping[str, Any],
    **options: Any,
) -> None:
    """Ask judges again about the rows of FILE (`-`: standard input), and say how far each can be relied on.

    Each row is judged several times, reworded, and pairs in both orders. The report has noise, bias for place, length
    and the judge's own answers, dependence on the prompt's wording, and unreadable verdicts; with labels by people only
    the labelled rows are judged, and it has calibration, false praise and false blame. The calls and their cost are
    printed first; with --dry-run nothing is asked. Of a column of scores that exist nobody is asked.

    \b
    karat judge-report answers.jsonl -m judge:correctness --model NAME --limit 100 --dry-run
    karat judge-report answers.jsonl -m judge:correctness --model NAME --human labels.csv --on id --by topic
    karat judge-report judged.csv -m "column(gpt4, low=0, high=1)" --human labels.csv --on id --answer answer
    karat judge-report pairs.jsonl -m judge:pairwise --model NAME --author model_a --author model_b
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if no_rewording and rewordings:
        raise click.UsageError("--no-rewording and --reword exclude each other")
    if keep_calibration is not None and not options["human"]:
        raise click.UsageError("--keep-calibration compares judges with people: --human names their labels")
    options["map"] = dict(scoring.read_pair(each, "--map") for each in mapping)
    options["rewordings"] = () if no_rewording else rewordings or None
    options["human"] = read_label_options(options)
    from karat.core.metric.spec import parse_all  # noqa: PLC0415  (heavy)
    from karat.data.open import open_source  # noqa: PLC0415
    from karat.runs.judge_report.judge_report import judge_report as examine  # noqa: PLC0415

    parsed = parse_all(judges)
    same = ["judge-report", str(Path(file).absolute()), {name: str(value) for name, value in options.items()}]
    dry_run, data = model_settings["dry_run"], open_source(file)
    estimate = {**model_settings, "dry_run": True}
    if dry_run or any(metric.asks_model for metric in parsed):
        with (
            warnings.catch_warnings(record=True),
            ask_models(parsed, estimate, same, run=None, beforehand=not dry_run) as chosen,
        ):
            examine(data, chosen, **options)
    if dry_run:
        return
    with (
        warnings.catch_warnings(record=True) as warned,
        ask_models(parsed, model_settings, same, run=None) as chosen,
        scoring.progress_bar() as progress,
    ):
        warnings.simplefilter("always", UserWarning)
        report = examine(data, chosen, progress=progress, **options)
    for warning in warned:
        click.echo(f"warning: {warning.message}", err=True)
    if keep_calibration is not None:
        report.save_calibration(keep_calibration)
    if as_json:
        click.echo(json.dumps(report.as_dict(), ensure_ascii=False))
    else:
        _print(report, file)
    scoring.exit_if_capped()
    for found in report.judges:
        lost = sum(found.errors.values()) + (found.unreadable.value or 0) * found.asked
        if lost > found.asked - 0.5:  # no verdict is left
            reasons = "".join(f"; {reason}" for reason in found.errors)
            raise click.ClickException(f"{found.judge.spec} gave no verdict on {found.n} rows{reasons}")


def _print(report: JudgeReport, file: str) -> None:
    """Print each figure of all judges beside each other, where there are several, and then judge by judge."""
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)
    from karat.runs.labels.choices import judge_choices  # noqa: PLC0415

    screen = open_screen()
    several = len(report.judges) > 1
    if several:
        letters = [chr(ord("A") + at) for at in range(len(report.judges))]
        for letter, found in zip(letters, report.judges, strict=True):
            screen.line(f"{letter}  {found.judge.spec}: {found.asked} verdicts on {found.n} rows")
        screen.table(["", *letters], _beside_each_other(report.judges), left=1)
    for at, found in enumerate(report.judges):
        if several:
            screen.line(f"\n{letters[at]}  {found.judge.spec}")
        else:
            screen.line(f"{found.judge.spec}: {found.asked} verdicts on {found.n} rows")
        _print_judge(screen, found, report.confidence)
    if report.judges[0].people is None:
        judge = report.judges[0].judge
        labels = f"-m {judge.definition.name}" if judge_choices([judge]) else "--label-map bad=0,good=1"
        screen.line("no labels by people yet: draw rows at random, let people label them, and add --human", "dim")
        screen.line(f"  karat label-next {file} -n 100 -o drawn.csv", "dim")
        screen.line(f"  karat label drawn.csv -o labels.jsonl {labels}", "dim")
        screen.line(f"  karat judge-report {file} --human labels.jsonl --on id …", "dim")


def _beside_each_other(judges: Sequence[JudgeFindings]) -> Iterator[list[str]]:
    """The name of each figure that a judge has, and its value for each of them."""
    from karat.stats.value import format_value  # noqa: PLC0415  (heavy)

    figures = [dict(_figures(found)) for found in judges]
    for name in dict.fromkeys(chain.from_iterable(figures)):
        values = [each[name].value if name in each else None for each in figures]
        if any(value is not None for value in values):
            yield [name, *("–" if value is None else format_value(value) for value in values)]


def _print_judge(screen: Screen, found: JudgeFindings, confidence: float) -> None:
    """Print the figures of one judge with their intervals, and what was found in words."""
    from karat.cli.options.item_table import ITEMS  # noqa: PLC0415  (heavy)
    from karat.stats.value import format_value  # noqa: PLC0415  (heavy)

    figures = list(_figures(found))
    rows = [
        [name, format_value(each.value), f"{format_value(each.low)} – {format_value(each.high)}", f"{each.n}"]
        for name, each in figures
        if each.value is not None
    ]
    screen.table(["", "value", f"{100 * confidence:g} % interval", "n"], rows, left=1)
    for name, each in figures:
        if each.value is None:
            screen.line(f"{name}: {each}", "dim")
    if found.people is not None:
        screen.line("calibration: rows with a score from – to, the judge's mean, people's mean", "dim")
        for part in found.people.calibration.bins:
            score = format_value(part.score)
            screen.line(f"  {part.low:.2f} – {part.high:.2f}  n {part.n}  {score}  {part.people}")
    if found.criteria:
        counts = ([each, *map(str, counts.values())] for each, counts in found.criteria.items())
        screen.table(["criterion", "passed", "failed", "differ"], islice(counts, ITEMS), left=1)
        more = f"; {len(found.criteria) - ITEMS} more criteria: --json" if len(found.criteria) > ITEMS else ""
        screen.line(f"passed, failed: verdicts of the repetitions; differ: rows where these are not alike{more}", "dim")
    for sentence in found.sentences or ["no bias was found on these rows; the intervals say how large one may be"]:
        screen.line(f"→ {sentence}")


def _figures(found: JudgeFindings) -> Iterator[tuple[str, Estimate]]:
    """The name of each figure that applies to the judge, and the figure."""
    yield "verdicts that cannot be read", found.unreadable
    yield "another verdict when asked again", found.flips
    yield "rows with two verdicts", found.flipping_rows
    yield "share of the variance that is the judge's", found.noise_share
    if found.pairs:
        yield "score gained by the first place", found.first_place
        yield "rows on which the order decides", found.order_matters
    for unit, bias in found.length.items():
        yield f"{bias.of} by {unit} of the answer", bias.slope
    if found.own_answers is not None:
        yield f"{found.own_answers.of} by its being the judge's own answer", found.own_answers.slope
    if found.rewordings:
        yield "another verdict when reworded", found.rewording_flips
        yield "… more often than when asked again", found.rewording_beyond_noise
        for name, shift in found.rewordings.items():
            yield f"score gained by rewording: {name}", shift
    if (people := found.people) is not None:
        yield "agreement with people's mean label", people.agreement
        yield "score minus people's", people.bias
        if not found.pairs:
            yield "false praise", people.false_praise
            yield "false blame", people.false_blame
        yield "expected calibration error", people.calibration.ece
        yield "Brier score", people.calibration.brier
        for name, each in people.slices.items():
            yield f"agreement in {name}", each.agreement
            yield "… minus that elsewhere", each.difference
