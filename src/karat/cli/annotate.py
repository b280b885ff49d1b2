"""``karat annotate``: scores that could not be logged to a Phoenix, logged."""

from __future__ import annotations

from pathlib import Path

import click

from karat.cli.options.phoenix import say_logged, saying_what_is_left
from karat.cli.options.scoring import progress_bar


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--phoenix", "url", required=True, metavar="URL", help="The Phoenix that has the spans.")
def annotate(file: Path, url: str) -> None:
    """Log the annotations in FILE, which `karat score --annotate` left where Phoenix was away.

    FILE is gone when all are logged, else it keeps the rest. What is logged already is not logged twice.

    \b
    karat annotate karat-unsent-20260102T030405.jsonl --phoenix http://localhost:6006
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.adapters.phoenix.server.outbox import send_annotations  # noqa: PLC0415  (heavy)

    with saying_what_is_left(file, url), progress_bar("logging", "annotations") as progress:
        logged = send_annotations(file, url, progress=progress)
    say_logged(logged, url)
