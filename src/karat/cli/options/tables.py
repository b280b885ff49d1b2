"""The flags of commands that write a table of figures to a file: see `karat.runs.display.document`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

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


def spelling_options(command: Command) -> Command:
    """Give a command `--percent` and `--plus-minus`."""
    return add_options(command, _OPTIONS)


def table_options(command: Command) -> Command:
    """Give a command `--output`, `--percent` and `--plus-minus`."""
    return add_options(command, [_OUTPUT, *_OPTIONS])
