"""``karat runs``: list, show, export, bundle, publish, verify and remove the runs that are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from karat.cli.options.completion import COLUMN, FILE, OUT, RUN
from karat.cli.options.gates import margin_option
from karat.cli.options.people import LabelOptions, correction_options
from karat.cli.options.scoring import cluster_option, confidence_option, scored_metric_option, seed_option
from karat.cli.options.sections import Command
from karat.cli.options.tables import bundle_option, spelling_options
from karat.cli.options.targets import TARGETS, publish_run

if TYPE_CHECKING:
    from karat.runs.scoring.result import Result
    from karat.runs.store.kept import KeptRun
    from karat.runs.store.run import Run
    from karat.runs.store.values import StoredValues


class _RunsGroup(click.Group):
    command_class = Command


@click.group(cls=_RunsGroup, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line instead of a table.")
@click.pass_context
def runs(context: click.Context, as_json: bool) -> None:
    """List the runs that are kept, or show, export, publish or remove one.

    A run is a folder of $KARAT_RUNS, else of karat-runs, which `karat score --run NAME` makes: a manifest, the rows
    with their scores (Parquet) and the values (JSON), which other tools can read as they are.

    \b
    karat runs
    karat runs show first
    karat runs export first -o first.csv
    duckdb -c "SELECT topic, avg(em) FROM 'karat-runs/first/rows.parquet' GROUP BY topic"
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    if context.invoked_subcommand is None:
        _list(as_json=as_json)


@runs.command()
@click.argument("name", type=RUN)
@click.option("--json", "as_json", is_flag=True, help="Print the manifest and the values as one JSON object.")
@confidence_option("Of the intervals; default: as scored.", None)
@seed_option("Of the random numbers; default: as scored.", None)
@cluster_option
@correction_options
@click.option("--on", type=COLUMN, help="The id that joins the rows with --human (LEFT=RIGHT if it differs).")
def show(name: str, as_json: bool, on: str | None, people: LabelOptions, **options: Any) -> None:
    """Show the values of the run NAME and how they were computed.

    With --confidence, --seed or --cluster, the intervals are as if the run had been scored so. With --human, the
    values that people would give stand beside them, as if the run had been scored with these labels.
    """
    from karat.cli.options.result_table import print_result  # noqa: PLC0415  (heavy)
    from karat.cli.options.screen import open_screen  # noqa: PLC0415
    from karat.runs.compare.run_values import read_values  # noqa: PLC0415
    from karat.runs.store.run import open_run  # noqa: PLC0415

    run = open_run(name)
    run = read_values(run, **options, human=people.read(run.name), on=on)
    if as_json:
        from karat.cli.options.printed import ShownRun  # noqa: PLC0415  (heavy)

        shown = ShownRun(run.manifest, cast("StoredValues", run.values))
        click.echo(json.dumps(shown.as_dict(), ensure_ascii=False))
        return
    screen = open_screen()
    for heading, text in _describe(run):
        screen.line(f"{heading:9} {text}", "dim")
    result = _result(run)
    print_result(result, by=run.manifest.settings.get("by") or ("group" if any(result.groups.values()) else None))


@runs.command()
@click.argument("name", type=RUN)
@click.option("-o", "--output", required=True, type=OUT, help="The file; its ending is the format.")
@click.option("--values", is_flag=True, help="Write the values instead of the rows to .csv, .json, .parquet, …")
@bundle_option
@spelling_options
def export(name: str, output: str, bundle: str | None, **options: bool) -> None:
    """Write the run NAME to a file.

    The ending says what is written. .csv, .tsv, .json, .jsonl, .parquet, .arrow: the rows. .md, .tex, .html: a table of
    the values. .xml: JUnit, a suite for each metric and a test case for each row, which fails with the lowest score
    there can be and is an error without a score.
    """
    from karat.runs.export.one_file import export_run  # noqa: PLC0415  (heavy)
    from karat.runs.store.run import open_run  # noqa: PLC0415

    run, digest = open_run(name), ""
    if bundle is not None:
        from karat.runs.export.bundle.cite import cite_bundle  # noqa: PLC0415

        digest = cite_bundle(bundle, [run])
    export_run(run, output, bundle=digest, **options)


