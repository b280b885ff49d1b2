"""``karat label --gold``: people say of doubtful gold whether it is right, and what is right instead."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import click

from karat.cli.people.terminal import label_all

if TYPE_CHECKING:
    from karat.runs.gold.people import DoubtfulRows


def decide_gold(doubts: str, output: str, annotator: str, seed: int) -> None:
    """Ask about each row of a file of doubtful gold, and say what the gold patch has."""
    from karat.runs.gold.people import GoldSession, open_doubtful_rows  # noqa: PLC0415  (heavy)

    rows = open_doubtful_rows(doubts, seed)
    session = GoldSession(rows, output, annotator, seed)
    with suppress(EOFError, KeyboardInterrupt):
        label_all(session, _Lettered(rows), further=_Asker(rows))
    changes = session.changes()
    click.echo(
        f"{session.finished} of {len(session.rows)} rows are done; {len(changes)} are in the gold patch {output}"
    )
    if session.disputed:
        click.echo(f"not in it, since people disagree: {', '.join(session.disputed)}")
    if changes:
        click.echo(f"score with it: karat score FILE -m METRIC --gold-patch {output}")
        click.echo(f"what follows for other rows: karat gold A B … --gold-patch {output}")


@dataclass(frozen=True)
class _Lettered:
    """The rows, with a letter before each answer."""

    rows: DoubtfulRows

    def read(self, at: int) -> Mapping[str, Any]:
        cells = self.rows.read(at)
        return {**cells, "answers": [f"{_letter(place)}  {text}" for place, text in enumerate(cells["answers"])]}


@dataclass(frozen=True)
class _Asker:
    """Asks for the gold that is right, and why."""

    rows: DoubtfulRows

    def __call__(self, verdict: str, at: int, note: str) -> Mapping[str, Any] | None:
        """What belongs to a verdict; None where nothing was chosen for one that needs it, or it was interrupted."""
        from karat.runs.gold.people import TAKES_GOLD  # noqa: PLC0415  (heavy)

        new, answers = list[str](), self.rows.items[at].answers
        with suppress(click.Abort):
            if verdict in TAKES_GOLD:
                unknown = "; Enter if nobody knows" if verdict == "wrong" else "; Enter goes back"
                letters = f"letters of answers ({_letter(0)}), " if answers else ""
                new = click.prompt(
                    f"right is: {letters}=TEXT for another{unknown}",
                    default="",
                    show_default=False,
                    value_proc=lambda text: read_choice(text, answers),
                )
                if verdict == "also right" and not new:
                    return None
            if verdict != "right" and not note:
                note = click.prompt("why (Enter: no reason)", default="", show_default=False)
            return {"note": note, "new": new}
        return None


def read_choice(text: str, answers: tuple[str, ...]) -> list[str]:
    """The golds that somebody typed: the letters of answers, then = and another one.

    >>> read_choice("a, c = the Seine", ("Seine", "Loire", "La Seine"))
    ['Seine', 'La Seine', 'the Seine']
    """
    letters, _, other = text.partition("=")
    known = {_letter(place): answer for place, answer in enumerate(answers)}
    chosen = list[str]()
    for letter in letters.replace(",", " ").split():
        if letter not in known:
            offered = f"letters from {_letter(0)} to {_letter(len(answers) - 1)}, or =TEXT" if known else "=TEXT"
            raise click.UsageError(f"expected {offered}, found {letter!r}")
        chosen.append(known[letter])
    return list(dict.fromkeys([*chosen, *filter(None, [other.strip()])]))


def _letter(place: int) -> str:
    """The letters of an answer: a to z, then aa, ab and so on."""
    before, last = divmod(place, len(ascii_lowercase))
    return (_letter(before - 1) if before else "") + ascii_lowercase[last]
