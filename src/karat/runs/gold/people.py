"""People decide about doubtful gold: the rows as they see them, a session, and the gold patch that follows from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from karat.core.columns.python_values import rows_to_python, to_text
from karat.core.errors import ColumnError, JoinError, SpecError, did_you_mean
from karat.data.json.raw import spell_ids
from karat.data.json.texts import list_golds, list_texts
from karat.data.open import open_source
from karat.data.storage.file_names import name_row
from karat.runs.columns.gold_patch import GoldChange, write_patch
from karat.runs.gold.following import FollowingSession, agree
from karat.runs.labels.rows_to_label import RowToLabel

CHOICES: Mapping[str, float] = {"right": 1.0, "wrong": 0.0, "ambiguous": 0.0, "also right": 0.0}
"""What people say of gold, and whether it can stay as it is."""
TAKES_GOLD = ("wrong", "also right")
"""What people say that has another gold, which for "wrong" nobody need know."""


@dataclass(frozen=True)
class DoubtfulItem:
    """What a person sees of a row: `answers` are the distinct ones of all systems that are not the gold itself."""

    id: str
    question: str | None
    golds: tuple[str, ...]
    contexts: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True)
class DoubtfulRows:
    """The rows of a file of `karat gold -o`, for people; nothing says whose an answer is, or how doubtful its gold."""

    items: Sequence[DoubtfulItem]

    @property
    def rows(self) -> Sequence[RowToLabel]:
        """The rows as a session has them."""
        return [RowToLabel(item.id, None, None) for item in self.items]

    def read(self, at: int) -> dict[str, Any]:
        """What is shown of the row at this position, by title."""
        item = self.items[at]
        cells = {"question": item.question, "contexts": list(item.contexts), "gold": list(dict.fromkeys(item.golds))}
        return {name: cell for name, cell in cells.items() if cell} | {"answers": list(item.answers)}


def open_doubtful_rows(source: Any, seed: int = 0) -> DoubtfulRows:
    """Read what `karat gold -o FILE.jsonl` wrote, or rows with an `id`, a `reference` and, where known, `answers`.

    `seed` is of the order in which answers are shown. Raises `ColumnError` for a column that is missing, `JoinError`
    for an id that is empty or there twice.

    >>> rows = [{"id": 7, "question": "?", "reference": ["Lyon"], "answers": [{"system": "a", "answer": "Paris"},
    ...          {"system": "b", "answer": "Lyon"}, {"system": "c", "answer": "Paris"}]}]
    >>> open_doubtful_rows(rows).read(0)
    {'question': '?', 'gold': ['Lyon'], 'answers': ['Paris']}
    """
    opened = open_source(source)
    names, items = opened.schema.names, dict[str, DoubtfulItem]()
    for name in ("id", "reference"):
        if name not in names:
            problem = f"expected doubtful gold, as karat gold -o FILE.jsonl writes it, but there is no column {name!r}"
            raise ColumnError(f"{opened.name}: {problem}{did_you_mean(name, names)}")
    for batch in opened.batches():
        first = len(items) + 1
        ids = spell_ids(batch.column("id"), f"{opened.name}: column 'id'", first).to_pylist()
        cells = rows_to_python(batch, lambda text: json.loads(text, parse_int=str, parse_float=str))
        for at, (row, cell) in enumerate(zip(ids, cells, strict=True)):
            if row is None or row in items:
                wrong = "it is empty" if row is None else f"{row!r} is there before"
                place = name_row(opened.name, first + at)
                raise JoinError(f"{place}: column 'id': expected an id of its own in every row, but {wrong}")
            items[row] = _read_item(row, cell, np.random.default_rng([seed, len(items)]))
    return DoubtfulRows(list(items.values()))


def _read_item(row: str, cells: Mapping[str, Any], random: np.random.Generator) -> DoubtfulItem:
    golds = tuple(list_golds(cells["reference"]))
    several = cells.get("answers") or ()
    texts = [each.get("answer") if isinstance(each, Mapping) else each for each in several]
    distinct = sorted({text.strip() for text in list_texts(texts)} - {"", *golds})
    answers = tuple(distinct[at] for at in random.permutation(len(distinct)))
    return DoubtfulItem(row, to_text(cells.get("question")), golds, tuple(list_texts(cells.get("contexts"))), answers)


class GoldSession(FollowingSession):
    """One annotator's verdicts on doubtful gold, from which a gold patch follows.

    `path` is the patch. Where people disagree about a row, it is not in the patch, and `disputed` has its id.
    """

    def __init__(self, rows: DoubtfulRows, path: str | Path, annotator: str, seed: int = 0) -> None:
        self.disputed = list[str]()
        self._items = {item.id: item for item in rows.items}
        super().__init__(rows.rows, path, annotator, CHOICES, seed)

    def label(self, name: str, at: int, note: str = "", *, replace: bool = False, new: Sequence[str] = ()) -> None:
        """Say what the gold of a row is, why (`note`), and the gold instead of it or beside it (`new`).

        Raises `SpecError` for new gold where it does not belong, or lacks, and what `Session.label` raises.
        """
        if name == "also right" and not new:
            raise SpecError("also right: the answer that is right beside the gold is expected")
        if new and name not in TAKES_GOLD:
            raise SpecError(f"gold that is {name} has no new one")
        super().label(name, at, note, replace=replace, new=new)

    def changes(self) -> list[GoldChange]:
        """What all people say, a change for each row on which they agree, in the order of the rows."""
        verdicts = {row: lines for (_, row), lines in self.verdicts().items()}
        self.disputed = [row for row in self._items if row in verdicts and not agree(verdicts[row])]
        return [self._change(row, verdicts[row]) for row in self._items if row in verdicts and agree(verdicts[row])]

    def _change(self, row: str, lines: Sequence[Mapping[str, Any]]) -> GoldChange:
        notes = dict.fromkeys(line["note"] for line in lines if line.get("note"))
        who, new = ", ".join(line["annotator"] for line in lines), tuple(lines[0].get("new", ()))
        when = max(line.get("time", "") for line in lines)
        return GoldChange(row, self._items[row].golds, lines[0]["label"], new, who, "; ".join(notes), when)

    def _write(self) -> None:
        changes = self.changes()
        if changes or self.output.exists():
            write_patch(changes, self.output)