@runs.command()
@click.argument("names", type=RUN, metavar="NAME...", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=FILE, help="The file, a zip.")
@click.option("--no-texts", is_flag=True, help="Leave out all texts and what judges say; digests stand for them.")
@scored_metric_option
@click.option("--by", type=COLUMN, help="Also compare for each value of this column.")
@cluster_option
@click.option("--on", type=COLUMN, help="The id that matches the rows of the runs, and --human.")
@margin_option
@confidence_option("Of the intervals of differences. Default: 0.95.", None)
@seed_option("Of the random numbers. Default: 0.", None)
@correction_options
@click.option("--gold-patch", type=FILE, help="The patch of the gold. Default: its name in this folder.")
def bundle(names: tuple[str, ...], output: str, no_texts: bool, people: LabelOptions, **options: Any) -> None:
    """Write runs to one file, from which `karat verify` derives every number again.

    It holds the rows, the values and how they were computed, and of several runs how each compares with the first, by
    the options of `karat compare`. Labels by people, with which runs were scored or are compared, are those of --human.
    The same runs make the same bytes. Its digest, which is printed, stands for all of it: name it beside the number.

    \b
    karat runs bundle before after -o answers.zip
    karat verify answers.zip
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.runs.export.bundle.bundle import bundle as write_bundle  # noqa: PLC0415  (heavy)

    chosen = {name: value for name, value in options.items() if value}
    systems = [Path(name).name for name in names]
    human = people.read(systems[0]) if len(names) == 1 else people.read(systems=systems)
    written = write_bundle(*names, output=output, texts=not no_texts, human=human, **chosen)
    for note in written.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"wrote {written.path}", err=True)
    click.echo(written.digest)


@runs.command()
@click.argument("name", type=RUN)
@click.option("--to", "target", required=True, type=click.Choice(list(TARGETS)), help="The tool or the format.")
@click.option("-o", "--output", type=FILE, help="The file to write, for every-eval-ever and huggingface.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="What the target has to know besides.")
def publish(name: str, target: str, output: str | None, settings: tuple[str, ...]) -> None:
    """Send the run NAME, or a file of scored rows, to another tool, or write it in a format that others read.

    --to phoenix logs the scores of a run of spans; NAME may also be the file in which `karat score --annotate` keeps
    scores that Phoenix could not take. That file is removed when all are logged. None is logged twice.

    Addresses and keys come from the tool's own environment variables.

    \b
    karat runs publish first --to mlflow --set experiment=answers
    karat runs publish first --to langfuse
    karat runs publish karat-unsent-20260102T030405.jsonl --to phoenix --set url=http://localhost:6006
    karat runs publish first --to opentelemetry
    karat runs publish first --to huggingface -o .eval_results/gpqa.yaml \\
        --set dataset=Idavidrein/gpqa --set task=gpqa_diamond
    karat runs publish first --to every-eval-ever -o first.json \\
        --set model=acme/answers-7b --set dataset=openqa --set organization=Acme
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    click.echo(publish_run(name, target, output, settings), err=True)


