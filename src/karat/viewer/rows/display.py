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
from karat.text.normalise import normalizer
from karat.text.word_diff import mark_words
from karat.viewer.answers import answer_metric
from karat.viewer.rows.columns import name_type, own_columns
from karat.viewer.rows.facets import list_facets
from karat.viewer.rows.table import RowTable

EXCERPT, WHOLE = 600, 200_000
"""The characters of a text in a list of rows, and in a row on its own."""
_MOST_GOLD, _MOST_MARKED = 8, 20_000  # texts that an answer is compared with, and characters of it
_MOST_REPETITIONS = 50
_FOLD = normalizer("squad")
_VERDICT = ("label", "explanation", "statements", "error", "raw")


def mark_text(text: str, others: Sequence[str] = (), most: int = EXCERPT) -> dict[str, Any]:
    """A text, cut after `most` characters, in pieces: the words that are in none of the others `differs`.

    Beyond 20 000 characters no word is marked. A space between two words that differ differs too.

    >>> mark_text("in Rome", ["in Paris"])
    {'pieces': [['in ', 'same'], ['Rome', 'differs']], 'length': 7, 'cut': False}
    """
    shown = text[:most]
    against = [other[: 2 * most] for other in others[:_MOST_GOLD]]
    marked = min(most, _MOST_MARKED) if against else 0
    pieces = _join_spaces(mark_words(shown[:marked], against)) if marked else []
    if rest := shown[marked:]:
        pieces.append([rest, "same"])
    return {"pieces": pieces, "length": len(text), "cut": len(text) > most}


