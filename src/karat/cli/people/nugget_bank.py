"""``karat label --nuggets``: people say which nuggets are vital, okay or none, and edit and add some."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import click

from karat.cli.people.terminal import label_all


def edit_nuggets(bank: str, output: str, annotator: str, seed: int) -> None:
    """Ask about each nugget of a bank, and say what became of it."""
    from karat.runs.gold.nuggets import NuggetSession, open_nugget_bank  # noqa: PLC0415  (heavy)

    nuggets = open_nugget_bank(bank)
    session = NuggetSession(nuggets, output, annotator, seed)
    with suppress(EOFError, KeyboardInterrupt):
        label_all(session, nuggets, further=_ask_texts)
    click.echo(f"{session.finished} of {len(session.rows)} nuggets are done; the edited bank is {output}")
    if session.disputed:
        click.echo(f"as before where people disagree: {', '.join(session.disputed)}")


def _ask_texts(verdict: str, _at: int, note: str) -> Mapping[str, Any] | None:
    """What belongs to a verdict: with edit, the texts, one a line; None where there is none."""
    new = list[str]()
    if verdict == "edit":
        hint = "vital: TEXT or okay: TEXT in its place, + vital: TEXT for one more; Enter ends"
        with suppress(click.Abort):
            while text := click.prompt(hint, default="", show_default=False, value_proc=_read_text):
                new.append(text)
        if not new:
            return None
    return {"note": note, "new": new}


def _read_text(text: str) -> str:
    from karat.core.errors import SpecError  # noqa: PLC0415
    from karat.runs.gold.nuggets import parse_nugget  # noqa: PLC0415  (heavy)

    if text := text.strip():
        try:
            parse_nugget(text)
        except SpecError as error:
            raise click.UsageError(str(error)) from None
    return text
