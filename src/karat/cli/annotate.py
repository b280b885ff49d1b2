"""``karat annotate``: log scores that could not be logged to a Phoenix before."""

from __future__ import annotations

from pathlib import Path

import click

from karat.cli.options.phoenix import report_logged, report_unlogged
from karat.cli.options.scoring import progress_bar, progress_option


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--phoenix", "url", required=True, metavar="URL", help="The Phoenix that holds the spans.")
@progress_option
def annotate(file: Path, url: str) -> None:
    """Log the annotations in FILE, which `karat score --annotate` wrote because Phoenix could not be reached.

    FILE is removed when all are logged; otherwise it keeps the rest. None is logged twice.

    \b
    karat annotate karat-unsent-20260102T030405.jsonl --phoenix http://localhost:6006
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.adapters.phoenix.server.outbox import send_annotations  # noqa: PLC0415  (heavy)

    with report_unlogged(file, url), progress_bar("logging", "annotations") as progress:
        logged = send_annotations(file, url, progress=progress)
    report_logged(logged, url)