def _join_spaces(pieces: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The pieces, where spaces between two that differ are one piece with them."""
    joined = list[list[str]]()
    for at, (piece, kind) in enumerate(pieces):
        between = piece.isspace() and 0 < at < len(pieces) - 1
        shown = "differs" if between and {pieces[at - 1][1], pieces[at + 1][1]} == {"differs"} else kind
        if joined and joined[-1][1] == shown:
            joined[-1][0] += piece
        else:
            joined.append([piece, shown])
    return joined


def show_answer(texts: Sequence[str], golds: Sequence[str], most: int) -> list[dict[str, Any]]:
    """The texts of an answer; where most of it differs from the gold, the words that are in it are what `matches`.

    >>> [shown["pieces"] for shown in show_answer(["It is Paris, of course"], ["Paris"], 600)]
    [[['It is ', 'same'], ['Paris', 'matches'], [', of course', 'same']]]
    """
    shown = [mark_text(text, golds, most) for text in texts]
    words = [kind for text in shown for piece, kind in text["pieces"] for _ in piece.split()]
    compared = all(min(len(text), most) <= _MOST_MARKED for text in texts)
    if compared and 2 * words.count("differs") > len(words):
        return [text | {"pieces": _turn(text["pieces"])} for text in shown]
    return shown


def _turn(pieces: Sequence[list[str]]) -> list[list[str]]:
    """The pieces, where what was the same is marked, without what stands around its words or is an article alone."""
    turned = list[list[str]]()
    for piece, kind in pieces:
        letters = [at for at, letter in enumerate(piece) if letter.isalnum()]
        start, end = (letters[0], letters[-1] + 1) if letters and kind == "same" else (0, 0)
        inner = "matches" if _FOLD(piece[start:end]) else "same"
        for part, mark in ((piece[:start], "same"), (piece[start:end], inner), (piece[end:], "same")):
            if turned and turned[-1][1] == mark:
                turned[-1][0] += part
            elif part:
                turned.append([part, mark])
    return turned


def describe_table(table: RowTable) -> dict[str, Any]:
    """What the page must know of the rows to show, sort and filter them: metrics, columns and facets."""
    names = dict.fromkeys(name for run in table.runs for name in run.schema.names)
    hidden = {name for columns in table.columns for name in columns.added}
    hidden |= {metric.column for run in table.runs for metric in run.manifest.metrics}
    return {
        "n": table.n,
        "aligned_by": table.key,
        "columns": [_describe_column(table, name) for name in names if name not in hidden],
        "metrics": [answer_metric(metric.by_run[0]) for metric in table.metrics],
        "facets": [field.as_dict() for field in list_facets(table)],
        "notes": list(table.notes),
    }


def _describe_column(table: RowTable, name: str) -> dict[str, Any]:
    at = table.run_with(name)
    kind = name_type(table.runs[at].schema.field(name).type)
    facet = name in table.facets
    return {"name": name, "type": kind, "role": table.columns[at].roles.get(name), "facet": facet,
            "slice": facet, "sort": facet or kind in {"number", "boolean"}}  # fmt: skip


def show_rows(
    table: RowTable, rows: Array, *, whole: bool = False, most: int | None = None, ready: Sequence[Any] | None = None
) -> list[dict[str, Any]]:
    """The rows: their ids, texts of up to `most` characters, scores, differences from the first system, and labels.

    `whole`: with the other columns, contexts, what the judges said of every answer, the words of an answer that are not
    in the first system's (of the first, not in the second's), and repetitions. `found`: what `read_cells`
    has read of them.
    """
    most = most or (WHOLE if whole else EXCERPT)
    systems = [_System(table, at, most) for at in range(len(table.runs))]
    shown = []
    cells = read_cells(table, rows, whole=whole) if ready is None else ready
    for row, name, *of_row in zip(rows.tolist(), table.name_rows(rows), *cells, strict=True):
        question, gold = (_first(systems, of_row, role) for role in ("question", "reference"))
        answers = [system.show(each, gold) for system, each in zip(systems, of_row, strict=True)]
        for at, each in enumerate(answers):
            each["differences"] = _differences(answers[0]["scores"], each["scores"] if at else None)
        texts = {
            "id": name,
            "question": mark_text(question[0], most=most) if question else None,
            "reference": [mark_text(each, most=most) for each in gold],
            "answers": answers,
        }
        shown.append(texts | (_whole(systems, row, of_row, answers) if whole else {}))
    return shown


def read_cells(table: RowTable, rows: Array, *, whole: bool) -> list[list[dict[str, Any]]]:
    """The cells of rows by system, and what may be shown of each: all of its columns if `whole`."""
    systems = [_System(table, at, 0) for at in range(len(table.runs))]
    return [table.read(each.at, rows, each.columns_read(whole=whole)) for each in systems]


def _whole(
    systems: Sequence[_System], row: int, cells: Sequence[Mapping[str, Any]], answers: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What a row has more than in a list, some of it in each of its `answers`."""
    own = [list_texts(_cell(each, system.columns.prediction)) for system, each in zip(systems, cells, strict=True)]
    for at, (system, of_system, each) in enumerate(zip(systems, cells, answers, strict=True)):
        other = own[0] if at else own[1] if len(own) > 1 else None
        each |= {
            "name": system.run.name,
            "against": None if other is None else [mark_text(text, other, system.most) for text in own[at]],
            "judges": [
                _show_judge(spec, of_system, details, system.most)
                for spec, details in system.details.items()
                if details
            ],
            "repetitions": system.read_repetitions(row, of_system),
        }
    first = systems[0]
    return {
        "contexts": [
            [mark_text(text, most=each.most) for text in list_texts(_cell(of_system, each.columns.contexts))]
            for each, of_system in zip(systems, cells, strict=True)
        ],
        "columns": {
            name: [mark_text(text, most=first.most) for text in list_texts(cells[0][name])] for name in first.others
        },
    }


