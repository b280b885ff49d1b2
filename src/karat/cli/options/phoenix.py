"""Spans on the command line: from a file or a running Phoenix, and their scores back to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from karat.cli.options.scoring import progress_bar

if TYPE_CHECKING:
    from karat.adapters.phoenix.server.outbox import Logged
    from karat.runs.scoring.result import Result

Command = TypeVar("Command", bound=Callable[..., Any])

UNLOGGED = 5  # exit code: scored, but not all scores are in Phoenix

_NAMES = ("phoenix", "project", "since", "kind", "annotate")
_OPTIONS = [
    click.option(
        "--phoenix", metavar="URL", help="Spans of a running Phoenix, in place of FILE; key: $PHOENIX_API_KEY."
    ),
    click.option("--project", metavar="NAME", help="Phoenix: the project of the spans; else `default`."),
    click.option("--since", metavar="TIME", help="Spans: those that started since, as `2h`, `3d` or an ISO time."),
    click.option("--kind", metavar="KIND", help="Spans: those of a kind, such as LLM, RETRIEVER or CHAIN."),
    click.option("--annotate", is_flag=True, help="Phoenix: log the scores, as annotations of the spans."),
]


def span_options(command: Command) -> Command:
    """Give a command the options of spans; it gets them as one mapping, `spans`."""

    @wraps(command)
    def told(**given: Any) -> Any:
        spans = {name: given.pop(name) for name in _NAMES}
        _check(given["file"], spans)
        return command(spans=spans, **given)

    for option in reversed(_OPTIONS):
        told = option(told)
    return cast("Command", told)


def _check(file: str | None, spans: Mapping[str, Any]) -> None:
    """Refuse what does not go together."""
    url = spans["phoenix"]
    if file is None and url is None:
        raise click.UsageError("Missing argument 'FILE'; or --phoenix URL for the spans of a running Phoenix.")
    if spans["annotate"] and url is None:
        raise click.UsageError("--annotate logs scores to a running Phoenix: --phoenix URL says which")
    if file is not None and url is not None and not spans["annotate"]:
        raise click.UsageError("--phoenix reads spans from there, and so does FILE: with FILE it goes with --annotate")
    if spans["project"] is not None and (url is None or file is not None):
        raise click.UsageError("--project is about spans read from a running Phoenix: --phoenix URL, without FILE")


@contextmanager
def reading(file: str | None, spans: Mapping[str, Any]) -> Iterator[Any]:
    """What is to be scored: the file, the spans in it, or those of a running Phoenix."""
    if file is None:
        from karat.adapters.phoenix.server.connection import spans as spans_of  # noqa: PLC0415  (heavy)

        with progress_bar("reading", "spans") as progress:
            found = spans_of(
                spans["phoenix"], spans["project"] or "default", since=spans["since"], kind=spans["kind"],
                progress=progress,
            )  # fmt: skip
        yield found
    elif spans["since"] or spans["kind"]:
        from karat.data.open import spans as exported  # noqa: PLC0415  (heavy)

        yield exported(file, kind=spans["kind"], since=spans["since"])
    else:
        yield file


def annotate(result: Result, url: str, outbox: Path) -> None:
    """Log the scores; leave with 5 where some could not be logged."""
    from karat.adapters.phoenix.server.outbox import log_annotations  # noqa: PLC0415  (heavy)

    with saying_what_is_left(outbox, url), progress_bar("logging", "annotations") as progress:
        logged = log_annotations(result, url, outbox=outbox, progress=progress)
    say_logged(logged, url)


def outbox_for(spans: Mapping[str, Any]) -> Path | None:
    """Where annotations wait; None where none are asked for. Told before anything is scored: that they cannot."""
    if not spans["annotate"]:
        return None
    from karat.adapters.phoenix.server.outbox import check, new_outbox  # noqa: PLC0415  (heavy)

    check(spans["phoenix"], outbox := new_outbox())
    return outbox


@contextmanager
def saying_what_is_left(outbox: Path, url: str) -> Iterator[None]:
    """Say which file holds what could not be logged, and leave with 5; also where Ctrl-C ended it."""
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


def say_logged(logged: Logged, url: str) -> None:
    """One line of what Phoenix took."""
    rest = f"; {logged.unscored} had no score" if logged.unscored else ""
    click.echo(f"{logged.logged} annotations logged to {url}{rest}", err=True)
