"""``karat view``: a page on this machine, to look at runs, compare them and label their rows."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options.browser import has_desktop
from karat.cli.options.completion import COLUMN, FILE, ROWS, SPEC
from karat.cli.options.folder import Folder
from karat.cli.options.label_rule import RuleOptions, offering, rule_options
from karat.cli.options.people import read_choices
from karat.core.errors import DataError

if TYPE_CHECKING:
    from karat.viewer.page.label_file import LabelFile
    from karat.viewer.page.workspace import Workspace

_MOST_LABELS = 10  # a key each


@click.command()
@click.argument("folder", required=False, type=Folder())
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port; default: any free one.")
@click.option("--no-open", is_flag=True, help="Print the address, and open no browser.")
@click.option("--labels", type=FILE, help="Label rows on the page: the file of karat label, made or continued.")
@click.option("--rows", multiple=True, type=ROWS,
              help="What is labelled, such as a file of karat label --next; default: the runs picked.")  # fmt: skip
@click.option("--gold", type=FILE, help="Doubtful gold, of karat gold -o: say what is wrong; --labels is a gold patch.")
@click.option("--label-map", metavar="MAP", help="Labels and their scores: good=1,bad=0, or bad<fair<good.")
@click.option("-m", "--metric", "metrics", multiple=True, type=SPEC,
              help="A judge, whose labels are offered: judge:correctness.")  # fmt: skip
@click.option("--annotator", metavar="NAME", help="Who labels; default: the user's name.")
@click.option("--on", type=COLUMN, help="The id of the rows to label; default: a column with the name of an id.")
@click.option("--show", multiple=True, type=COLUMN,
              help="A column that is shown to whoever labels; default: question, answer and gold.")  # fmt: skip
@rule_options
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Where to listen; others than this machine's own need --expose.")  # fmt: skip
@click.option("--expose", is_flag=True,
              help="Let other machines read these runs: who has the address with its token can, and it is sent in "
              "plain text.")  # fmt: skip
def view(folder: Path | None, *, port: int, no_open: bool, host: str, expose: bool, **labels: Any) -> None:
    """Look at the runs in FOLDER, by default those that `karat runs` lists, on a page in the browser.

    The page compares runs, filters and sorts their rows, and shows runs while they are written. It is served on this
    machine alone, to whoever has the address that is printed. Ctrl-C ends it.

    \b
    karat view
    karat view results --port 8000 --no-open
    karat view --labels labels.jsonl --label-map good=1,bad=0
    karat view --labels labels.jsonl --label-map good=1,bad=0 --rows proposed.csv
    karat view --labels patch.jsonl --gold doubts.jsonl
    karat view --labels labels.jsonl --label-map good=1,bad=0 --until-width 0.06 -m token_f1
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.runs.store.folders import runs_folder  # noqa: PLC0415
    from karat.viewer.page.server import is_loopback, open_port, require_extra, serve  # noqa: PLC0415  (only here)

    require_extra()
    if folder is None and not isinstance(runs := runs_folder(), Path):
        raise DataError(f"KARAT_RUNS is {runs}: the page shows runs of a disk; copy those to look at into a folder")
    if not expose and not is_loopback(host):
        raise click.UsageError(f"--host {host}: other machines could read these runs; --expose says that they may")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # others keep 100 MB that a comparison has freed
    if folder is not None:
        os.environ["KARAT_RUNS"] = str(folder)
    file = _read_labels(**labels)
    opened = open_port(host, port)
    click.echo(opened.address)
    if not no_open and has_desktop():
        click.launch(opened.address)

    def start() -> Workspace:
        from karat.viewer.page.workspace import Workspace  # noqa: PLC0415  (heavy: the port is open before)

        return Workspace(folder, file)

    serve(opened, start)


def _read_labels(
    labels: str | None,
    label_map: str | None,
    metrics: tuple[str, ...],
    annotator: str | None,
    enough: RuleOptions,
    gold: str | None,
    **chosen: Any,
) -> LabelFile | None:
    """The file of labels, where one is named; `chosen` are the rows, `on` and `show`."""
    rule = enough.read()
    if labels is None:
        options = {
            "gold": gold,
            "label-map": label_map,
            "metric": metrics,
            "rows": chosen["rows"],
            "show": chosen["show"],
        }
        options |= {name.replace("_", "-"): value for name, value in vars(enough).items()}
        if without := next((name for name, value in options.items() if value), None):
            raise click.UsageError(f"--{without} needs --labels FILE, where the labels are kept")
        return None
    if not labels.endswith((".jsonl", ".ndjson")):
        raise click.UsageError(f"--labels {labels!r}: expected a name that ends in .jsonl")
    from karat.core.atomic import check_is_file  # noqa: PLC0415  (--help needs no more than click)

    for path in map(Path, (labels, *chosen["rows"], *([gold] if gold else []))):
        check_is_file(path)
    if gold is not None:
        others = {**chosen, **vars(enough), "label_map": label_map, "metric": metrics}
        if used := next((name for name, value in others.items() if value), None):
            raise click.UsageError(
                f"--gold FILE has the rows, and the verdicts are fixed: leave --{used.replace('_', '-')} out"
            )
        from karat.runs.gold.people import CHOICES  # noqa: PLC0415  (heavy)
        from karat.viewer.page.label_file import LabelFile  # noqa: PLC0415

        return LabelFile(Path(labels), annotator or getpass.getuser(), CHOICES, ("gold", gold), rows=(gold,), gold=True)
    judge = offering(metrics, label_map, several=rule is not None)
    choices = read_choices(label_map, judge, _MOST_LABELS)
    from karat.viewer.page.label_file import LabelFile  # noqa: PLC0415  (heavy)

    option = ("label-map", label_map) if label_map else ("metric", judge or "")
    until, price = rule or (None, 0.0)
    return LabelFile(
        Path(labels), annotator or getpass.getuser(), choices, option, until=until, price=price,
        metrics=metrics if until else (), **chosen,
    )  # fmt: skip
