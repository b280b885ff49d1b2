"""The commands that score, look and compare: their help has options under headings, and a file may have options."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from karat.cli.options.settings_file import SettingsFile, find_settings, list_options
from karat.core.context import change_context

_OTHER_NAMES = {
    "--choices": "--label-map", "--labels": "--human", "--metrics": "--metric", "--judge": "--metric",
    "--gold-file": "--gold", "--reference": "--gold", "--references": "--gold", "--id": "--on", "--key": "--on",
    "--filter": "--where", "--group-by": "--by", "--column": "--map", "--columns": "--map", "--out": "--output",
    "--name": "--run", "--max-samples": "--limit", "--num-samples": "--limit", "--threshold": "--fail-under",
    "--api-base": "--base-url", "--endpoint": "--base-url", "--workers": "--concurrency", "--repeat": "--repetitions",
    "--max-connections": "--concurrency", "--epochs": "--repetitions", "--max-cost": "--budget",
}  # fmt: skip
"""Options as other tools call them, and what they are called here."""


class Option(click.Option):
    """An option that stands under `heading`."""

    def __init__(self, *names: Any, heading: str, **settings: Any) -> None:
        self.heading = heading
        super().__init__(*names, **settings)


class Command(click.Command):
    """A command whose help has its options under their headings, in the order of the first option of each.

    Options that are not typed are taken from the nearest settings file; it says which.
    """

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

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context, with the options of the settings file as defaults."""
        own = parent is not None and parent.parent is None  # not one of `karat runs`
        skips = parent is None or parent.resilient_parsing or not {"-h", "--help"}.isdisjoint(args)
        file = find_settings() if own and not skips else None
        if file is not None and parent is not None:
            extra["default_map"] = file.defaults(self.name or "", commands_with_settings(parent))
            extra["obj"] = file
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.NoSuchOption as error:
            names = {name for each in self.params for name in each.opts}
            if (other := _OTHER_NAMES.get(error.option_name, "")) in names:
                near = f"No such option {error.option_name!r}. Did you mean {other!r}?"  # click's are alike in spelling
                raise click.NoSuchOption(error.option_name, near, ctx=error.ctx) from error
            raise
        except click.MissingParameter as error:
            says = getattr(error.param and error.param.type, "missing", None)  # what to type
            if isinstance(error.param, click.Option) and not error.message and not says:
                raise click.MissingParameter(error.param.help, error.ctx, error.param) from error
            raise
        except click.BadParameter as error:
            if file is not None and error.ctx and error.param and is_from_file(error.ctx, error.param.name):
                raise click.BadParameter(f"{file.name}: {error.message}", error.ctx, error.param) from error
            raise
        except click.UsageError as error:
            if self.name == "score" and "unexpected extra argument" in error.message:  # a shell expands a pattern
                remedy = "quote a pattern to read its files as one table: karat score 'answers/*.jsonl'"
                several = "Of two systems, score each with --run NAME, and compare the runs"
                raise click.UsageError(f"{error.message}; {remedy}. {several}", error.ctx) from error
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command, and say which options are from the settings file."""
        taken = [
            word
            for key, option in list_options(self).items()
            if is_from_file(ctx, option.name)
            for word in _type_option(key, (ctx.default_map or {})[option.name])
        ]
        if not taken:
            return super().invoke(ctx)
        file: SettingsFile = ctx.obj
        origin = f"{file.name}: {shlex.join(taken)}"
        click.echo(f"from {origin}", err=True)
        with change_context(settings=origin):
            return super().invoke(ctx)


def is_from_file(context: click.Context, name: str | None) -> bool:
    """Whether a parameter has its value from a settings file."""
    return context.get_parameter_source(name or "") is ParameterSource.DEFAULT_MAP


def check_address(name: str, url: str | None, key: str, place: str) -> None:
    """Raise `click.UsageError` where an address that a settings file names would get a key of the environment.

    `name` is the parameter, `key` the variable that holds the key, `place` the one that says where it belongs. That
    host may have it, and this machine. Otherwise the author of the file would receive the key of its user.
    """
    context = click.get_current_context()
    if url is None or not is_from_file(context, name) or not os.environ.get(key, "").strip():
        return
    from karat.viewer.page.server import is_loopback  # noqa: PLC0415  (only where there is such a file)

    if _origin(url) == _origin(os.environ.get(place, "")) or is_loopback(_origin(url)[1]):
        return
    flag = name.replace("_", "-")
    problem = f"{url} would get the key in {key}, and a file is not trusted with it"
    remedy = f"if you trust that address, type --{flag} {url}" + (f", or set {place} to it" if place else "")
    raise click.UsageError(f"{context.obj.name}: {flag}: {problem}; {remedy}")


def _origin(url: str) -> tuple[str, str, int | None]:
    """The scheme, host and port of an address; a text that is none has no host."""
    try:
        parts = urlsplit(url.strip())
        return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", "", None


def commands_with_settings(context: click.Context) -> dict[str, click.Command]:
    """The commands that take options from a settings file, by their names."""
    group: Any = context.command
    commands = ((name, group.get_command(context, name)) for name in group.list_commands(context))
    return {name: each for name, each in commands if isinstance(each, Command)}


def _type_option(key: str, value: Any) -> list[str]:
    """The words that one would type for an option."""
    if isinstance(value, bool):
        return [f"--{key}"] if value else []
    return [word for each in (value if isinstance(value, list) else [value]) for word in (f"--{key}", each)]


Function = TypeVar("Function", bound=Callable[..., Any])


def command() -> Callable[[Callable[..., Any]], click.Command]:
    """As `click.command`, for a command some of whose options have a heading."""
    return click.command(cls=Command)


def options_under(heading: str) -> Callable[..., Callable[[Function], Function]]:
    """As `click.option`, for options under this heading."""
    return partial(click.option, cls=Option, heading=heading)
