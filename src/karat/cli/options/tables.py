"""The flags of commands that write a table of figures to a file: see `karat.runs.display.document`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import click
from click import option

from karat.cli.options.scoring import add_options

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = [
    option("--percent", is_flag=True, help="In .md and .tex: values from 0 to 1 in per cent, differences in points."),
    option("--plus-minus", is_flag=True, help="In .tex: ± half the width of an interval instead of its ends."),
]
_OUTPUT = option(
    "-o", "--output", metavar="OUT",
    help="Also write it to this file: .md (a comment on a pull request), .tex, .html, .json, .csv, .parquet, …",
)  # fmt: skip


@dataclass(frozen=True)
class TableFile:
    """The file that a command writes its figures to, if any."""

    output: str | None
    percent: bool
    plus_minus: bool

    def check(self, *sources: Any) -> None:
        """Raise, before anything is computed, what writing would; `DataError` where the file is one of the sources."""
        if self.output is None:
            if self.percent or self.plus_minus:
                raise click.UsageError(f"--{'percent' if self.percent else 'plus-minus'} is about the file of -o OUT")
            return
        from karat.data.write import refuse_overwriting  # noqa: PLC0415  (heavy)
        from karat.runs.display.document import check_document  # noqa: PLC0415

        check_document(self.output)
        refuse_overwriting(self.output, *sources)

    def write(self, figures: Any) -> None:
        """Write what has figures and a method `save`."""
        if self.output is not None:
            figures.save(self.output, percent=self.percent, plus_minus=self.plus_minus)


def spelling_options(command: Command) -> Command:
    """Give a command `--percent` and `--plus-minus`."""
    return add_options(command, _OPTIONS)


def table_options(command: Command) -> Command:
    """Give a command `--output`, `--percent` and `--plus-minus`; it gets them as one `TableFile`, `table`."""

    @wraps(command)
    def wrapped(**values: Any) -> Any:
        return command(table=TableFile(*(values.pop(name) for name in ("output", "percent", "plus_minus"))), **values)

    return cast("Command", add_options(wrapped, [_OUTPUT, *_OPTIONS]))
