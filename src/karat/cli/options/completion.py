"""The types of parameters of which a shell offers values after TAB: metrics, columns, runs, files and folders.

The name of a type stands for its values in the help, as `--by COLUMN`. `shells` has what the shells need besides.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from karat import cli

Offer: TypeAlias = Callable[[click.Context, str], Iterable[str]]

_ROLES = ("prediction", "reference", "question", "contexts", "retrieved", "relevant")


class Offered(click.types.StringParamType):
    """A text for which a shell offers names, paths, or both; bash only paths where no name fits."""

    def __init__(
        self, name: str, offer: Offer | None = None, path: str = "", *, rows: bool = False, missing: str | None = None
    ) -> None:
        self.name = name
        self.missing = missing  # what to type where the text is required
        self.has_rows = rows  # whose columns other parameters name
        self._offer, self._path = offer, path  # "file", "dir" or ""
        self.is_path, self.is_name = bool(path), offer is not None

    def get_missing_message(self, *_: Any, **__: Any) -> str | None:
        """What to type, which stands after "Missing option"."""
        return self.missing

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """The names that begin so, after the paths, which the shell lists by itself."""
        offered = self._offer(ctx, incomplete) if self._offer else ()
        names = dict.fromkeys(name for name in offered if name.startswith(incomplete))
        paths = [CompletionItem(incomplete, type=self._path)] if self._path else []
        return paths + [CompletionItem(name) for name in names]


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
    """`ROLE=`, with a column where one role is meant."""
    roles = [role for role in _ROLES if f"{role}=".startswith(typed) or typed.startswith(f"{role}=")]
    columns = list(_columns(context, "")) if len(roles) == 1 else []
    yield from (f"{role}={column}" for role in roles for column in columns or [""])


def _scored(context: click.Context, typed: str) -> Iterator[str]:
    """The metrics that the runs and files typed before were scored with, else all."""
    specs = list[str]()
    for source in _sources(context):
        from karat.runs.store.run import open_scored  # noqa: PLC0415  (heavy)

        with suppress(Exception):  # what cannot be read has no metrics to offer
            specs += (_find_run(source) or open_scored(Path(source).expanduser())).specs
    yield from specs or _metrics(context, typed)


def _metrics(_context: click.Context, typed: str) -> Iterator[str]:
    """Karat's own, or if none fits, plugins'."""
    offered = [*own_metrics(), *(f"judge:{path}" for path in Path().glob("*.toml"))]
    yield from offered
    if not any(name.startswith(typed) for name in offered):
        from karat.core.metric.registry import all_metrics  # noqa: PLC0415  (heavy)

        yield from (metric.name for metric in all_metrics())


def own_metrics() -> Iterator[str]:
    """The names of karat's own metrics, presets and judges, from their source, which is read faster than imported."""
    folder = Path(cli.__file__).parents[1]
    sources = (path.read_bytes() for path in sorted(folder.glob("metrics/**/*.py")))
    for source in sources:
        for statement in ast.parse(source).body if b"@metric(" in source or b"add_preset(" in source else ():
            match statement:
                case ast.FunctionDef(name=name, decorator_list=[ast.Call(ast.Name("metric"), keywords=keywords), *_]):
                    yield name
                    for keyword in keywords:
                        yield from ast.literal_eval(keyword.value) if keyword.arg == "aliases" else ()
                case ast.Expr(ast.Call(ast.Name("add_preset"), [ast.Constant(str(name)), *_])):
                    yield f"preset:{name}"
    yield from (f"judge:{path.stem}" for path in sorted(folder.glob("judges/prompts/*.toml")))


def _engines(_context: click.Context, _typed: str) -> Iterator[str]:
    from importlib.metadata import entry_points  # noqa: PLC0415  (slow to import)

    yield from ("threads", "processes")
    yield from (point.name for point in entry_points(group="karat.engines"))


def _schemas(_context: click.Context, _typed: str) -> Iterable[str]:
    from karat.cli.options.printed import PRINTED  # noqa: PLC0415  (heavy)

    return PRINTED


def _sources(context: click.Context) -> Iterator[str]:
    """The files and runs that were typed before; arguments are not read yet where a flag still waits for its value."""
    yield from context.args
    for parameter in context.command.params:
        if isinstance(parameter.type, Offered) and parameter.type.has_rows:
            value = context.params.get(parameter.name or "")
            yield from [value] if isinstance(value, str) else value or ()


def _find_run(source: str) -> Any:
    """The run of this name or in this folder; None where a file is meant."""
    from karat.runs.store.folders import find_run  # noqa: PLC0415  (only where a file is looked into)
    from karat.runs.store.run import open_run  # noqa: PLC0415

    return None if find_run(source) is None else open_run(source)


FILE = Offered("file", path="file")
OUT = Offered("out", path="file")
FOLDER = Offered("folder", path="dir")
DATA = Offered("file", path="file", rows=True)
RUN = Offered("run", _runs, rows=True)
ROWS = Offered("rows", _runs, "file", rows=True)
COLUMN = Offered("column", _columns)
LABELS = Offered("labels", _columns, "file")
MAPPING = Offered("role=column", _roles)
_ANY = "-m em -m f1, for example; `karat metrics` lists all, and `karat init FOLDER` tries what can be scored"
SPEC = Offered("spec", _metrics, missing=_ANY)
SCORED = Offered("spec", _scored)
ENGINE = Offered("name", _engines)
SCHEMA = Offered("command", _schemas)
