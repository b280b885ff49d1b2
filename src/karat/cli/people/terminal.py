"""A labelling session in a terminal: row after row is shown, and one key is a label."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import click

from karat.cli.options.controls import show_controls

if sys.platform == "win32":
    import msvcrt

    def _is_typed(seconds: float) -> bool:
        """Whether a key is typed within this time."""
        end = monotonic() + seconds
        while not (typed := bool(msvcrt.kbhit())) and monotonic() < end:
            sleep(0.01)
        return typed
else:
    import termios
    import tty
    from select import select

if TYPE_CHECKING:
    from karat.runs.labels.session import Session

Further: TypeAlias = Callable[[str, int, str], Mapping[str, Any] | None]
KEYS = "1234567890"
_INSTANT = 0.3  # seconds after a row is shown, in which nobody can have read it
_REPEAT = 0.12  # seconds within which a key that is held comes again
HELP = """\
A digit gives the label beside it, whose score is in brackets. Every key is kept at once.
s  leave this row without a label
u  take back your last label or skip, and show its row again
n  write a note, which is kept with the label that follows
q  stop; the same command continues here
"""


class Shown(Protocol):
    """Rows of which something is shown."""

    def read(self, at: int) -> Mapping[str, Any]:
        """What is shown of the row at this position, by title."""


def label_all(session: Session, rows: Shown, notice: str = "", further: Further | None = None) -> None:
    """Show row after row, and do what is typed, until all are done or `q`; a notice is shown with the first row.

    `further` asks for what else belongs to a label: it gets the label, the position of the row and the note so far, and
    gives the arguments of `session.label`, or None where the label is not to be kept.
    """
    from karat.runs.labels.session import FinishedRow  # noqa: PLC0415  (heavy)

    keys = dict(zip(KEYS, session.choices, strict=False))
    scores = {name: "" if further else f" ({score:g})" for name, score in session.choices.items()}
    labels = [f"{key} {name}{scores[name]}" for key, name in keys.items()]
    offered = "   ".join([*labels, "s skip", "u undo", "n note", "q quit", "? help"])
    note = ""
    while (at := session.current) is not None:
        with _keyboard() as read:
            click.clear()
            click.echo(f"row {session.finished + 1} of {len(session.rows)}, annotator {session.annotator}")
            if (interval := session.interval) is not None:
                click.echo(interval)
            session.prepare(at)
            for line in _describe(rows.read(at)):
                click.echo(line)
            lines = (note and f"note: {show_controls(note)}", notice, offered)
            click.echo("\n" + "\n".join(filter(None, lines)))
            key, notice = read(), ""
        if key == "q":
            return
        if key == "n":
            note = click.prompt("note", default="", show_default=False)
        elif key == "u":
            notice = "there is nothing to take back" if session.undo() is None else ""
        elif key == "?":
            notice = HELP.replace(", whose score is in brackets", "") if further else HELP
        elif key != "s" and key not in keys:
            notice = f"\a{key!r} is not a key here; the keys are:"
        else:
            more = further(keys[key], at, note) if further and key in keys else {"note": note}
            try:
                if key == "s":
                    session.skip(at, note)
                elif more is not None:
                    session.label(keys[key], at, **more)
            except FinishedRow as problem:
                notice = f"\a{problem}"
            note = ""


@contextmanager
def _keyboard() -> Iterator[Callable[[], str]]:
    """Within the block, keys are read one by one, without Enter; those typed before, for an unseen row, are lost."""
    if sys.platform == "win32":
        yield partial(_read_key, click.getchar, _is_typed)
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def read() -> str:
        key = os.read(terminal, 32).decode(errors="replace")
        if key in ("", "\x04"):
            raise EOFError
        return key

    tty.setcbreak(terminal)
    try:
        yield partial(_read_key, read, lambda seconds: bool(select([terminal], [], [], seconds)[0]))
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read_key(read: Callable[[], str], typed: Callable[[float], bool]) -> str:
    """A key that is pressed once, and not within an instant after the row was shown; `typed` waits for a key.

    A key that is held comes again and again: none of these is taken for a label of a row that nobody has read.
    """
    end = monotonic() + _INSTANT
    while (left := end - monotonic()) > 0:
        if typed(left):
            read()
    while True:
        key = read()
        if not typed(_REPEAT):
            return key
        while typed(_REPEAT):
            read()


def _describe(cells: Mapping[str, Any]) -> Iterable[str]:
    """Each column's name and value; of a list, one value a line."""
    for name, cell in cells.items():
        yield f"\n{click.style(show_controls(name), bold=True)}"
        for each in cell if isinstance(cell, list) else [cell]:
            text = "–" if each is None else show_controls(str(each))
            yield "\n".join(f"  {line}" for line in text.split("\n"))
