"""A session from whose journal a file follows, such as a gold patch, which is written anew with every label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from karat.core.errors import DataError
from karat.data.storage.file_names import drop_ending
from karat.runs.labels.journal import ASIDES, live_rows
from karat.runs.labels.rows_to_label import RowToLabel
from karat.runs.labels.session import Session

RowOfSystem: TypeAlias = tuple[str | None, str]
"""The system and the id of a row, by which a journal names it."""


class FollowingSession(Session):
    """One annotator's session; the file at `path` follows from what all annotators say, and the journal lies beside it.

    Raises `DataError` where the file exists and its journal does not.
    """

    def __init__(
        self, rows: Sequence[RowToLabel], path: str | Path, annotator: str, choices: Mapping[str, float], seed: int = 0
    ) -> None:
        self.output, self._lines = Path(path), list[Mapping[str, Any]]()
        journal = self.output.with_name(f"{drop_ending(self.output.name)}.journal.jsonl")
        if self.output.exists() and not journal.exists():
            problem = f"{self.output} exists, but not the journal {journal} from which it would be written anew"
            raise DataError(f"{problem}: name another file (-o)")
        super().__init__(rows, journal, annotator, choices, seed)
        self._write()

    def label(self, name: str, at: int, note: str = "", *, replace: bool = False, new: Sequence[str] = ()) -> None:
        """Give a row a label, and what belongs to it (`new`)."""
        super().label(name, at, note, replace=replace, new=new)
        self._write()

    def skip(self, at: int, note: str = "", *, replace: bool = False) -> None:
        """Leave a row as it is."""
        super().skip(at, note, replace=replace)
        self._write()

    def undo(self, at: int | None = None) -> int | None:
        """Take back a verdict, as a `Session` does a label."""
        undone = super().undo(at)
        self._write()
        return undone

    def verdicts(self) -> dict[RowOfSystem, list[Mapping[str, Any]]]:
        """The journal's lines with what all people say of each row, without what they took back."""
        self._read()
        about = [(f"{line.get('system')} {line['id']}", line["annotator"], line["action"]) for line in self._lines]
        verdicts = dict[RowOfSystem, list[Mapping[str, Any]]]()
        for line in (self._lines[at] for at in (live_rows(*zip(*about, strict=True)) if about else [])):
            if line["action"] == "label":
                verdicts.setdefault((line.get("system"), line["id"]), []).append(line)
        return verdicts

    @abstractmethod
    def _write(self) -> None:
        """Write the file."""

    def _take(self, line: Mapping[str, Any], place: str) -> None:
        super()._take(line, place)
        if line["action"] not in ASIDES:
            self._lines.append(line)


def agree(lines: Sequence[Mapping[str, Any]]) -> bool:
    """Whether people say the same of a row, and of what belongs to it, in any order."""
    return len({(line["label"], frozenset(line.get("new", ()))) for line in lines}) == 1
