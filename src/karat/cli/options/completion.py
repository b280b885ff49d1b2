"""What a shell offers after TAB: metrics, columns of the file typed before, runs and files.

What a value is follows from the name of its parameter, else from its metavar; a new command needs nothing here. The
shells are those of click; bash has a script of its own, whose words may have `:` and `=`, and be a run or a file alike.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from karat import cli
from karat.cli.options.schemas import schema_names

Completer: TypeAlias = Callable[[click.Context, str], Iterable[str]]

_SOURCES = ("file", "data", "run", "runs", "system", "systems", "sources", "gold")  # parameters that name rows
_SCORING = ("score", "experiment", "label", "metrics")  # commands that score with any metric
_ROLES = ("prediction", "reference", "question", "contexts", "retrieved", "relevant")
_DEFINED = re.compile(rb"^@metric\b((?:.*\n)*?)def (\w+)\(|^add_preset\(\s*\"(\w+)\"", re.MULTILINE)
_ALIASES = re.compile(rb"aliases=\(([^)]*)\)")
_BASH = """\
%(complete_func)s() {
    local response
    response=$(env KARAT_LINE="${COMP_LINE:0:COMP_POINT}" KARAT_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    COMPREPLY=()
    [[ -n $response ]] && mapfile -t COMPREPLY <<< "$response"
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/:] ]] && compopt -o nospace
    return 0
}
complete -o bashdefault -o default -o nosort -F %(complete_func)s %(prog_name)s
"""


def _runs(_context: click.Context, _typed: str) -> Iterator[str]:
    from karat.runs.store.folders import run_names, unfinished_runs  # noqa: PLC0415  (only where runs are offered)

    yield from run_names()
    yield from unfinished_runs()


def _columns(context: click.Context, _typed: str) -> Iterator[str]:
    """The columns of the files and runs that were typed before."""
    from karat.data.open import open_source  # noqa: PLC0415  (heavy)

    for source in _sources(context):
        with suppress(Exception):  # what cannot be read has no columns to offer
            run = _find_run(source)
            yield from (open_source(Path(source).expanduser()) if run is None else run).schema.names


def _roles(context: click.Context, typed: str) -> Iterator[str]:
    """`ROLE=`, then with a column."""
    role, equals, _ = typed.partition("=")
    yield from (f"{role}={column}" for column in _columns(context, "")) if equals else (f"{each}=" for each in _ROLES)


def _metrics(context: click.Context, typed: str) -> Iterator[str]:
    """Those that the runs and files typed before were scored with; else karat's own, or if none fits, plugins'."""
    scored = list[str]()
    for source in _sources(context) if context.command.name not in _SCORING else ():
        from karat.runs.store.run import open_scored  # noqa: PLC0415  (heavy)

        with suppress(Exception):  # what cannot be read has no metrics to offer
            scored += (_find_run(source) or open_scored(Path(source).expanduser())).specs
    offered = scored or [*_own_metrics(), *(f"judge:{path}" for path in Path().glob("*.toml"))]
    yield from offered
    if not any(name.startswith(typed) for name in offered):
        from karat.core.metric.registry import all_metrics  # noqa: PLC0415  (heavy)

        yield from (metric.name for metric in all_metrics())


def _own_metrics() -> Iterator[str]:
    """The names of karat's own metrics, from their source text, which is read faster than imported."""
    folder = Path(cli.__file__).parents[1]
    for path in sorted(folder.glob("metrics/**/*.py")):
        for decorator, name, preset in _DEFINED.findall(path.read_bytes()):
            yield (name or b"preset:" + preset).decode()
            for aliases in _ALIASES.findall(decorator):
                yield from re.findall(r"[\w@]+", aliases.decode())
    yield from (f"judge:{path.stem}" for path in sorted(folder.glob("judges/prompts/*.toml")))


def _sources(context: click.Context) -> Iterator[str]:
    for name in _SOURCES:
        value = context.params.get(name)
        yield from [value] if isinstance(value, str) else value or ()


def _find_run(source: str) -> Any:
    """The run of this name or in this folder; None where a file is meant."""
    from karat.runs.store.folders import find_run  # noqa: PLC0415  (only where a file is looked into)
    from karat.runs.store.run import open_run  # noqa: PLC0415

    return None if find_run(source) is None else open_run(source)


