"""``karat score``: values of a file of answers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from karat.cli.options.models import judging, model_options
from karat.cli.options.phoenix import annotate, outbox_for, reading, span_options
from karat.cli.options.scoring import floor, progress_bar, report, saying_how_to_go_on, scoring_options, split


@click.command()
@click.argument("file", required=False)
@click.option("--gold", metavar="FILE", help="A second file with the gold, joined by --on; qrels.")
@click.option("--on", metavar="COLUMN", help="The id that joins FILE and --gold (LEFT=RIGHT where names differ).")
@span_options
@scoring_options
@model_options
def score(
    file: str | None,
    metrics: tuple[str, ...],
    mapping: tuple[str, ...],
    as_json: bool,
    floors: tuple[str, ...],
    asked: Mapping[str, Any],
    spans: Mapping[str, Any],
    **options: Any,
) -> None:
    """Score the answers in FILE (`-`: standard input; a glob: many) and print each metric's value.

    JSON Lines, JSON, CSV, TSV, Parquet, Arrow, TREC's runs and qrels, and spans, each also .gz or .zst.

    \b
    karat score answers.jsonl -m exact_match -m token_f1
    karat score answers.csv -m "token_f1(normalize=none)" --map prediction=said --map reference=gold -o scored.parquet
    karat score run.txt --gold qrels.txt -m ndcg@10 -m "average_precision(rel=2)@100"
    karat score answers.jsonl -m judge:correctness --model NAME --budget 5 --run first
    karat score --phoenix http://localhost:6006 --project NAME --since 2h -m judge:refusal --model NAME --annotate
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    given = dict(split(each, "--map") for each in mapping)
    bounds = [floor(each) for each in floors]
    from karat.runs.scoring.pipeline import score as evaluate  # noqa: PLC0415  (heavy)

    if asked["dry_run"]:
        options["output"] = options["run"] = None
    kept = options["run"] is not None
    options["resume"] = kept and asked["resume"]
    outbox = None if asked["dry_run"] else outbox_for(spans)
    if outbox is not None:
        options["keep"] = True
    same = [
        None if file is None else str(Path(file).absolute()),
        given,
        {name: options[name] for name in ("gold", "on", "where", "limit")} | {k: v for k, v in spans.items() if v},
    ]
    with (
        warnings.catch_warnings(record=True) as said,
        saying_how_to_go_on(options["run"]),
        reading(file, spans) as data,
        judging(metrics, asked, same, kept=kept) as chosen,
        progress_bar() as progress,
    ):
        warnings.simplefilter("always", UserWarning)
        result = evaluate(data, chosen, map=given, progress=progress, **options)
    if asked["dry_run"]:
        return
    lines = [str(each.message) for each in said]
    try:
        report(result, lines, bounds, as_json=as_json, by=options["by"])
    finally:  # also where a value is under its floor
        if outbox is not None:
            annotate(result, spans["phoenix"], outbox)
