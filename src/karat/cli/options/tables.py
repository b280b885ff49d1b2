"""The flags of commands that write a table of figures to a file: see `karat.runs.table.document`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
from click import option

from karat.cli.options.completion import FILE, OUT
from karat.cli.options.scoring import Command, add_options, option_group
from karat.cli.options.sections import options_under

_under = options_under("Tables in files")
_OPTIONS = [
    _under("--percent", is_flag=True, help="In .md and .tex: values from 0 to 1 in per cent, differences in points."),
    _under("--plus-minus", is_flag=True, help="In .tex: ± half the width of an interval instead of its ends."),
]
_LABEL = _under("--label", default="", metavar="NAME", help="In .tex: a float with a caption and this label.")
_OUTPUT = option(
    "-o", "--output", "outputs", type=OUT, multiple=True,
    help="Also write it to this file: .md (a comment on a pull request), .tex, .html, .json, .csv, .parquet, …",
)  # fmt: skip


bundle_option = option(
    "--bundle", type=FILE,
    help="Name the bundle of these runs, a file of `karat runs bundle`, by its digest.",
)  # fmt: skip


@dataclass(frozen=True)
class TableFiles:
    """The files that a command writes its figures to."""

    outputs: tuple[str, ...]
    percent: bool = False
    plus_minus: bool = False
    label: str = ""

    def check(self, *sources: Any) -> None:
        """Raise, before anything is computed, what writing would; `DataError` where a file is one of the sources."""
        flags = {"percent": self.percent, "plus-minus": self.plus_minus, "label": self.label}
        for name, value in flags.items():
            if value and not self.outputs:
                raise click.UsageError(f"--{name} is about the file of -o OUT")
        from karat.data.write import refuse_overwriting  # noqa: PLC0415  (heavy)
        from karat.runs.table.document import check_document  # noqa: PLC0415

        if self.label:
            from karat.runs.table.latex import check_label  # noqa: PLC0415  (heavy)

            check_label(self.label)
        for output in self.outputs:
            check_document(output)
            refuse_overwriting(output, *sources)

    def write(self, figures: Any) -> None:
        """Write what has figures and a method `save`."""
        for output in self.outputs:
            figures.save(output, **{name: value for name, value in vars(self).items() if value and name != "outputs"})


def spelling_options(command: Command) -> Command:
    """Give a command `--percent` and `--plus-minus`."""
    return add_options(command, _OPTIONS)


table_options = option_group("table", TableFiles, [_OUTPUT, *_OPTIONS, _LABEL])
"""Give a command the options of files with tables; it gets them as one `TableFiles`, `table`."""
file_option = option_group("table", TableFiles, [_OUTPUT])
"""Give a command the files of a table without values that could be spelled otherwise, as one `TableFiles`, `table`."""
