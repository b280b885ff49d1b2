"""A labelling session: which row is next, and a journal in which every label is kept at once.

Each key adds a line of JSON, on the disk before the next row is shown, and no line is changed: taking a label back is a
line too. So a session goes on after `kill -9`. It knows no keys and no screen: terminal and page use the same one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import DataError, SpecError, did_you_mean
from karat.runs.labels.journal import ASIDES, Journal
from karat.runs.labels.narrowing import LabelPlan, LabelRule, Narrowed, Narrowing
from karat.runs.labels.rows_to_label import RowToLabel, check_whole


class Mark(NamedTuple):
    """What an annotator did with a row: the name of the label, None for a skipped row, a note, and `new` gold."""

    label: str | None
    note: str = ""
    new: tuple[str, ...] = ()


class FinishedRow(DataError):
    """A label for a row that is finished already, such as in another window.

    `at` is the row's position, `mark` what was done with it, and `current` the row to label now.
    """

    def __init__(self, at: int, mark: Mark, current: int | None) -> None:
        done = "skipped" if mark.label is None else f"labelled {mark.label!r}"
        super().__init__(f"this row is {done} already, perhaps in another window; undo takes that back")
        self.at, self.mark, self.current = at, mark, current


class Session:
    """One annotator's labels of rows, in an order that depends on the seed alone.

    `rows`: those to label. `path`: the journal, which several annotators may share; it is made, or continued.
    `choices`: the score of each label, in the order in which labels are offered. `seed`: of the order. Ids are
    shuffled, and within an id its systems: a session that is stopped early has mostly labelled the same rows of all
    systems, and annotators with the same seed see the same rows first.

    A row is named by its position in `rows`. `current` is the row to label now, and a label says which row it is for:
    `label(name, at)`, `skip(at)`, `undo()` or `undo(at)`. Any row may be labelled, and `order` is the way through all.

    Several sessions may write one journal at the same time, in threads and processes, of several annotators or of the
    same one in two windows. Each call first reads what others have added. The same label sent twice is kept once; a
    different one for a row that is finished already is refused with `FinishedRow`, which names the row to label now;
    with `replace` it takes the place of what was there, in one step that nothing can interrupt half done.

    `rule`: when labels are enough. Then `interval` is the one of people's mean, `current` is None once the rule is met,
    and the journal keeps what the interval follows from, and how it ended. A judge of the rule is asked before a label
    is kept, or meanwhile, from `prepare(at)` on; the journal keeps its verdicts, and none is asked for twice.

    Raises `DataError`, at any call, where the journal holds another file's rows or labels that are no choices.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "labels.jsonl")
    >>> rows = [RowToLabel("a", None, None), RowToLabel("b", None, None)]
    >>> session, other = (Session(rows, path, "ada", {"good": 1, "bad": 0}) for window in range(2))
    >>> session.label("good", session.current); session.skip(other.current)
    >>> other.label("bad", other.undo(), note="too long")
    >>> session.label("good", session.order[1], replace=True)
    >>> session.current, session.finished, len(path.read_text().splitlines())
    (None, 2, 6)
    """

    def __init__(
        self,
        rows: Sequence[RowToLabel],
        path: str | Path,
        annotator: str,
        choices: Mapping[str, float],
        seed: int = 0,
        rule: LabelRule | None = None,
    ) -> None:
        if not annotator.strip():
            raise SpecError("a name of the annotator is expected")
        self.rows, self.path, self.annotator, self.choices = rows, Path(path), _clean(annotator), choices
        self.order: Sequence[int] = _shuffle(rows, seed)
        self._places = {(row.system, row.id): at for at, row in enumerate(rows)}
        self._marks: dict[int, list[Mark]] = {}
        self._plan: LabelPlan | None = None
        self._narrowing: Narrowing | None = None
        self._is_stopped = False  # in the journal
        self._verdicts: list[tuple[list[int], list[float | None]]] = []  # in the journal
        self._asked_now: tuple[list[int], Future[Array]] | None = None
        self._journal = Journal(self.path, self._take)
        self._read()
        if rule is not None:
            self._narrow(rule, seed)

    @property
    def finished(self) -> int:
        """How many rows this annotator has labelled or skipped."""
        self._read()
        return len(self._marks)

    @property
    def current(self) -> int | None:
        """The position of the row to label now; None where all are done."""
        self._read()
        return self._first_unfinished()

    @property
    def interval(self) -> Narrowed | None:
        """The interval of this annotator's mean over all rows; None without a rule."""
        self._read()
        return self._interval()

    def mark(self, at: int) -> Mark | None:
        """What this annotator has done with a row; None for a row that is not finished."""
        self._read()
        return self._mark(at)

    def label(self, name: str, at: int, note: str = "", *, replace: bool = False, new: Sequence[str] = ()) -> None:
        """Give a row a label; `SpecError` for a name that is not among the choices, `FinishedRow` as said above."""
        if name not in self.choices:
            raise SpecError(f"there is no label {name!r}{did_you_mean(name, self.choices)}")
        self._finish(at, Mark(name, _clean(note), tuple(map(_clean, new))), replace=replace)

    def skip(self, at: int, note: str = "", *, replace: bool = False) -> None:
        """Leave a row without a label; `FinishedRow` as said above."""
        self._finish(at, Mark(None, _clean(note)), replace=replace)

    def undo(self, at: int | None = None) -> int | None:
        """Take back this annotator's last label or skip, or the row's at `at`; the row, None where there is none."""
        with self._journal.hold():
            at = next(reversed(self._marks), None) if at is None else at
            if at is None or at not in self._marks:
                return None
            self._journal.append(self._line(at, None))
            return at

    def prepare(self, at: int) -> None:
        """Begin to ask the judge, in a thread, what the label of this row needs; the label then waits for it alone."""
        if self._narrowing is not None and self._asked_now is None and (rows := self._unknown(at)):
            call = ThreadPoolExecutor(1).submit(copy_context().run, self._narrowing.ask, rows)
            self._asked_now = rows, call

    def settle(self) -> None:
        """Wait for the judge, where it was asked ahead of a label, and keep its verdicts."""
        if (begun := self._asked_now) is not None:
            self._asked_now = None
            self._keep_verdicts(begun[0], begun[1].result())

    def _unknown(self, at: int | None) -> list[int]:
        """The rows whose verdicts the label of a row needs, None: the first label, and the journal does not have."""
        self._read()
        place = None if at is None else self.order.index(at)
        return [] if self._narrowing is None or at in self._marks else self._narrowing.unknown(place)

    def _ask(self, at: int | None) -> None:
        """Ask the judge what the label of a row needs, and keep it."""
        self.settle()
        if self._narrowing is not None and (rows := self._unknown(at)):
            self._keep_verdicts(rows, self._narrowing.ask(rows))

    def _keep_verdicts(self, rows: Sequence[int], scores: Array) -> None:
        kept = [None if np.isnan(score) else float(score) for score in scores]
        content = {"rows": [self.rows[at].id for at in rows], "scores": kept}
        with self._journal.hold(create=True):
            self._journal.append(*self._first_lines(), self._aside("judge", content))

    def _first_lines(self) -> list[dict[str, Any]]:
        """The plan, if the journal has none."""
        new = None if self._plan is not None else self._narrowing
        return [] if new is None else [self._aside("plan", vars(new.plan))]

    def _first_unfinished(self) -> int | None:
        if (interval := self._interval()) is not None and interval.stop:
            return None
        return next((at for at in self.order if at not in self._marks), None)

    def _mark(self, at: int) -> Mark | None:
        return self._marks[at][-1] if at in self._marks else None

    def _read(self) -> None:
        with self._journal.hold():
            pass

    def _finish(self, at: int, mark: Mark, *, replace: bool) -> None:
        if not 0 <= at < len(self.rows):
            raise SpecError(f"there is no row {at}: a position from 0 to {len(self.rows) - 1} is expected")
        self._ask(at)
        with self._journal.hold(create=True):
            there = self._mark(at)
            if there == mark:
                return
            if there is not None and not replace:
                raise FinishedRow(at, there, self._first_unfinished())
            undone = [self._line(at, None) for _ in self._marks.get(at, ())]
            self._journal.append(*self._first_lines(), *undone, self._line(at, mark))
            self._note_stop()

    def _narrow(self, rule: LabelRule, seed: int) -> None:
        check_whole(self.rows)
        self._narrowing = Narrowing(rule, self.order, self.choices.values(), seed)
        with self._journal.hold():
            if self._plan is not None:
                self._narrowing.follow(self._plan, str(self.path))
            for verdicts in self._verdicts:
                self._narrowing.keep(*verdicts)
        self._ask(None)
        with self._journal.hold():
            self._note_stop()

    def _interval(self) -> Narrowed | None:
        """The interval by the rows that are finished in their order; those before their turn wait."""
        if self._narrowing is None:
            return None
        marks = takewhile(lambda mark: mark is not None, map(self._mark, self.order))
        scores = [np.nan if mark is None or mark.label is None else self.choices[mark.label] for mark in marks]
        self._narrowing.update(np.array(scores, float))
        return self._narrowing.now(len(self._marks))

    def _note_stop(self) -> None:
        """Keep the interval at which the rule ended the labelling, where the journal does not say it yet."""
        interval = self._interval()
        if interval is not None and interval.stop and self._marks and not self._is_stopped:
            self._journal.append(self._aside("stop", interval.as_dict()) | {"note": interval.ended})

    def _aside(self, action: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """A line of the journal that is about no row."""
        return {"id": "", "annotator": self.annotator, "action": action, action: dict(content)}

    def _line(self, at: int, mark: Mark | None) -> dict[str, Any]:
        """The journal's line of what was done with a row; without a mark, of taking one back."""
        label, note, new = mark or Mark(None)
        action = "undo" if mark is None else "skip" if label is None else "label"
        row, score = self.rows[at], None if label is None else self.choices[label]
        line: dict[str, Any] = {"id": row.id, "system": row.system, "annotator": self.annotator, "action": action}
        line |= {"label": label, "score": score, "new": list(new) or None, "note": note or None}
        line |= {"probability": row.probability, "time": datetime.now(UTC).isoformat(timespec="seconds")}
        return {name: value for name, value in line.items() if value is not None}

    def _take(self, line: Mapping[str, Any], place: str) -> None:
        """Take over a line of the journal."""
        own = line["annotator"] == self.annotator
        if line["action"] in ASIDES:
            if own and line["action"] == "judge":
                self._take_verdicts(line.get("judge"), place)
            if own and line["action"] == "plan":
                self._plan = LabelPlan.read(line.get("plan", {}))
                if self._narrowing is not None:
                    self._narrowing.follow(self._plan, place)
            self._is_stopped = line["action"] == "stop" if own else self._is_stopped
            return
        at, label = self._places.get((line.get("system"), line["id"])), line.get("label")
        if at is None:
            remedy = "label the rows with which this file was begun, or name another file (-o)"
            raise DataError(f"{place}: the row {line['id']!r} is not among those to label: {remedy}")
        if line["action"] == "label" and self.choices.get(str(label)) != line["score"]:
            offered = ", ".join(f"{name}={score:g}" for name, score in self.choices.items())
            remedy = "go on with the labels with which this file was begun (--label-map), or name another file (-o)"
            raise DataError(f"{place}: the label {label}={line['score']:g} is not among {offered}: {remedy}")
        if not own:
            return
        self._is_stopped = False
        if line["action"] != "undo":
            self._marks.setdefault(at, []).append(Mark(label, line.get("note", ""), tuple(line.get("new", ()))))
        elif at in self._marks:
            self._marks[at].pop()
            if not self._marks[at]:
                del self._marks[at]

    def _take_verdicts(self, content: Any, place: str) -> None:
        try:
            rows = [self._places[self.rows[0].system, row] for row in content["rows"]]
            scores = [None if score is None else float(score) for score in content["scores"]]
        except (KeyError, TypeError, ValueError, IndexError):
            raise DataError(f"{place}: expected verdicts on these rows, as karat label writes them") from None
        self._verdicts.append((rows, scores))
        if self._narrowing is not None:
            self._narrowing.keep(rows, scores)


def _clean(text: str) -> str:
    """The text as a file can hold it: a terminal may send bytes that are not a character."""
    return text.encode(errors="replace").decode()


def _shuffle(rows: Sequence[RowToLabel], seed: int) -> list[int]:
    """The positions of all rows, shuffled by id and then by system."""
    random = np.random.default_rng(seed)
    ids = list(dict.fromkeys(row.id for row in rows))
    places = {ids[at]: place for place, at in enumerate(random.permutation(len(ids)).tolist())}
    ties = random.random(len(rows)).tolist()
    return sorted(range(len(rows)), key=lambda at: (places[rows[at].id], ties[at]))