@runs.command()
@click.argument("names", type=RUN, metavar="[NAME]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line instead of text.")
@click.pass_context
def verify(context: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Read all files of runs, and compare them with the checksums that were kept when they were written.

    Without a NAME of all runs, also of those that were not finished. The exit code is 1 if a file is damaged, missing
    or new.
    """
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)
    from karat.runs.store.folders import run_names, unfinished_runs  # noqa: PLC0415
    from karat.runs.store.verify import verify_run  # noqa: PLC0415

    screen, damaged = open_screen(), False
    for name in names or (*run_names(), *unfinished_runs()):
        verified = verify_run(name)
        if as_json:
            click.echo(json.dumps(verified.as_dict(), ensure_ascii=False))
        else:
            screen.line(f"{name}: {verified}", "red" if verified.problems else "")
        damaged |= bool(verified.problems)
    if damaged:
        context.exit(1)


@runs.command()
@click.argument("names", type=RUN, metavar="NAME...", nargs=-1, required=True)
def remove(names: tuple[str, ...]) -> None:
    """Remove runs, finished or not, with all that is kept of them."""
    from karat.runs.store.kept import remove_run  # noqa: PLC0415  (heavy)

    for name in names:
        remove_run(name)


def _list(*, as_json: bool) -> None:
    """Print a line for each run: when it was begun, its rows and its values."""
    from karat.runs.store.kept import list_runs  # noqa: PLC0415  (heavy)

    listed = list_runs()
    if as_json:
        for each in listed:
            click.echo(json.dumps(each.as_dict(), ensure_ascii=False))
    else:
        _print(listed)


_STATES = {
    "running": "is being written",
    "stopped": "not finished: --resume continues it",
    "capped": "not finished, a cap is reached: --resume continues it",
}


def _print(listed: list[KeptRun]) -> None:
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)
    from karat.runs.store.folders import runs_folder  # noqa: PLC0415
    from karat.runs.table.table import Table  # noqa: PLC0415
    from karat.stats.value import format_value  # noqa: PLC0415

    screen = open_screen()
    if not listed:
        screen.line(f"no run is kept in {runs_folder()}: karat score … --run NAME")
        return
    rows = []
    for run in listed:
        stops = {spec: f" ({stop})" for spec, stop in run.stops.items()}
        values = "  ".join(f"{spec} {format_value(value)}{stops.get(spec, '')}" for spec, value in run.values.items())
        so_far = f" ({run.asking})" if run.asking else ""
        state = values if run.state == "finished" else run.problem or f"{_STATES[run.state]}{so_far}"
        created = run.created.replace("+00:00", "Z")
        rows.append([run.name, created, "" if run.n is None else str(run.n), state])
    screen.table(Table.of_texts(["run", "begun", "n", "values"], rows, names=4))


def _describe(run: Run) -> list[tuple[str, str]]:
    """A heading and a text for each line about how a run was made."""
    from karat.metrics.names.legend import name_recipes  # noqa: PLC0415  (heavy)

    manifest = run.manifest
    settings = "  ".join(f"{name}={value}" for name, value in manifest.settings.items() if value is not None)
    lines = [
        *([("state", run.note)] if run.note else []),
        ("run", f"{run.name}, begun {manifest.created}, in {run.path}"),
        ("call", manifest.call),
        ("read", "  ".join(f"{side} {name}" for side, name in manifest.sources.items())),
        ("settings", settings),
        ("versions", "  ".join(f"{name} {version}" for name, version in manifest.versions.items())),
    ]
    lines += [("metric", str(metric.signature)) for metric in manifest.metrics]
    recipes = name_recipes({metric.spec: metric.recipe for metric in manifest.metrics})
    lines += [("recipe", line.removeprefix("recipe ")) for line in recipes]
    if manifest.models is not None:
        lines.append(("models", "  ".join(f"{what}={value}" for what, value in manifest.models.items())))
    return lines


def _result(run: Run) -> Result:
    from karat.runs.compare.run_values import stored_value  # noqa: PLC0415  (heavy)
    from karat.runs.scoring.clusters import Clusters  # noqa: PLC0415
    from karat.runs.scoring.result import Result, Values  # noqa: PLC0415
    from karat.stats.corrected.value import Corrected  # noqa: PLC0415

    def corrected(fields: dict[str, Any]) -> Corrected:
        return Corrected(**fields["corrected"])

    metrics = {metric["spec"]: metric for metric in run.values["metrics"]}
    by_people = metrics if run.values.get("human") else {}
    groups = {spec: each.get("groups", {}) for spec, each in by_people.items()}
    return Result(
        metrics=(),
        values=Values({spec: stored_value(metric) for spec, metric in metrics.items()}),
        n=run.values["n"],
        mapping=run.values["mapping"],
        groups={
            spec: {g: stored_value(v) for g, v in each.get("groups", {}).items()} for spec, each in metrics.items()
        },
        counts={spec: each["counts"] for spec, each in metrics.items() if "counts" in each},
        joined=run.values.get("joined"),
        corrected={spec: corrected(each) for spec, each in by_people.items() if each.get("corrected")},
        corrected_groups={
            s: {g: corrected(v) for g, v in each.items() if v.get("corrected")} for s, each in groups.items()
        },
        human=run.values.get("human"),
        lengths=run.manifest.lengths,
        clusters=None if (stored := run.values.get("clusters")) is None else Clusters(**stored),
        confidence=run.manifest.settings.get("confidence", 0.95),
        stops=run.stops,
        settings=run.manifest.settings,
    )
