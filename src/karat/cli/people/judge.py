"""``karat judge``: how far judges agree with people and each other, and how far one can be relied on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options import scoring
from karat.cli.options.completion import COLUMN, DATA, FILE, OUT, ROWS, SCORED
from karat.cli.options.exam import ExamOptions, exam_options, hold_exam
from karat.cli.options.governor import ModelOptions
from karat.cli.options.models import ask_models, model_options
from karat.cli.options.numbers import Whole
from karat.cli.options.people import LabelOptions, label_options
from karat.cli.options.sections import command
from karat.cli.options.tables import TableFiles

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.runs.judge.examination import Examination


@command()
@click.argument("system", type=ROWS, metavar="ROWS")
@click.option("-m", "--metric", "metrics", multiple=True, type=SCORED, help="A judge, or any score; default: all.")
@click.option(
    "--column", "columns", multiple=True, type=COLUMN,
    help="A column of ROWS with scores or labels of another judge; without -m, only these are examined.",
)  # fmt: skip
@label_options
@click.option("--on", type=COLUMN, help="The id that joins ROWS with labels and --gold; default: one that fits.")
@click.option(
    "--scale", type=click.Choice(["nominal", "ordinal", "interval"]), default="interval", show_default=True,
    help="Labels are names, have an order, or are numbers.",
)  # fmt: skip
@click.option("--by", type=COLUMN, help="Also for each value of this column.")
@click.option("--cluster", type=COLUMN, help="Rows that share its value are not independent.")
@click.option(
    "--errors", type=Whole(min=0), default=0, metavar="N",
    help="Show N rows of false praise, and N of false blame, for each score.",
)  # fmt: skip
@click.option(
    "--ask",
    "--repeat",
    "ask",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="Ask judges N times about each row.",
)
@click.option(
    "--reword", "--rewordings", "rewordings", multiple=True, metavar="NAME",
    help="Ask in other words too: role, choices, layout, reminder, all of these, or a judge's file.",
)  # fmt: skip
@click.option("--gold", type=DATA, help="A second file with the gold, joined by --on.")
@scoring.map_option("Which column is the prediction, …")
@click.option("--where", metavar="SQL", help="Only rows for which this holds.")
@click.option("--limit", type=Whole(min=0), metavar="N", help="Only the first N rows.")
@click.option("--answer", type=COLUMN, help="The answers whose length counts; default: the predictions.")
@click.option("--author", multiple=True, type=COLUMN, help="The model that wrote the answer; two for pairs.")
@click.option("--own", multiple=True, metavar="NAME", help="An author that is the judge's own model.")
@click.option("--calibration", type=FILE, help="Say whether a kept calibration still holds for the judges.")
@click.option("--keep-calibration", type=FILE, help="With --human: write how the judges compare with people.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option(
    "-o", "--output", "outputs", type=OUT, multiple=True,
    help="Also write it to this file: .md, .tex (the coefficients), .html, .json, .csv, .parquet, …",
)  # fmt: skip
@scoring.confidence_option("Of the intervals.")
@scoring.seed_option("Of a threshold's bootstrap.")
@exam_options
@model_options
@scoring.progress_option
def judge(
    system: str,
    metrics: tuple[str, ...],
    keep_calibration: str | None,
    as_json: bool,
    outputs: tuple[str, ...],
    people: LabelOptions,
    exam: ExamOptions,
    asking: ModelOptions,
    **options: Any,
) -> None:
    """Examine judges: how far scores of ROWS agree with people and each other, and how far they can be relied on.

    ROWS is a run, a file of scored rows, or any file (`-`: standard input). Scores that exist are examined as they
    are: agreement, false praise and false blame, calibration, bias for length. With --ask and --reword, judges are
    asked again, about the labelled rows only where people labelled some: noise, bias for place, dependence on the
    prompt's wording, unreadable verdicts. With --exam, they are asked about answers of known truth, which are made
    from the gold: which wrong ones they accept, which right ones they refuse. The calls and their cost are printed
    first; --dry-run asks nothing.

    \b
    karat judge scored.parquet --human labels.csv --on id --label-map "good=1,bad=0" --errors 5
    karat judge verdicts.csv --column gpt --human ada --human bob --label-map "Yes=1,No=0"
    karat judge answers.jsonl -m judge:correctness --model NAME --exam --fail-accepts 0.1 --dry-run
    karat judge answers.jsonl -m judge:correctness --model NAME --ask 3 --reword all --limit 100 --dry-run
    karat judge answers.jsonl -m judge:correctness --model NAME --ask 3 --human labels.csv --on id --by topic
    karat judge pairs.jsonl -m judge:pairwise --model NAME --ask 3 --author model_a --author model_b
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if keep_calibration is not None and not people.human:
        raise click.UsageError("--keep-calibration compares judges with people: --human names their labels")
    TableFiles(outputs, percent=False, plus_minus=False, label="").check(system, *people.human)
    exam.check(metrics, options)
    asks = bool(options["ask"] or options["rewordings"])
    if asks and not metrics:
        raise click.UsageError("--ask and --reword ask the judges that -m names: -m judge:NAME")
    if not (asks or exam.questions) and (asking.models or asking.rehearses):
        raise click.UsageError("--model and --dry-run are about models, and none is asked: --ask N, --exam")
    options |= {"human": people.read(), "label_map": people.label_map}  # the map serves --column too
    options["map"] = options["map"] or None
    same = ["judge", str(Path(system).absolute()), {name: str(value) for name, value in options.items()}]
    if exam.questions is not None:
        hold_exam(system, metrics, exam, asking, same, {**options, "outputs": outputs, "as_json": as_json})
        return
    from karat.runs.judge.examine import examine  # noqa: PLC0415  (heavy)

    if not asks:
        _show(examine(system, metrics, **options), system, keep_calibration, outputs, as_json=as_json)
        return
    from karat.core.metric.spec import parse_all  # noqa: PLC0415  (heavy)
    from karat.data.open import open_source  # noqa: PLC0415
    from karat.runs.store.folders import find_run  # noqa: PLC0415

    parsed = parse_all(metrics)
    data = system if find_run(system) is not None else open_source(system)
    dry_run = asking.rehearses
    if dry_run or any(metric.asks_model for metric in parsed):
        estimate = asking if dry_run else replace(asking, dry_run=True, replies=())
        with warnings.catch_warnings(record=True), ask_models(
            parsed, estimate, same, run=None, beforehand=not dry_run
        ) as chosen:  # fmt: skip
            examine(data, chosen, **options)
    if dry_run:
        return
    with _asking(parsed, asking, same) as chosen, scoring.progress_bar() as progress:
        examination = examine(data, chosen, progress=progress, **options)
    _show(examination, system, keep_calibration, outputs, as_json=as_json)


@contextmanager
def _asking(metrics: Sequence[Metric], asking: ModelOptions, same: Any) -> Iterator[Sequence[Metric]]:
    """Let judges be asked; warnings follow what the models used."""
    with warnings.catch_warnings(record=True) as warned, ask_models(metrics, asking, same, run=None) as chosen:
        warnings.simplefilter("always", UserWarning)
        yield chosen
    for warning in warned:
        click.echo(f"warning: {warning.message}", err=True)


def _show(
    examination: Examination, system: str, keep_calibration: str | None, outputs: Sequence[str], *, as_json: bool
) -> None:
    for output in outputs:
        examination.save(output)
    if keep_calibration is not None:
        examination.save_calibration(keep_calibration)
    if as_json:
        click.echo(json.dumps(examination.as_dict(), ensure_ascii=False))
    else:
        from karat.cli.options.examination_table import print_examination  # noqa: PLC0415  (heavy)

        print_examination(examination, system)
    scoring.exit_if_capped()
    for each in examination.judges:
        if each.n and not each.scored:
            reasons = "".join(f"; {reason}" for reason in (each.replies.errors if each.replies else ()))
            raise click.ClickException(f"{each.score} has no score on {each.n} rows{reasons}")
