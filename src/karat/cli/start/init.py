"""``karat init``: what is in a folder, what could be scored, and a starting point for it."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from karat.cli.options.controls import show_controls
from karat.cli.options.folder import Folder

if TYPE_CHECKING:
    from karat.cli.options.screen import Screen
    from karat.cli.start.survey.folder import DataFile
    from karat.cli.start.survey.scorable import Scorable
    from karat.cli.start.survey.trials import Proposals

_MOST_LINES = 20  # of one kind


@click.command()
@click.argument("folder", default=".", type=Folder())
@click.option("--overwrite", is_flag=True, help="Replace the files that an earlier karat init wrote, or others.")
def init(folder: Path, *, overwrite: bool) -> None:
    """Look at the files in FOLDER, say what could be scored, and write a script and a GitHub workflow for it.

    karat.sh scores the files that can be scored, and compares those that answer the same questions. task.py is the
    function to fill in where there are questions and gold, but no answers. .github/workflows/karat.yml, in the
    repository that FOLDER is in, scores the first file on GitHub and compares it with the last run of the main branch.
    Each is a start, with comments, to be edited.

    \b
    karat init
    karat init results --overwrite
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.cli.options.screen import open_screen  # noqa: PLC0415  (heavy)
    from karat.cli.start.starting_point import TASK, make_files  # noqa: PLC0415
    from karat.cli.start.survey.trials import propose  # noqa: PLC0415
    from karat.core.atomic import write_text  # noqa: PLC0415

    proposals = propose(folder)
    if not proposals.survey.files:
        formats = ".jsonl, .json, .csv, .tsv, .parquet, .arrow, each also .gz or .zst, or TREC's runs and qrels"
        raise click.ClickException(f"{folder} holds no data files ({formats}); `karat demo` shows an example")
    _print(open_screen(), folder, proposals)
    files, left_out = make_files(folder, proposals)
    if not overwrite and (there := [str(path) for path in files if path.is_symlink() or path.exists()]):
        raise click.ClickException(f"nothing was written: {', '.join(there)} is there; --overwrite replaces it")
    if left_out:
        names = ", ".join(_one_line(str(file.path)) for file in left_out)
        click.echo(
            f"left out: {names}: a name with a line break, a control character or ${{{{ is not written", err=True
        )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        click.echo(f"wrote {path}", err=True)
    if not files:
        raise click.ClickException("nothing was written: nothing can be scored yet")
    if proposals.systems or proposals.questions:
        task = "" if proposals.systems else f"fill in {folder / TASK}, then "
        click.echo(f"next: {task}sh {shlex.quote(str(next(iter(files))))}", err=True)
        if shutil.which("karat") is None:
            click.echo(f"karat is not on your path: . {Path(sys.prefix, 'bin', 'activate')}", err=True)


def _print(screen: Screen, folder: Path, proposals: Proposals) -> None:
    """What there is, what can be scored, and what could not be told."""
    files, systems = proposals.survey.files, [each for group in proposals.systems for each in group]
    opened = f", of which the first {len(files)} were opened" * bool(proposals.survey.further)
    number = len(files) + proposals.survey.further
    screen.line(f"{number:,} data file{'s' * (number != 1)} in {folder}{opened}")
    _list(screen, [f"  {file.path}: {_describe(file)}" for file in files])
    if runs := proposals.survey.runs:
        screen.line(f"{len(runs)} run{'s' * (len(runs) != 1)} of karat")
    if systems:
        screen.line("can be scored, as the first 100 rows show:")
        _list(screen, list(map(_describe_scores, systems)))
    for group in proposals.systems:
        if len(group) > 1:
            screen.line(_one_line(f"can be compared: {', '.join(each.name for each in group)}"))
    _list(screen, [f"{each.name}: {each.note}" for each in systems if each.note])
    hint = "questions and gold, but no answers: karat experiment calls your system"
    _list(screen, [f"{file.path}: {hint}" for file in proposals.questions])
    if proposals.unclear:
        screen.line("could not tell:")
        _list(screen, [f"  {each}" for each in proposals.unclear])


def _describe_scores(each: Scorable) -> str:
    columns = ", ".join(f"{role} ← {column}" for role, column in each.result.mapping.items())
    gold = f" with the gold of {each.gold.path}" if each.gold else ""
    return f"  {each.data.path}{gold}: {', '.join(each.specs)} ({columns})"


def _list(screen: Screen, lines: list[str]) -> None:
    for line in lines[:_MOST_LINES]:
        screen.line(_one_line(line))
    if len(lines) > _MOST_LINES:
        screen.line(f"  and {len(lines) - _MOST_LINES} more")


def _one_line(text: str) -> str:
    """The text, with line breaks and other control characters in a name as their code points."""
    return show_controls(text.replace("\r", "<U+000D>")).replace("\n", "<U+000A>")


def _describe(file: DataFile) -> str:
    """Rows and columns of a file, with the tool that wrote it."""
    from karat.runs.columns.ids import show_column  # noqa: PLC0415  (heavy)

    if file.source is None:
        return "not read, see below"
    rows = "" if file.source.rows is None else f"{file.source.rows:,} row{'s' * (file.source.rows != 1)}, "
    tool = f", a log of {file.tool}" * bool(file.tool)
    names = [show_column(name) for name in file.columns[:8]]
    return f"{rows}{', '.join(names)}{', …' * (len(file.columns) > 8)}{tool}"
