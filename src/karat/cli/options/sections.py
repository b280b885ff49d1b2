"""Options under headings in a command's help: those without one come first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click


class Option(click.Option):
    """An option that stands under `heading`."""

    def __init__(self, *names: Any, heading: str, **settings: Any) -> None:
        self.heading = heading
        super().__init__(*names, **settings)


class Command(click.Command):
    """A command whose help has its options under their headings, in the order of the first option of each."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those without a heading first."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for each in self.get_params(ctx):
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)) is not None:
                heading = each.heading if isinstance(each, Option) else "Options"
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


Function = TypeVar("Function", bound=Callable[..., Any])


def command() -> Callable[[Callable[..., Any]], click.Command]:
    """As `click.command`, for a command some of whose options have a heading."""
    return click.command(cls=Command)


def options_under(heading: str) -> Callable[..., Callable[[Function], Function]]:
    """As `click.option`, for options under this heading."""
    return partial(click.option, cls=Option, heading=heading)
