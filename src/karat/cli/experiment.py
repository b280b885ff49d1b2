"""``karat experiment``: a task answers every row, and the answers are scored."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from karat.cli.options.models import judging, model_options
from karat.cli.options.scoring import floor, progress_bar, report, saying_how_to_go_on, scoring_options, split


@click.command()
@click.argument("task", metavar="FILE.py:FUNCTION")
@click.option("--data", required=True, metavar="FILE", help="The rows: questions, with their gold.")
@click.option("--gold", metavar="FILE", help="A second file with the gold, joined by --on; the task does not see it.")
@click.option("--on", metavar="COLUMN", help="The id that joins --data and --gold (LEFT=RIGHT where names differ).")
@click.option("--repetitions", type=click.IntRange(min=1), default=1, show_default=True, help="Answers to each row.")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True, metavar="SECONDS",
    help="For each call.",
)  # fmt: skip
@click.option(
    "--attempts", type=click.IntRange(min=1), default=6, show_default=True,
    help="Calls for a row, where calling again may help.",
)  # fmt: skip
@scoring_options
@model_options
def experiment(
    task: str,
    data: str,
    metrics: tuple[str, ...],
    mapping: tuple[str, ...],
    as_json: bool,
    floors: tuple[str, ...],
    asked: Mapping[str, Any],
    **options: Any,
) -> None:
    """Call FUNCTION of FILE.py for every row, and score what it gives.

    It is given the columns that its parameters are called as, else the row as a dict; it may be async. What it gives is
    the prediction: text, a list, or a dict of columns. An error that stays after --attempts is that row's: its
    prediction is null, and the column `error` says why. --concurrency is the most rows under way, 64 if not given.

    \b
    karat experiment task.py:answer --data questions.jsonl -m em -m f1
    karat experiment task.py:answer --data questions.jsonl -m em --run first --repetitions 5
    karat experiment task.py:answer --data questions.jsonl -m em --run first --repetitions 5 --resume
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if asked["dry_run"]:
        raise click.UsageError("--dry-run: what judges are asked depends on the answers: keep them, and score them dry")
    given = dict(split(each, "--map") for each in mapping)
    bounds = [floor(each) for each in floors]
    from karat.runs.experiment.experiment import experiment as carry_out  # noqa: PLC0415  (heavy)

    run, resume, concurrency = options["run"], asked["resume"], asked["concurrency"] or 64
    if resume and run is None:
        raise click.UsageError("--resume goes on with a run that was stopped: --run NAME says which")
    judged = any(spec.strip().startswith("judge:") for spec in metrics)
    asked = asked if judged else {**asked, "concurrency": None}
    same = [task, str(Path(data).absolute()), given, {name: options[name] for name in ("gold", "on", "where", "limit")}]
    with (
        warnings.catch_warnings(record=True) as said,
        saying_how_to_go_on(run),
        judging(metrics, asked, same, kept=run is not None) as chosen,
        progress_bar() as progress,
    ):
        warnings.simplefilter("always", UserWarning)
        result = carry_out(
            data, task, chosen, map=given, resume=resume, concurrency=concurrency, progress=progress, **options
        )
    lines = [str(each.message) for each in said]
    report(result, lines, bounds, as_json=as_json, by=options["by"])
