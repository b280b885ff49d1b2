"""``karat score``: the values of metrics for a file of answers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options import scoring
from karat.cli.options.completion import COLUMN, DATA, FILE
from karat.cli.options.engines import EngineOptions, engine_options
from karat.cli.options.gates import Gates
from karat.cli.options.governor import ModelOptions
from karat.cli.options.hidden_pandas import hide_pandas
from karat.cli.options.models import ask_models, model_options
from karat.cli.options.people import LabelOptions, correction_options
from karat.cli.options.phoenix import SpanOptions, annotate, check_span_map, span_options
from karat.cli.options.sections import command
from karat.cli.options.until import UntilOptions, describe_rows, until_options
from karat.core.context import change_context

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.runs.compare.comparison import Compared
    from karat.runs.scoring.result import Result


@command()
@click.argument("file", type=DATA, required=False)
@scoring.scoring_options
@click.option("--gold", type=DATA, help="A second file with the gold, joined by --on; or qrels.")
@click.option("--on", type=COLUMN, help="The id that joins FILE with --gold and --human (LEFT=RIGHT if it differs).")
@scoring.gold_patch_option
@click.option(
    "--predictions",
    multiple=True,
    type=COLUMN,
    help='Columns with the answers of several systems, or a pattern such as "answer_*": each is scored, and compared.',
)
@click.option("--certificate", type=FILE, help="Cite what a judge's exam certified; a file of --keep-certificate.")
@model_options
@until_options
@correction_options
@span_options
@engine_options
@scoring.progress_option
def score(
    file: str | None,
    metrics: tuple[str, ...],
    as_json: bool,
    certificate: str | None,
    predictions: tuple[str, ...],
    gates: Gates,
    asking: ModelOptions,
    rule: UntilOptions,
    spans: SpanOptions,
    people: LabelOptions,
    engine: EngineOptions,
    **options: Any,
) -> None:
    """Score the answers in FILE (`-`: standard input; a glob: many) and print each metric's value.

    FILE is JSON Lines, JSON, CSV, TSV, Parquet, Arrow, a TREC run or qrels, or spans, each also as .gz or .zst.

    \b
    karat score answers.jsonl -m em -m f1
    karat score answers.csv -m "token_f1(normalize=none)" --map prediction=said --map reference=gold -o scored.parquet
    karat score answers.csv --predictions "answer_*" -m em -m f1 --run first
    karat score run.txt --gold qrels.txt -m ndcg@10 -m "average_precision(rel=2)@100"
    karat score answers.jsonl -m judge:correctness --model NAME --budget 5 --price 1,4 --run first
    karat score answers.jsonl -m em -m judge:correctness --model NAME --until-width 0.06
    karat score answers.jsonl -m em --gold-patch patch.jsonl --run patched
    karat score answers.jsonl -m judge:correctness --model NAME --human labels.csv --on id --label-map good=1,bad=0
    karat score "nightly/*.parquet" -m em --run nightly --engine ray --address ray://head:10001
    karat score --phoenix http://localhost:6006 --project NAME --since 2h -m judge:refusal --model NAME --annotate
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    spans.check(file)
    if file is None and options["gold"] is None:
        check_span_map(options["map"], metrics)
    from karat.core.metric.spec import parse_all  # noqa: PLC0415  (heavy)
    from karat.runs.scoring.pipeline import score as score_rows  # noqa: PLC0415

    if dry_run := asking.rehearses:
        options["output"] = options["run"] = None
    options["resume"] = options["run"] is not None and asking.resume
    options["human"] = people.read(options["run"])
    until = rule.read(asking)
    options["until"] = None if dry_run else until
    chosen_engine = engine.read()
    options |= {"engine": None if dry_run else chosen_engine, "max_failed_tasks": engine.max_failed_tasks}
    outbox = None if dry_run else spans.open_outbox()
    options["keep"] = outbox is not None  # the command prints no rows
    rows = {name: options[name] for name in ("gold", "on", "where", "limit")}
    rows |= {name: value for name, value in (*vars(spans).items(), ("gold_patch", options["gold_patch"])) if value}
    same = [
        None if file is None else str(Path(file).absolute()),
        options["map"],
        rows,
        *([predictions] if predictions else []),
    ]
    with (
        warnings.catch_warnings(record=True) as warned,
        scoring.report_interruption(options["run"]),
        spans.read(file) as data,
    ):
        parsed = gates.complete(parse_all(metrics))
        if isinstance(data, str):  # what Phoenix' client reads are frames of pandas
            hide_pandas(parsed)
        with (
            engine.use_machine(parsed),
            ask_models(parsed, asking, same, run=options["run"], several=bool(predictions)) as chosen,
            scoring.progress_bar() as progress,
        ):
            paid = any(each.asks_model for each in parsed)
            cited = {} if certificate is None or dry_run else _cite(chosen, certificate)
            gates = gates.check(parsed, chosen, options["by"], [file, options["gold"]] if paid else [])
            warnings.simplefilter("always", UserWarning)
            with change_context(certificates=cited):
                if predictions:
                    results = _score_systems(data, chosen, predictions, progress=progress, **options)
                else:
                    results = {"": score_rows(data, chosen, progress=progress, **options)}
    if dry_run:
        if until is not None and asking.dry_run:
            click.echo(describe_rows(until, results, parsed))
        return
    lines = [str(warning.message) for warning in warned]
    for spec, sentence in cited.items():
        click.echo(f"{spec}: {sentence}", err=as_json)
    compared = None if len(results) < 2 or scoring.is_capped() else _compare(results, options)
    try:
        scoring.print_report(results, lines, gates, as_json=as_json, by=options["by"], compared=compared)
    finally:  # also where a value is under its floor
        if outbox is not None and spans.phoenix is not None:
            annotate(results[""], spans.phoenix, outbox)


def _cite(metrics: Sequence[Metric], certificate: str) -> dict[str, str]:
    """What a file of certificates says of each judge."""
    from karat.runs.judge.exam.certificates import cite, read_certificates  # noqa: PLC0415  (heavy)

    kept, judges = read_certificates(certificate), [each for each in metrics if each.judge is not None]
    if not judges:
        raise click.UsageError("--certificate is about judges, but no metric is one: -m judge:NAME")
    return {each.spec: cite(each.judge, kept, certificate) for each in judges if each.judge is not None}


def _score_systems(data: Any, metrics: Any, predictions: tuple[str, ...], **options: Any) -> Mapping[str, Result]:
    """The result of each system, with its rows, which are compared afterwards."""
    from karat.runs.scoring.wide import score_systems  # noqa: PLC0415  (heavy)

    if options.pop("keep"):
        raise click.UsageError("--predictions names several systems, and --annotate writes the scores of one")
    return score_systems(data, metrics, predictions, **options, keep=options["run"] is None)


def _compare(results: Mapping[str, Result], options: Mapping[str, Any]) -> Compared:
    """The other systems compared with the first, as they were scored."""
    from karat.runs.compare.compare import compare  # noqa: PLC0415  (heavy)

    settings = {name: options[name] for name in ("by", "cluster", "confidence", "seed")}
    return compare(*results.values(), **settings)
