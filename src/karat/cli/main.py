"""``karat``: the group of commands, and the exit code of each kind of error.

Exit codes: 0 done, 1 could not run, 2 wrong usage, 3 a value is under `--fail-under`, 4 a system is worse under
`--fail-if-worse`, 5 scores could not be logged, 130 interrupted.
"""

from __future__ import annotations

import errno
import signal
import sys
from importlib import import_module
from io import TextIOWrapper
from pkgutil import iter_modules
from typing import Any

import click

from karat import cli
from karat.core.errors import KaratError, SpecError
from karat.core.version import __version__


class _Karat(click.Group):
    """A group whose commands are the files beside this one, each imported when it is called or listed."""

    def list_commands(self, context: click.Context) -> list[str]:
        names = sorted(file.name.replace("_", "-") for file in iter_modules(cli.__path__))
        return [name for name in names if self.get_command(context, name)]

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """The command that a file of its name holds; None for a file, such as this one, that holds none."""
        file = name.replace("-", "_")
        if file == "main" or not any(each.name == file and not each.ispkg for each in iter_modules(cli.__path__)):
            return None
        command = getattr(import_module(f"{cli.__name__}.{file}"), file, None)
        return command if isinstance(command, click.Command) and command.name == name else None

    def invoke(self, context: click.Context) -> Any:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary files are removed
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode shows ? for ←
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(130)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            raise click.ClickException(str(error)) from error
        except SpecError as error:
            raise click.UsageError(str(error)) from error
        except KaratError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Karat, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="karat %(version)s")
def main() -> None:
    """How close to gold is each answer, and is the difference between two systems real?"""
