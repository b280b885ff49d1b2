"""``karat demo``: an example of two systems, scored and compared by the commands that users type."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

import click

from karat.cli.options.browser import has_desktop, is_terminal
from karat.cli.options.completion import FOLDER

EXAMPLE = Path(__file__).with_name("example")
COMMANDS = (
    "karat score before.jsonl -m em -m f1 --run before",
    "karat score after.jsonl -m em -m f1 --run after",
    "karat compare before after",
    "karat report before after -o report.html",
)
_NEXT = """\
With your own files:
  karat init FOLDER                            what is in a folder, what can be scored, and a script for it
  karat score FILE -m em -m f1                 one file; `karat metrics` lists all metrics
  karat score FILE … --run NAME                keeps the scores, for karat compare, show, report and view"""


@click.command()
@click.option("-o", "--output", type=FOLDER, help="Keep files and runs in this new folder, not a temporary one.")
@click.option("--no-open", is_flag=True, help="Do not open the report in a browser.")
@click.pass_context
def demo(context: click.Context, output: str | None, *, no_open: bool) -> None:
    """Score two systems of a bundled example, compare them, and open the report.

    60 questions with the answers of two imaginary systems, before and after a change. Nothing is written to the working
    folder unless --output names a folder in it. The report opens from a terminal with a desktop only.

    \b
    karat demo
    karat demo --no-open -o demo
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    folder = _make_folder(output)
    click.echo("60 questions, the answers of two imaginary systems (made for karat, Apache-2.0)")
    kept = os.environ.get("KARAT_RUNS")
    os.environ["KARAT_RUNS"] = "karat-runs"  # the example's runs, whatever folder the user has set
    try:
        with chdir(folder):
            for line in COMMANDS:
                click.secho(f"\n$ {line}", bold=True)
                karat, *words = shlex.split(line)
                context.find_root().command.main(words, karat, standalone_mode=False)
    finally:
        os.environ.pop("KARAT_RUNS")
        if kept is not None:
            os.environ["KARAT_RUNS"] = kept
    page = folder / "report.html"
    click.echo(
        f"\nThe report is {page}\nThe answers and the runs are beside it; delete {folder} when you have seen them.\n"
    )
    click.echo(_NEXT)
    if not no_open and is_terminal() and has_desktop():
        click.launch(page.as_uri())


def _make_folder(output: str | None) -> Path:
    """The folder with the example's files: a new one, or an empty one that is there."""
    if output is None:
        folder = Path(tempfile.mkdtemp(prefix="karat-demo-"))
    else:
        folder = Path(output).absolute()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise click.UsageError(f"--output {output}: expected a new or an empty folder")
        folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(EXAMPLE.glob("*.jsonl")):
        shutil.copyfile(file, folder / file.name)
    return folder.resolve()
