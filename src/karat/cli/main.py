"""``karat``: the group of commands, and how errors leave it.

Exit codes: 0 done, 1 could not run, 2 wrong usage, 3 a value is under `--fail-under`, 4 a system is worse under
`--fail-if-worse`, 5 scores could not be logged, 130 interrupted.
"""

from __future__ import annotations

import errno
import signal
import sys
from io import TextIOWrapper
from typing import Any

import click

import karat
from karat.cli.annotate import annotate
from karat.cli.compare import compare
from karat.cli.doctor import doctor
from karat.cli.experiment import experiment
from karat.cli.fake_llm import fake_llm
from karat.cli.metrics import metrics
from karat.cli.power import power
from karat.cli.runs import runs
from karat.cli.score import score


class _Karat(click.Group):
    def invoke(self, context: click.Context) -> Any:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what is half written is removed
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
        except karat.SpecError as error:
            raise click.UsageError(str(error)) from error
        except karat.KaratError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Karat, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(karat.__version__, message="karat %(version)s")
def main() -> None:
    """How close to gold is each answer, and is the difference between two systems real?"""


for _command in (score, experiment, compare, power, runs, metrics, annotate, doctor, fake_llm):
    main.add_command(_command)