_OFFERED: dict[str | None, tuple[Completer | str, ...]] = {
    "COLUMN": (_columns,),
    "ROLE=COLUMN": (_roles,),
    "LABELS": (_columns, "file"),
    **dict.fromkeys(("SPEC", "metrics name"), (_metrics,)),
    **dict.fromkeys(("FILE", "OUT", "file", "task"), ("file",)),
    **dict.fromkeys(("FOLDER", "folder"), ("dir",)),
    **dict.fromkeys(("run", "runs", "system", "systems", "sources"), (_runs, "file")),
    **dict.fromkeys(("name", "names"), (_runs,)),
    "command": (lambda _context, _typed: schema_names(),),
}
"""What is offered by metavar or name of a parameter: what a completer yields, and names of files or of folders."""


def _complete(
    offered: Iterable[Completer | str], context: click.Context, _unparsed: click.Context, typed: str
) -> list[CompletionItem]:
    found = [(each, [typed]) if isinstance(each, str) else ("plain", each(context, typed)) for each in offered]
    names = dict.fromkeys((name, kind) for kind, several in found for name in several if name.startswith(typed))
    return [CompletionItem(name, type=kind) for name, kind in names]


class _Completions(ShellComplete):
    """Completion in which parameters are known by their names and metavars."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        command, rest = self.cli, list(args)
        above = click.Context(command, info_name=self.prog_name, **command.context_settings)
        while isinstance(command, click.Group) and rest:
            command = command.get_command(above, rest.pop(0)) or command
        if rest and rest[-1].startswith("-"):
            rest.pop()  # it waits for the value in work; without one, click reads no arguments
        with command.make_context(command.name, rest, above, resilient_parsing=True) as context:
            for parameter in command.params:
                names = (parameter.metavar, f"{command.name} {parameter.name}", parameter.name)
                if offered := next((_OFFERED[name] for name in names if name in _OFFERED), None):
                    parameter.shell_complete = partial(_complete, offered, context)  # type: ignore[method-assign]
            return super().get_completions(args, incomplete)


@add_completion_class
class _Bash(_Completions, BashComplete):
    """Its words are those of the line, as bash cuts its own at `:` and `=`; file names are listed here."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        *words, last = split_arg_string(os.environ["KARAT_LINE"] + "x")  # so that a space at the end begins a word
        return words[1:], last[:-1]

    def complete(self) -> str:
        args, typed = self.get_completion_args()
        items = self.get_completions(args, typed)
        if typed.startswith("--"):
            typed = typed.partition("=")[2] if "=" in typed else typed
        start = 1 + max(typed.rfind(mark) for mark in ":=" if mark in os.environ["KARAT_BREAKS"] + " ")
        names = [name for item in items for name in _expand(item, typed)]
        return "\n".join(_quote(name[start:]) for name in dict.fromkeys(names))


class _WholeWords(_Completions):
    """Completion in shells that take `--option=value` for one word, and files and other words together."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        items = super().get_completions(args, incomplete)
        option, equals, typed = incomplete.partition("=")
        if option.startswith("--") and equals:  # the shell would look for a file of that whole name
            return [CompletionItem(f"{option}={name}") for item in items for name in _expand(item, typed)]
        return items


@add_completion_class
class _Zsh(_WholeWords, ZshComplete):
    """click's script."""


@add_completion_class
class _Fish(_WholeWords, FishComplete):
    """click's script, but for names with a comma."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


def _expand(item: CompletionItem, typed: str) -> Iterable[str]:
    """What an item offers: its value, or the names of files or folders."""
    if item.type == "plain":
        return [item.value]
    return (name for name in _list_files(typed) if item.type == "file" or name.endswith("/"))


def _list_files(typed: str) -> Iterator[str]:
    """The files and folders whose path begins so, folders with a slash at the end."""
    folder, start = os.path.split(typed)
    before = typed[: len(typed) - len(start)]
    with suppress(OSError), os.scandir(Path(folder).expanduser()) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                yield f"{before}{entry.name}{'/' * entry.is_dir()}"


def _quote(name: str) -> str:
    """The name as it is typed in bash; within quotes as it is."""
    try:
        shlex.split(os.environ["KARAT_LINE"])
    except ValueError:
        return name
    return re.sub(r"([^\w@%+=:,./~-])", r"\\\1", name)
