"""``karat verify``: every number in a bundle of runs derived again, offline, and compared with what is stored."""

from __future__ import annotations

import json
import sys

import click

from karat.cli.options.completion import FILE
from karat.cli.options.scoring import progress_bar, progress_option
from karat.cli.options.sections import command

UNPROVEN = 7  # exit code: nothing was changed, but not all could be derived again to the last bit
_WORDS = {
    "equal": "every score, value, interval and verdict is derived again, to the last bit",
    "last bits": "all is derived again, but for last bits, as on other versions, another platform or processor",
    "not recomputed": "nothing was changed as far as it could be derived again; not all could be",
    "differs": "what is stored is not what is derived: it was damaged or changed",
}


@command()
@click.argument("bundle", type=FILE)
@click.option(
    "--digest", metavar="DIGEST", help="The digest that the bundle has to have, or its first 16 digits or more."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@progress_option
def verify(bundle: str, digest: str | None, as_json: bool) -> None:
    """Derive every score, value, interval and verdict in BUNDLE again, and say bit by bit what agrees.

    BUNDLE is a file of `karat runs bundle`. Its rows are scored, and its runs compared, as by `karat score` and
    `karat compare`; no connection is made. The exit code is 0 if everything agrees to the last bit; 1 if something
    differs or is damaged; 7 if nothing does, but last bits are others, or something could not be derived again, such as
    the scores of a metric of one's own that is not here.

    \b
    karat verify answers.zip
    karat verify answers.zip --digest 28285bb16763d2c1
    """  # noqa: D301  (a \b of its own on a line keeps click from filling the next ones)
    from karat.runs.export.bundle.verify import verify as verify_bundle  # noqa: PLC0415  (heavy)

    if digest is not None and (len(digest) < 16 or set(digest) - set("0123456789abcdef")):
        raise click.BadParameter("expected 16 to 64 digits from 0 to f", param_hint="--digest")
    with progress_bar("scoring again") as progress:
        verified = verify_bundle(bundle, progress=progress)
    if as_json:
        click.echo(json.dumps(verified.as_dict(), ensure_ascii=False))
    else:
        from karat.cli.options.screen import open_screen  # noqa: PLC0415

        screen = open_screen()
        screen.line(f"{bundle}: {verified.digest}")
        for each in verified.elsewhere:
            screen.line(each, "dim")
        screen.table(verified.table)
        words = _WORDS[verified.state]
        if verified.state == "differs" and verified.elsewhere:
            words += ", or the versions above compute it otherwise"
        screen.line(words, "" if verified.state == "equal" else "red")
    if digest is not None and not verified.digest.startswith(digest):
        raise click.ClickException(f"{bundle} has the digest {verified.digest}, expected {digest}")
    if verified.state != "equal":
        sys.exit(1 if verified.state == "differs" else UNPROVEN)
