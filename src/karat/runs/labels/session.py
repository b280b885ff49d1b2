"""A labelling session: which row is next, and a journal in which every label is kept at once.

The journal is JSON Lines. Each key adds one line, on the disk before the next row is shown, and no line is changed:
taking a label back is a line too. So a session goes on where it was stopped, even by `kill -9`. The session knows no
keys and no screen: a terminal (`karat label`) and a page use the same one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from karat.core.atomic import sync
from karat.core.errors import DataError, SpecError, did_you_mean
from karat.runs.labels.journal import ACTIONS, live_rows
from karat.runs.labels.rows import Row


class Session:
    """One annotator's labels of rows, in an order that depends on the seed alone.

    `rows`: those to label. `path`: the journal, which several annotators may share; it is made, or continued.
    `choices`: the score of each label, in the order in which labels are offered. `seed`: of the order; annotators with
    the same seed see the same rows first, so that what they have both labelled is as much as possible.

    Raises `DataError` where the journal holds another file's rows or labels that are not among the choices.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "labels.jsonl")
    >>> rows = [Row("a", None, None), Row("b", None, None)]
    >>> session = Session(rows, path, "ada", {"good": 1, "bad": 0})
    >>> session.label("good"); session.undo(); session.label("bad", note="too long"); session.skip()
    >>> session.current, session.finished, len(path.read_text().splitlines())
    (None, 2, 4)
    """

    def __init__(
        self, rows: Sequence[Row], path: str | Path, annotator: str, choices: Mapping[str, float], seed: int = 0
    ) -> None:
        if not annotator.strip():
            raise SpecError("a name of the annotator is expected")
        self.rows, self.path, self.annotator, self.choices = rows, Path(path), annotator, choices
        self._order = np.random.default_rng(seed).permutation(len(rows)).tolist()
        self._done: list[int] = self._continue()
        self._labelled = set(self._done)
        self._next = 0

    @property
    def finished(self) -> int:
        """How many rows this annotator has labelled or skipped."""
        return len(self._done)

    @property
    def current(self) -> int | None:
        """The position of the row to label now; None where all are done."""
        while self._next < len(self._order) and self._order[self._next] in self._labelled:
            self._next += 1
        return self._order[self._next] if self._next < len(self._order) else None

    def label(self, name: str, note: str = "") -> None:
        """Give the current row a label; `SpecError` for a name that is not among the choices."""
        if name not in self.choices:
            raise SpecError(f"there is no label {name!r}{did_you_mean(name, self.choices)}")
        self._finish("label", note, label=name, score=self.choices[name])

    def skip(self, note: str = "") -> None:
        """Leave the current row without a label."""
        self._finish("skip", note)

    def undo(self) -> None:
        """Take back this annotator's last label or skip; its row is the current one again."""
        if self._done:
            at = self._done.pop()
            self._labelled.discard(at)
            self._write(at, "undo")
            self._next = 0

    def _finish(self, action: str, note: str, **more: Any) -> None:
        if (at := self.current) is None:
            raise SpecError("all rows are labelled")
        self._write(at, action, **more, **({"note": note} if note else {}))
        self._done.append(at)
        self._labelled.add(at)

    def _write(self, at: int, action: str, **more: Any) -> None:
        """Add a line to the journal, and wait until it is on the disk."""
        row, time = self.rows[at], datetime.now(UTC).isoformat(timespec="seconds")
        line = {"id": row.id, "system": row.system, "annotator": self.annotator, "action": action, **more}
        line |= {"probability": row.probability, "time": time}
        text = json.dumps({name: value for name, value in line.items() if value is not None}, ensure_ascii=False)
        new = not self.path.exists()
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(handle, f"{text}\n".encode(errors="replace"))  # a terminal may send what is no character
            os.fsync(handle)
        finally:
            os.close(handle)
        if new:
            sync(self.path.parent)

    def _continue(self) -> list[int]:
        """The positions of the rows that this annotator has labelled or skipped, in their order."""
        lines = self._read()
        live = live_rows([_key(line) for line in lines], [line["annotator"] for line in lines],
                         [line["action"] for line in lines])  # fmt: skip
        places = {(row.system, row.id): at for at, row in enumerate(self.rows)}
        done = []
        for number in live:
            line, where = lines[number], f"{self.path}, line {number + 1}"
            if (key := (line.get("system"), line["id"])) not in places:
                raise DataError(f"{where}: the row {key[1]!r} is not among those to label; name another file")
            if line["action"] == "label" and self.choices.get(str(line.get("label"))) != line.get("score"):
                offered = ", ".join(f"{name}={score:g}" for name, score in self.choices.items())
                found = f"{line.get('label')}={line.get('score'):g}"
                raise DataError(f"{where}: the label {found} is not among {offered}; name another file")
            if line["annotator"] == self.annotator:
                done.append(places[key])
        return done

    def _read(self) -> list[dict[str, Any]]:
        """The lines of the journal; a last line that a power failure cut short is removed.

        Raises `DataError`, and leaves the file as it is, where it is no journal.
        """
        if not self.path.exists():
            return []
        *whole, rest = self.path.read_bytes().split(b"\n")
        lines = [_parse(text) for text in whole]
        if rest and (last := _parse(rest)):
            lines.append(last)
        if None in lines or (rest and not lines):
            number = lines.index(None) + 1 if None in lines else 1
            problem = "expected a line that karat label has written"
            raise DataError(f"{self.path}, line {number}: {problem}; name another file")
        if rest and len(lines) == len(whole):
            os.truncate(self.path, sum(map(len, whole)) + len(whole))
        elif rest:
            with self.path.open("ab") as journal:
                journal.write(b"\n")
        return [line for line in lines if line is not None]


def _parse(text: bytes) -> dict[str, Any] | None:
    """A line of a journal; None for any other text."""
    try:
        line: dict[str, Any] = json.loads(text)
        return line if line["action"] in ACTIONS and isinstance(line["id"] + line["annotator"], str) else None
    except (ValueError, KeyError, TypeError):
        return None


def _key(line: Mapping[str, Any]) -> str:
    return f"{line.get('system')}\0{line['id']}"
