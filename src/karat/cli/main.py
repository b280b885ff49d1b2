"""``karat``: the group of commands, and the exit code of each kind of error.

Exit codes: 0 done, 1 could not run or nothing was scored, 2 wrong usage, 3 a value is under `--fail-under`, too many
rows are without a score under `--fail-unscored` or `--fail-unless-no-worse` is not shown, 4 a system is worse under
`--fail-if-worse`, 5 scores could not be logged, 6 a cap of calls or of money was reached before all was asked, 7 no
number in a bundle was changed, but not all could be derived again to the last bit, 130 interrupted.
"""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
import threading
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from itertools import chain
from pkgutil import iter_modules
from typing import Any

import click

from karat import cli
from karat.cli import people, start
from karat.core.errors import KaratError, SpecError, did_you_mean
from karat.core.lazy import load_late
from karat.core.version import __version__

load_late("duckdb")  # a tenth of a second, and few rows do without

_SECTIONS = {
    "Start": {
        "init": "find what can be scored in a folder, and write a script for it",
        "demo": "score and compare two systems of a small example",
    },
    "Score": {
        "score": "the answers in a file, by metrics and judges",
        "experiment": "call a function for every row, and score what it returns",
        "judge": "examine a judge: agreement with people, noise, bias",
        "batch": "have a file of judges' requests answered within a day, at less cost",
    },
    "Look": {
        "show": "rows with their scores, the worst first",
        "report": "write an HTML file about one run or several",
        "view": "a page on this machine: rows, plots, labels",
    },
    "Decide": {
        "compare": "is the difference between systems real? --rank: the order of many",
        "power": "how many rows or labels are needed",
        "gold": "which gold is probably wrong, by what systems answer",
    },
    "Labels by people": {
        "label": "label rows in the terminal; --next: which ones",
    },
    "Keep": {
        "runs": "list, show, export, bundle, publish, verify, remove runs",
        "verify": "derive every number in a bundle of runs again",
    },
    "Help": {
        "metrics": "list metrics, judges and presets, or explain one",
        "doctor": "what is installed, compiled and missing",
    },
}
"""The commands that the help lists; the others serve programs: `mcp`, `schema`, `fake-llm`."""

_OTHER_NAMES = {
    **dict.fromkeys(("rank", "leaderboard", "diff", "test"), "compare"),
    **dict.fromkeys(("eval", "evaluate", "metric"), "score"),
    **dict.fromkeys(("annotate", "labels"), "label"),
    **dict.fromkeys(("agreement", "judges", "meta-eval"), "judge"),
    **dict.fromkeys(("ls", "list", "publish", "export", "rm", "remove"), "runs"),
    **dict.fromkeys(("serve", "ui", "dashboard", "open"), "view"),
    **dict.fromkeys(("run", "generate"), "experiment"),
    "inspect": "show", "rows": "show", "html": "report", "new": "init", "start": "init", "version": "--version",
}  # fmt: skip
"""What people type who know other tools, and the command that does it."""


@cache
def _command_files() -> dict[str, str]:
    """The module of each file that may hold a command, by the command's name."""
    return {
        file.name.replace("_", "-"): f"{package.__name__}.{file.name}"
        for package in (cli, people, start)
        for file in iter_modules(package.__path__)
        if not file.ispkg and file.name != "main"
    }


class _Karat(click.Group):
    """A group whose commands are files, each imported when it is called or listed."""

    _is_program = False

    def list_commands(self, context: click.Context) -> list[str]:
        return [name for name in sorted(_command_files()) if self.get_command(context, name)]

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands that people type, by what they want to do."""
        for heading, commands in _SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl(list(commands.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command that is called; the nearest one is named where there is none."""
        if args[0][:1] != "-" and self.get_command(ctx, args[0]) is None:
            other = _OTHER_NAMES.get(args[0])
            near = f"; did you mean {other!r}?" if other else did_you_mean(args[0], chain(*_SECTIONS.values()))
            ctx.fail(f"unknown command {args[0]!r}{near}")
        return super().resolve_command(ctx, args)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """The command that a file of its name holds; None for a file that holds none."""
        if (module := _command_files().get(name)) is None:
            return None
        command = getattr(import_module(module), name.replace("-", "_"), None)
        return command if isinstance(command, click.Command) and command.name == name else None

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        self._is_program = args is None  # else it is called within one, such as a test, which goes on
        return super().main(args, *more, **options)

    def invoke(self, context: click.Context) -> Any:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that temporary files are removed
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode shows ? for ←
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            self._end(130)
        except SystemExit as ended:  # by SIGTERM
            self._end(ended.code)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            raise click.ClickException(_describe(error)) from error
        except SpecError as error:
            raise click.UsageError(_describe(error)) from error
        except KaratError as error:
            failure = click.ClickException(_describe(error))
            if self._is_program and _runs_on():
                failure.show()
                self._end(failure.exit_code)
            raise failure from error

    def _end(self, code: Any) -> None:
        """Exit; also where threads run on."""
        if self._is_program and _runs_on():
            atexit._run_exitfuncs()  # noqa: SLF001  (removes temporary files)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        sys.exit(code)


_GONE = "the folder in which you are has been removed: cd to another one"


def _has_folder() -> bool:
    """Whether the working directory is still there."""
    try:
        return bool(os.getcwd())  # noqa: PTH109  (pathlib's is the same call)
    except OSError:
        return False


def _runs_on() -> bool:
    """Whether a thread was left behind: a metric in Python, a query, or a read of standard input may never return."""
    threads = [each for each in threading.enumerate() if each.name.startswith("karat")]
    return any(each.name in ("karat-query", "karat-mcp") or not each.daemon for each in threads)


def _describe(error: Exception) -> str:
    """The message; what it quotes of a file cannot change the terminal."""
    from karat.cli.options.controls import show_controls  # noqa: PLC0415  (only where a command fails)

    if _has_folder():
        return show_controls(str(error))
    return _GONE if isinstance(error, OSError) else f"{show_controls(str(error))}; {_GONE}"


@click.group(cls=_Karat, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="karat %(version)s")
def main() -> None:
    """How close to gold is each answer, and is the difference between two systems real?

    \b
    karat demo                                            an example
    karat init results                                    what is in a folder, and a script that scores it
    karat score answers.jsonl -m em -m f1 --run before
    karat compare before after
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)


if "_KARAT_COMPLETE" in os.environ:  # a shell asks what may be typed next
    import_module("karat.cli.options.shells")
