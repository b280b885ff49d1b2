"""Labels by people on the page: the sessions of `karat label`, blind to system and score."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any

from karat.core.errors import DataError, SpecError
from karat.data.json.texts import list_golds, list_texts
from karat.data.roles import matches_role
from karat.runs.labels.session import FinishedRow, Session
from karat.viewer.page.label_file import LabelFile
from karat.viewer.page.query import Query
from karat.viewer.page.workspace import Workspace
from karat.viewer.rows.display import WHOLE, mark_text


class AlreadyFinished(DataError):
    """A label for a row that was finished in another window: `answer` has the row to label now."""

    def __init__(self, reason: str, answer: dict[str, Any]) -> None:
        super().__init__(reason)
        self.answer = answer


class Labelling:
    """The labelling sessions of a page, one for each choice of runs, all with the same file."""

    def __init__(self, file: LabelFile) -> None:
        self._file = file
        self._lock = Lock()  # a session is used by one thread at a time

    def show(self, space: Workspace, query: Query) -> dict[str, Any]:
        """The row to label now, or the one at a place of the shuffled order."""
        with self._lock:
            return self._show(space, query, query.at)

    def mark(self, space: Workspace, query: Query) -> dict[str, Any]:
        """Label or skip the row at a place, or take the last label back; what is shown then is the next row.

        A label for a row that has one already takes its place where `replace` says so.
        """
        action, place, note = query.action, query.at, query.note
        with self._lock:
            rows, session = space.label_rows(query, self._file)
            at = None if place is None else _at(session, place)
            if action == "undo":
                undone = session.undo(at)
                return self._show(space, query, None if undone is None else session.order.index(undone))
            if action is None or at is None:
                raise SpecError("action: label or skip, with the place `at` of the row, or undo is expected")
            try:
                if action == "label":
                    new = _find_gold(rows.read(at), query) if self._file.gold else ()
                    session.label(query.label, at, note, replace=query.replace, new=new)
                else:
                    session.skip(at, note, replace=query.replace)
            except FinishedRow as problem:
                raise AlreadyFinished(str(problem), self._show(space, query, None)) from None
            return self._show(space, query, None)

    def _show(self, space: Workspace, query: Query, place: int | None) -> dict[str, Any]:
        rows, session = space.label_rows(query, self._file)
        at = session.current if place is None else _at(session, place)
        mark = None if at is None else session.mark(at)
        cells = {} if at is None else rows.read(at)
        file, (option, value) = self._file, self._file.option
        options: dict[str, Any] = {option: value, "annotator": file.annotator, "on": file.on}
        options["seed"] = file.seed or None
        interval = session.interval
        if (until := file.until) is not None:
            options |= {"until_width": until.width, "until_cost": until.cost, "price_label": file.price or None}
        narrowing = [word for spec in file.metrics if spec != value for word in ("-m", spec)]
        shown = ["--show", "COLUMN"] if file.show else []  # the names of rows and columns may say whose answer it is
        sources = [] if file.gold else ["ROWS"]
        return {
            "at": None if at is None else session.order.index(at),
            "cells": [{"name": name, "values": [mark_text(text, most=WHOLE) for text in _list_texts(name, cell)]}
                      for name, cell in cells.items()],
            "mark": None if mark is None else {"label": mark.label, "note": mark.note, "new": mark.new},
            **file.describe(),
            "finished": session.finished,
            "total": len(session.rows),
            "interval": None if interval is None else interval.as_dict(),
            "command": space.command("label", *sources, "-o", file.path, *shown, *narrowing, **options),
        }  # fmt: skip


def _list_texts(name: str, cell: Any) -> list[str]:
    """The texts of a cell; of gold each of several."""
    return list_golds(cell) if matches_role("reference", name.removesuffix("[*]")) else list_texts(cell)


def _find_gold(cells: Mapping[str, Any], query: Query) -> list[str]:
    """The gold that was chosen among the answers, and typed."""
    answers = cells["answers"]
    if not all(0 <= place < len(answers) for place in query.chosen):
        raise SpecError(f"chosen: places below {len(answers)} are expected")
    typed = [query.gold.strip()] if query.gold.strip() else []
    return list(dict.fromkeys([*(answers[place] for place in query.chosen), *typed]))


def _at(session: Session, place: int) -> int:
    """The row at a place of the shuffled order, which says nothing of the row's system."""
    if place >= len(session.order):
        raise SpecError(f"at: a number below {len(session.order)} is expected")
    return session.order[place]