class _System:
    """One of the runs of a table, whose rows are shown with up to `most` characters of a text."""

    def __init__(self, table: RowTable, at: int, most: int) -> None:
        self.table, self.at, self.most = table, at, most
        self.run, self.columns = table.runs[at], table.columns[at]
        scored = {metric.spec: metric.by_run[at] for metric in table.metrics}
        self.scores = [metric.column for metric in scored.values()]
        self.details = {spec: self.columns.details[metric.spec] for spec, metric in scored.items()}
        self.labels = [details.get("label") for details in self.details.values()]
        self.others = (
            [name for name in own_columns(self.run, self.columns) if name not in self.columns.roles]
            if self.columns.others
            else []
        )

    def columns_read(self, *, whole: bool) -> list[str]:
        """The columns that a list of rows shows, or a row on its own."""
        names = [self.columns.prediction, self.columns.question, self.columns.reference, self.columns.reason]
        names += [*self.scores, *self.labels]
        if whole:
            names += [
                self.columns.contexts,
                *self.others,
                *(n for each in self.details.values() for n in each.values()),
            ]
            names += [name for name in (ROW, REPETITION) if self.others and name in self.run.schema.names]
        return list(dict.fromkeys(name for name in names if name is not None))

    def show(self, cells: Mapping[str, Any], gold: Sequence[str]) -> dict[str, Any]:
        """The answer, its scores and the judges' labels, in the order of the metrics."""
        return {
            "answer": show_answer(list_texts(_cell(cells, self.columns.prediction)), gold, self.most),
            "scores": [_number(cells[name]) for name in self.scores],
            "reason": _cell(cells, self.columns.reason),
            "labels": [_cell(cells, name) for name in self.labels],
        }

    def read_repetitions(self, row: int, cells: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The other answers to the same row of an experiment."""
        prediction = self.columns.prediction
        if prediction is None or not {ROW, REPETITION} <= cells.keys():
            return []
        own = self.table.in_run(self.at, np.array([row]))[0]
        numbers = self.table.relation.find(self.run, ROW, cells[ROW])
        numbers = np.sort(numbers[numbers != own])[:_MOST_REPETITIONS]
        names = [REPETITION, prediction, *self.scores]
        return [{"id": str(each[REPETITION]),
                 "answer": [mark_text(text, list_texts(cells[prediction]))
                            for text in list_texts(each[prediction])],
                 "scores": [_number(each[name]) for name in self.scores]}
                for each in self.table.relation.read(self.run, numbers, names)]  # fmt: skip


def _cell(cells: Mapping[str, Any], name: str | None) -> Any:
    """The cell of a column; None where a run has no such column, and for NaN, which JSON does not have."""
    cell = None if name is None else cells[name]
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _first(systems: Sequence[_System], cells: Sequence[Mapping[str, Any]], role: str) -> list[str]:
    """The texts of the first run that has a column of this role, and any there; of graded gold with the grades."""
    for system, each in zip(systems, cells, strict=True):
        cell = _cell(each, getattr(system.columns, role))
        graded = list(cell.items()) if isinstance(cell, dict) else cell
        if isinstance(graded, list) and all(isinstance(each, tuple) for each in graded):
            cell = [f"{name} ({grade})" for name, grade in graded]
        if texts := (list_golds if role == "reference" else list_texts)(cell):
            return texts
    return []


def _show_judge(spec: str, cells: Mapping[str, Any], details: Mapping[str, str], most: int) -> dict[str, Any]:
    """What a judge said of an answer: label, explanation, statements, the votes of a panel's members, and the rest."""
    details_shown = {detail: cells[name] for detail, name in details.items()}
    names = list(details_shown)
    panel = names[names.index("agreement") + 1 : names.index("input_tokens")] if "agreement" in details_shown else []
    rest = {
        name: value for name, value in details_shown.items() if name not in {*_VERDICT, *panel} and value is not None
    }
    return {
        "metric": spec,
        "label": details_shown.get("label"),
        "explanation": _show_cell(details_shown.get("explanation"), most),
        "statements": _show_statements(details_shown.get("statements"), most),
        "votes": [{"name": name, "vote": details_shown[name]} for name in panel],
        "details": {name: _number(value) if isinstance(value, float) else value for name, value in rest.items()},
        "error": _show_cell(details_shown.get("error"), most),
        "raw": _show_cell(details_shown.get("raw"), most),
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
    return None if text is None else mark_text(text, most=most)


def _number(value: Any) -> float | None:
    """A number, which text files hold as text; None for what is missing or has no end."""
    number = math.nan if value in {None, ""} else float(value)
    return number if math.isfinite(number) else None


def _differences(first: Sequence[float | None], scores: Sequence[float | None] | None) -> list[float | None]:
    """The scores of a system minus the first's, which itself (None) has no differences."""
    pairs = zip(first, [None] * len(first) if scores is None else scores, strict=True)
    return [None if one is None or other is None else other - one for one, other in pairs]
