"""``karat experiment``: a task answers every row, and the answers are scored."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from karat.cli.options import scoring
from karat.cli.options.completion import COLUMN, DATA, FILE
from karat.cli.options.gates import Gates
from karat.cli.options.governor import ModelOptions
from karat.cli.options.models import ask_models, model_options
from karat.cli.options.sections import command


@command()
@click.argument("task", type=FILE, metavar="FILE.py:FUNCTION")
@click.option("--data", required=True, type=DATA, help="The rows: questions, with their gold.")
@click.option("--gold", type=DATA, help="A second file with the gold, joined by --on; the task does not see it.")
@click.option("--on", type=COLUMN, help="The id that joins --data and --gold (LEFT=RIGHT where names differ).")
@scoring.gold_patch_option
@click.option(
    "--repetitions", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Answers to each row."
)
@click.option(
    "--attempts", type=click.IntRange(1, 1_000), default=6, show_default=True,
    help="The most calls for a row; only errors that may pass are tried again.",
)  # fmt: skip
@scoring.scoring_options
@model_options
@scoring.progress_option
def experiment(
    task: str,
    data: str,
    metrics: tuple[str, ...],
    as_json: bool,
    gates: Gates,
    asking: ModelOptions,
    **options: Any,
) -> None:
    """Call FUNCTION of FILE.py for every row, and score what it returns.

    Its arguments are the columns that its parameters name, or else the row as a dict; it may be async. It returns the
    prediction: text, a list, or a dict of columns. A row whose last attempt raises an error has a null prediction, and
    the column `error` says why. --concurrency and --timeout are for calls of FUNCTION too.

    \b
    karat experiment task.py:answer --data questions.jsonl -m em -m f1
    karat experiment task.py:answer --data questions.jsonl -m em --run first --repetitions 5
    karat experiment task.py:answer --data questions.jsonl -m em --run first --repetitions 5 --resume
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if asking.rehearses:
        raise click.UsageError(
            "the requests of judges depend on the answers: keep these, and score them with --dry-run"
        )
    from karat.core.metric.spec import parse_all  # noqa: PLC0415  (heavy)
    from karat.runs.experiment.experiment import experiment as run_experiment  # noqa: PLC0415

    timeout = asking.timeout or 60.0
    run, resume, concurrency = options["run"], asking.resume, asking.concurrency
    if resume and run is None:
        raise click.UsageError("--resume continues a run that was stopped: --run NAME says which")
    rows = {name: options[name] for name in ("gold", "on", "where", "limit")}
    rows |= {"gold_patch": patch} if (patch := options["gold_patch"]) else {}
    same = [task, str(Path(data).absolute()), options["map"], rows]
    with warnings.catch_warnings(record=True) as warned, scoring.report_interruption(run):
        parsed = gates.complete(parse_all(metrics))
        if not any(metric.asks_model for metric in parsed):
            asking = replace(asking, concurrency=None, timeout=None)  # they are the task's alone
        options |= {"resume": resume, "concurrency": concurrency, "timeout": timeout}
        with ask_models(parsed, asking, same, run=run) as chosen, scoring.progress_bar() as progress:
            gates = gates.check(parsed, chosen, options["by"], [data, options["gold"]])
            warnings.simplefilter("always", UserWarning)
            result = run_experiment(data, task, chosen, progress=progress, **options)
    lines = [str(warning.message) for warning in warned]
    scoring.print_report({"": result}, lines, gates, as_json=as_json, by=options["by"])
