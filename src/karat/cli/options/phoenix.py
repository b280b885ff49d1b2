"""Spans on the command line: read from a file or a running Phoenix, to which their scores are logged."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli.options.scoring import option_group, progress_bar
from karat.cli.options.sections import check_address, options_under

if TYPE_CHECKING:
    from karat.adapters.phoenix.server.outbox import Logged
    from karat.runs.scoring.result import Result

UNLOGGED = 5  # exit code: scored, but not all scores are in Phoenix

option = options_under("Spans and Phoenix")
_OPTIONS = [
    option("--phoenix", metavar="URL", help="Read spans from a running Phoenix, not FILE; key: $PHOENIX_API_KEY."),
    option("--project", metavar="NAME", help="The project of the spans; default: `default`."),
    option("--since", metavar="TIME", help="Only those that started since then: `2h`, `3d` or an ISO time."),
    option("--kind", metavar="KIND", help="Only of this kind, such as LLM, RETRIEVER or CHAIN."),
    option("--annotate", is_flag=True, help="Log the scores, as annotations of the spans."),
]


@dataclass(frozen=True)
class SpanOptions:
    """Which spans are scored, and whether their scores are logged."""

    phoenix: str | None
    project: str | None
    since: str | None
    kind: str | None
    annotate: bool

    def check(self, file: str | None) -> None:
        """Raise `click.UsageError` where flags and file contradict each other."""
        check_address("phoenix", self.phoenix, "PHOENIX_API_KEY", "")
        if file is None and self.phoenix is None:
            raise click.UsageError("Missing argument 'FILE'; or --phoenix URL for the spans of a running Phoenix.")
        if self.annotate and self.phoenix is None:
            raise click.UsageError("--annotate logs scores to a running Phoenix: --phoenix URL says which")
        if file is not None and self.phoenix is not None and not self.annotate:
            expected = "one of them, or FILE with --phoenix URL --annotate"
            raise click.UsageError(f"FILE and --phoenix both name spans: expected {expected}")
        if self.project is not None and (self.phoenix is None or file is not None):
            expected = "--phoenix URL, without FILE"
            raise click.UsageError(f"--project is about spans read from a running Phoenix: expected {expected}")

    @contextmanager
    def read(self, file: str | None) -> Iterator[Any]:
        """The data to score: the file, the spans in it, or the spans of a running Phoenix."""
        if file is None and self.phoenix is not None:
            from karat.adapters.phoenix.server.connection import spans  # noqa: PLC0415  (heavy)

            chosen = {"since": self.since, "kind": self.kind}
            with progress_bar("reading", "spans") as progress:
                source = spans(self.phoenix, self.project or "default", **chosen, progress=progress)
            yield source
        elif self.since or self.kind:
            from karat.data.open import spans as exported  # noqa: PLC0415  (heavy)

            yield exported(file, kind=self.kind, since=self.since)
        else:
            yield file

    def open_outbox(self) -> Path | None:
        """The file for annotations that cannot be logged; None without `--annotate`.

        It is called before anything is scored, so that an unusable Phoenix or folder is reported first.
        """
        if not self.annotate or self.phoenix is None:
            return None
        from karat.adapters.phoenix.server.outbox import check, new_outbox  # noqa: PLC0415  (heavy)

        check(self.phoenix, outbox := new_outbox())
        return outbox


span_options = option_group("spans", SpanOptions, _OPTIONS)
"""Give a command the flags of spans; it gets them as `spans`."""


def check_span_map(roles: Mapping[str, str], metrics: Sequence[str]) -> None:
    """Raise `ColumnError` if the metrics cannot be computed on a server's spans, before these are read."""
    from karat.adapters.phoenix.server.connection import check_map  # noqa: PLC0415  (heavy)
    from karat.core.metric.spec import parse_all  # noqa: PLC0415

    check_map(roles, parse_all(metrics))


def annotate(result: Result, url: str, outbox: Path) -> None:
    """Log the scores; exit with 5 where some could not be logged."""
    from karat.adapters.phoenix.server.outbox import log_annotations  # noqa: PLC0415  (heavy)

    with report_unlogged(outbox, url), progress_bar("logging", "annotations") as progress:
        logged = log_annotations(result, url, outbox=outbox, progress=progress)
    report_logged(logged, url)


def publish(name: str, *, url: str) -> int:
    """Log the scores of a run of spans, or what a file holds of scores that could not be logged; how many were.

    Exits with 5 where some could not be logged.
    """
    from karat.adapters.phoenix.server.outbox import log_annotations, new_outbox, send_annotations  # noqa: PLC0415

    is_file = Path(name).is_file()
    outbox = Path(name) if is_file else new_outbox()
    with report_unlogged(outbox, url), progress_bar("logging", "annotations") as progress:
        if is_file:
            return send_annotations(outbox, url, progress=progress).logged
        from karat.runs.store.run import open_run  # noqa: PLC0415  (heavy)

        return log_annotations(open_run(name), url, outbox=outbox, progress=progress).logged


@contextmanager
def report_unlogged(outbox: Path, url: str) -> Iterator[None]:
    """Print which file holds the annotations that could not be logged, and exit with 5; print it on Ctrl-C too."""
    from karat.adapters.phoenix.server.outbox import NotLogged, how_to_send  # noqa: PLC0415  (heavy)

    try:
        yield
    except NotLogged as error:
        click.echo(str(error), err=True)
        sys.exit(UNLOGGED)
    except (KeyboardInterrupt, SystemExit):
        if outbox.exists():
            click.echo(how_to_send(outbox, url), err=True)
        raise


def report_logged(logged: Logged, url: str) -> None:
    """Print how many annotations Phoenix accepted."""
    rest = f"; {logged.unscored} had no score" if logged.unscored else ""
    click.echo(f"{logged.logged} annotations logged to {url}{rest}", err=True)
