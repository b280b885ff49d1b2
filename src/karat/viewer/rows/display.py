"""Rows as JSON values: their texts in pieces of which some differ, scores, differences, and what judges said."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.data.json.texts import list_golds, list_texts
from karat.runs.experiment.answers import REPETITION, ROW
from karat.text.word_diff import mark_words
from karat.viewer.rows.columns import own_columns
from karat.viewer.rows.table import RowTable

EXCERPT, WHOLE = 600, 200_000
"""The characters of a text in a list of rows, and in a row on its own."""
_MOST_GOLD, _MOST_MARKED = 8, 20_000  # texts that an answer is compared with, and characters of it
_MOST_REPETITIONS = 50
_SHORT = 100  # characters of the value of a facet
_VERDICT = ("label", "explanation", "statements", "error", "raw")


def show_text(text: str, others: Sequence[str] = (), most: int = EXCERPT) -> dict[str, Any]:
    """A text, cut after `most` characters, in pieces: the words that are in none of the others `differs`.

    Beyond 20 000 characters no word is marked.

    >>> show_text("in Rome", ["in Paris"])
    {'pieces': [('in ', 'same'), ('Rome', 'differs')], 'length': 7, 'cut': False}
    """
    shown = text[:most]
    against = [other[: 2 * most] for other in others[:_MOST_GOLD]]
    marked = min(most, _MOST_MARKED) if against else 0
    pieces = mark_words(shown[:marked], against) if marked else []
    if rest := shown[marked:]:
        pieces.append((rest, "same"))
    return {"pieces": pieces, "length": len(text), "cut": len(text) > most}


def read_texts(cells: Mapping[str, Any], name: str | None) -> list[str]:
    """The texts in the column of this name; nothing where a run has no such column."""
    return [] if name is None else list_texts(cells[name])


def show_rows(table: RowTable, rows: Array) -> list[dict[str, Any]]:
    """The rows of a list: their ids, excerpts of their texts, scores, differences, labels and values of facets."""
    systems = [_System(table, at) for at in range(len(table.runs))]
    cells = [system.read(rows, system.listed) for system in systems]
    shown = []
    for name, *of_row in zip(table.name_rows(rows), *cells, strict=True):
        gold = _first(systems, of_row, "reference")
        answers = [system.show(each, gold) for system, each in zip(systems, of_row, strict=True)]
        for at, each in enumerate(answers):
            each["differences"] = _differences(answers[0]["scores"], each["scores"] if at else None)
        columns = {name: ", ".join(list_texts(of_row[at][name]))[:_SHORT] for name, at in table.facets.items()}
        question = _first(systems, of_row, "question")
        texts = {"question": show_text(question[0]) if question else None, "reference": list(map(show_text, gold))}
        shown.append({"id": name, **texts, "columns": columns, "answers": answers})
    return shown


def show_row(table: RowTable, row: int, *, most: int = WHOLE) -> dict[str, Any]:
    """A row on its own: all its texts, up to `most` characters of each, and what judges said of every answer."""
    systems = [_System(table, at) for at in range(len(table.runs))]
    of_row = [system.read(np.array([row]), system.run.schema.names)[0] for system in systems]
    gold, question = (_first(systems, of_row, role) for role in ("reference", "question"))
    answers = [system.show(each, gold, most) for system, each in zip(systems, of_row, strict=True)]
    own = [read_texts(each, system.columns.prediction) for system, each in zip(systems, of_row, strict=True)]
    first = answers[0]["scores"]
    for at, (system, cells, each) in enumerate(zip(systems, of_row, answers, strict=True)):
        other = own[0] if at else own[1] if len(own) > 1 else None
        scores = zip(table.specs, each["scores"], _differences(first, each["scores"] if at else None), strict=True)
        each |= {
            "name": system.run.name,
            "against": None if other is None else [show_text(text, other, most) for text in own[at]],
            "scores": [{"metric": spec, "score": score, "difference": gain} for spec, score, gain in scores],
            "judges": [_show_judge(spec, cells, details, most) for spec, details in system.details.items() if details],
            "repetitions": system.read_repetitions(row, cells),
        }
        del each["labels"]
    others = [name for name in own_columns(table.runs[0], table.columns[0]) if name not in table.columns[0].roles]
    return {
        "id": table.name_rows(np.array([row]))[0],
        "question": show_text(question[0], most=most) if question else None,
        "reference": [show_text(each, most=most) for each in gold],
        "contexts": [[show_text(text, most=most) for text in read_texts(cells, system.columns.contexts)]
                     for system, cells in zip(systems, of_row, strict=True)],
        "columns": {name: [show_text(text, most=most) for text in list_texts(of_row[0][name])] for name in others},
        "answers": answers,
    }  # fmt: skip


class _System:
    """One of the runs of a table, whose rows are read and shown."""

    def __init__(self, table: RowTable, at: int) -> None:
        self.table, self.at = table, at
        self.run, self.columns = table.runs[at], table.columns[at]
        scored = {metric.spec: metric.by_run[at] for metric in table.metrics}
        self.scores = [metric.column for metric in scored.values()]
        self.details = {spec: self.columns.details[metric.spec] for spec, metric in scored.items()}
        self.labels = [details.get("label") for details in self.details.values()]

    @property
    def listed(self) -> list[str]:
        """The columns that a list of rows shows."""
        texts = (self.columns.prediction, self.columns.question, self.columns.reference, self.columns.reason)
        facets = (name for name, at in self.table.facets.items() if at == self.at)
        return list(dict.fromkeys(name for name in (*texts, *self.scores, *self.labels, *facets) if name is not None))

    def read(self, rows: Array, names: Sequence[str]) -> list[dict[str, Any]]:
        return self.table.texts.read(self.run, self.table.in_run(self.at, rows), names)

    def show(self, cells: Mapping[str, Any], gold: Sequence[str], most: int = EXCERPT) -> dict[str, Any]:
        """The answer, its scores and the judges' labels, in the order of the metrics."""
        return {
            "answer": [show_text(text, gold, most) for text in read_texts(cells, self.columns.prediction)],
            "scores": [_number(cells[name]) for name in self.scores],
            "reason": None if (reason := self.columns.reason) is None else cells[reason],
            "labels": [None if name is None else cells[name] for name in self.labels],
        }

    def read_repetitions(self, row: int, cells: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The other answers to the same row of an experiment."""
        prediction = self.columns.prediction
        if prediction is None or not {ROW, REPETITION} <= set(self.run.schema.names):
            return []
        own = self.table.in_run(self.at, np.array([row]))[0]
        numbers = self.table.texts.find(self.run, ROW, cells[ROW])
        numbers = np.sort(numbers[numbers != own])[:_MOST_REPETITIONS]
        names = [REPETITION, prediction, *self.scores]
        return [{"id": str(each[REPETITION]),
                 "answer": [show_text(text, list_texts(cells[prediction]))
                            for text in list_texts(each[prediction])],
                 "scores": [_number(each[name]) for name in self.scores]}
                for each in self.table.texts.read(self.run, numbers, names)]  # fmt: skip


def _first(systems: Sequence[_System], cells: Sequence[Mapping[str, Any]], role: str) -> list[str]:
    """The texts of the first run that has a column of this role."""
    found = ((each, getattr(system.columns, role)) for system, each in zip(systems, cells, strict=True))
    read = list_golds if role == "reference" else list_texts
    return next((read(each[name]) for each, name in found if name is not None), [])


def _show_judge(spec: str, cells: Mapping[str, Any], details: Mapping[str, str], most: int) -> dict[str, Any]:
    """What a judge said of an answer: label, explanation, statements, the votes of a panel's members, and the rest."""
    said = {detail: cells[name] for detail, name in details.items()}
    names = list(said)
    panel = names[names.index("agreement") + 1 : names.index("input_tokens")] if "agreement" in said else []
    rest = {name: value for name, value in said.items() if name not in {*_VERDICT, *panel} and value is not None}
    return {
        "metric": spec,
        "label": said.get("label"),
        "explanation": _show_cell(said.get("explanation"), most),
        "statements": _show_statements(said.get("statements"), most),
        "votes": [{"name": name, "vote": said[name]} for name in panel],
        "details": {name: _number(value) if isinstance(value, float) else value for name, value in rest.items()},
        "error": _show_cell(said.get("error"), most),
        "raw": _show_cell(said.get("raw"), most),
    }


def _show_statements(text: str | None, most: int) -> list[dict[str, Any]]:
    """The statements of a judge, from its JSON; the names of their parts differ between forms of reply."""
    items = []
    with suppress(ValueError):
        items = [part for each in json.loads(text or "[]") for part in (each, *each.get("statements", ()))]
    return [
        {
            "statement": _show_cell(f"answer {each['answer']}" if "answer" in each else each.get("statement"), most),
            "label": each.get("verdict", each.get("label")),
            "score": each.get("score"),
            "explanation": _show_cell(each.get("reason", each.get("explanation")), most),
        }
        for each in items
    ]


def _show_cell(text: str | None, most: int) -> dict[str, Any] | None:
    return None if text is None else show_text(text, most=most)


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _differences(first: Sequence[float | None], scores: Sequence[float | None] | None) -> list[float | None]:
    """The scores of a system minus those of the first, which itself (None) has no differences."""
    pairs = zip(first, [None] * len(first) if scores is None else scores, strict=True)
    return [None if one is None or other is None else other - one for one, other in pairs]
