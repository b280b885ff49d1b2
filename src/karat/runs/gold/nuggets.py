"""People edit a nugget bank: the nuggets as they see them, a session, and the bank that follows from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from karat.core.errors import DataError, SpecError
from karat.data.storage.files import read_small
from karat.data.storage.whole_files import write_bytes
from karat.judges.inputs import Unreadable, read_nuggets
from karat.runs.gold.following import FollowingSession, agree
from karat.runs.labels.rows_to_label import RowToLabel

CHOICES: Mapping[str, float] = {"vital": 1.0, "okay": 0.5, "drop": 0.0, "edit": 0.0}
"""What people say of a nugget; with `edit` another text follows, or further nuggets."""
_IDS, _QUESTIONS = ("qid", "id", "topic_id"), ("query", "question", "topic")
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class NuggetBank:
    """The questions of a file, each with its nuggets; what else its lines hold stays as it is."""

    questions: Mapping[str, dict[str, Any]]

    @cached_property
    def rows(self) -> Sequence[RowToLabel]:
        """The nuggets as a session has them, those of a question together; a question without nuggets is a row too."""
        return [
            RowToLabel(row, str(place), None)
            for row, line in self.questions.items()
            for place in range(max(len(line["nuggets"]), 1))
        ]

    def read(self, at: int) -> dict[str, Any]:
        """What is shown of the nugget at this position, by title."""
        row = self.rows[at]
        line, place = self.questions[row.id], int(row.system or 0)
        nuggets = [spell_nugget(each) for each in line["nuggets"]]
        others = [text for other, text in enumerate(nuggets) if other != place]
        question = next((line[name] for name in _QUESTIONS if name in line), None)
        cells = {"question": question.get("text") if isinstance(question, dict) else question, "other nuggets": others}
        return {name: cell for name, cell in cells.items() if cell} | {
            "nugget": nuggets[place] if nuggets else "none yet: edit adds some"
        }


def open_nugget_bank(path: str | Path) -> NuggetBank:
    """Read a nugget bank, as nuggetizer writes it: JSON Lines, each a question with its id and `nuggets`.

    Raises `DataError` for a line that is none, and for an id that is there twice.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "bank.jsonl")
    >>> _ = path.write_text('{"qid": 7, "query": "Why?", "nuggets": [{"text": "So.", "importance": "okay"}]}')
    >>> open_nugget_bank(path).read(0)
    {'question': 'Why?', 'nugget': 'okay: So.'}
    """
    questions = dict[str, dict[str, Any]]()
    for number, content in enumerate(read_small(path, _MOST_BYTES).split(b"\n"), 1):
        if not content.strip():
            continue
        place = f"{path}, line {number}"
        try:
            line = json.loads(content.decode())
        except ValueError as error:
            raise DataError(f"{place}: expected a question with its nuggets as JSON: {error}") from None
        row = next((line[name] for name in _IDS if name in line), None) if isinstance(line, dict) else None
        if row is None and isinstance(line, dict) and isinstance(line.get("query"), dict):
            row = line["query"].get("qid")
        if row is None or str(row) in questions:
            problem = "it has none" if row is None else f"{row!r} is there before"
            raise DataError(f"{place}: expected an id of its own ({', '.join(_IDS)}), but {problem}")
        if isinstance(nuggets := read_nuggets(line.get("nuggets")), Unreadable):
            raise DataError(f"{place}: nuggets: {nuggets}")
        questions[str(row)] = line
    return NuggetBank(questions)


def spell_nugget(nugget: Mapping[str, Any]) -> str:
    """A nugget as people read and type it.

    >>> spell_nugget({"text": "Rain falls.", "importance": "vital"})
    'vital: Rain falls.'
    """
    return f"{nugget['importance']}: {nugget['text']}"


def parse_nugget(text: str) -> dict[str, str]:
    """A nugget that somebody typed, with or without a + before it. Raises `SpecError` for anything else.

    >>> parse_nugget("+ okay: It is wet.")
    {'text': 'It is wet.', 'importance': 'okay'}
    """
    importance, _, fact = text.removeprefix("+").strip().partition(":")
    if importance.strip() not in ("vital", "okay") or not fact.strip():
        raise SpecError(f"expected vital: TEXT or okay: TEXT, with + before it to add one, found {text!r:.80}")
    return {"text": fact.strip(), "importance": importance.strip()}


class NuggetSession(FollowingSession):
    """One annotator's verdicts on the nuggets of a bank, from which an edited bank follows.

    `path` is the edited bank: nuggets nobody has spoken of, or on which people disagree, are as they were; `disputed`
    has the questions of the latter.
    """

    def __init__(self, bank: NuggetBank, path: str | Path, annotator: str, seed: int = 0) -> None:
        self.bank, self.disputed = bank, list[str]()
        super().__init__(bank.rows, path, annotator, CHOICES, seed)

    def label(self, name: str, at: int, note: str = "", *, replace: bool = False, new: Sequence[str] = ()) -> None:
        """Say what a nugget is. `new`, with `edit`: `vital: TEXT` in its place, `+ okay: TEXT` for one more.

        Raises `SpecError` for other texts, and what `Session.label` raises.
        """
        if (name == "edit") != bool(new):
            raise SpecError("another text goes with edit, and edit needs one")
        added = [text.startswith("+") for text in new if parse_nugget(text)]
        none = 0 <= at < len(self.rows) and not self.bank.questions[self.rows[at].id]["nuggets"]
        if added.count(False) > 1 - none or (none and name not in ("edit", "drop")):
            raise SpecError(
                "there is no nugget yet: add some with +" if none else "one text takes the place of a nugget"
            )
        super().label(name, at, note, replace=replace, new=new)

    def edited(self) -> list[dict[str, Any]]:
        """The lines of the edited bank."""
        verdicts, self.disputed = self.verdicts(), []
        return [
            line | {"nuggets": self._edit(row, line["nuggets"], verdicts)} for row, line in self.bank.questions.items()
        ]

    def _edit(self, row: str, nuggets: Sequence[dict[str, Any]], verdicts: Mapping[Any, Any]) -> list[dict[str, Any]]:
        edited = list[dict[str, Any]]()
        for place, nugget in enumerate(nuggets or [{}]):
            lines = verdicts.get((str(place), row), [])
            if lines and not agree(lines):
                self.disputed += [row] if row not in self.disputed else []
                lines = []
            verdict, new = (lines[0]["label"], lines[0].get("new", [])) if lines else ("", [])
            importance = {"importance": verdict} if verdict in ("vital", "okay") else {}
            kept = [nugget | parse_nugget(text) for text in new if not text.startswith("+")] or [nugget | importance]
            edited += [each for each in kept if each and verdict != "drop"]
            edited += [dict(parse_nugget(text)) for text in new if text.startswith("+")]
        return edited

    def _write(self) -> None:
        if self._lines or self.output.exists():
            lines = (json.dumps(line, ensure_ascii=False) for line in self.edited())
            write_bytes(self.output, "".join(f"{line}\n" for line in lines).encode())
