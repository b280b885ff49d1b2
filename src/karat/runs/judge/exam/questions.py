"""Questions with gold, read from any table: the columns are found as for scoring, and few questions are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappush, heappushpop
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Score, Text, Texts
from karat.core.errors import ColumnError, DataError
from karat.core.metric.decorator import metric
from karat.core.metric.metric import Metric
from karat.runs.judge.exam.answers.answer import Question, number_of
from karat.runs.match.systems import open_system
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import Plan, plan_run
from karat.runs.scoring.sources import open_sources
from karat.runs.store.folders import find_run
from karat.runs.store.run import Run
from karat.stats.inference import Inference

_WAYS = (
    ("question", "reference", "prediction", "contexts"),
    ("question", "reference", "prediction"),
    ("question", "reference", "contexts"),
    ("question", "reference"),
    ("reference", "prediction"),
    ("reference",),
)
"""The roles that are looked for together, the most first."""


@dataclass(frozen=True)
class GoldRows:
    """Rows with gold: the column of each role, and how many rows were read and how many have no gold.

    `questions` are drawn from all of them by their text and the seed alone, in an order that these decide.
    """

    name: str
    mapping: Mapping[str, str]
    questions: tuple[Question, ...]
    rows: int
    without_gold: int


def read_gold(selection: Selection, most: int, seed: int = 0) -> GoldRows:
    """Draw at most `most` questions with gold from what `karat.score` reads, or from a run.

    Rows of one question are one: their references are joined. Which questions are drawn does not depend on the order of
    the rows, nor does adding rows change which of the others come first. Raises `ColumnError` where no column is the
    gold, `DataError` where no row has any, and what opening raises.

    >>> rows = {"question": ["Who?", "Who?", "When?"], "gold": ["Ada", "Ada L.", None]}
    >>> found = read_gold(Selection(rows), 10)
    >>> [(each.text, each.references) for each in found.questions], found.rows, found.without_gold
    ([('Who?', ('Ada', 'Ada L.'))], 3, 1)
    """
    selection = replace(selection, human=None, on=selection.joins_gold)
    if (run := open_named(selection.data)) is not None:
        known = {role: name for role, name in run.manifest.mapping.items() if role in _ROLES}
        selection = replace(selection, data=run.source, map=known | dict(selection.map))
    elif selection.gold is None:
        selection = replace(selection, data=open_sources(selection.data, None, None, ranked=False))
    plan = _plan(selection)
    drawn = _Draw(most, seed)
    for question in _read(plan, drawn):
        drawn.add(question)
    if not drawn.kept:
        name = plan.mapping["reference"]
        raise DataError(f"{plan.source.name}: an exam is made from gold, and column {name!r} is empty in every row")
    return GoldRows(plan.source.name, plan.mapping, drawn.in_order(), drawn.rows, drawn.without_gold)


def open_named(data: Any) -> Run | None:
    """The run that this is, or whose name or folder it is; None for other data."""
    if isinstance(data, Run):
        return data
    return open_system(data, scored=False) if isinstance(data, str) and find_run(data) is not None else None


@metric(source="columns of an exam", register=False)
def question(question: Text) -> Score:
    """What is asked."""
    return pa.nulls(len(question), pa.float64())


@metric(source="columns of an exam", register=False)
def reference(reference: Text) -> Score:
    """The gold."""
    return pa.nulls(len(reference), pa.float64())


@metric(source="columns of an exam", register=False)
def prediction(prediction: Text) -> Score:
    """The answers that are scored."""
    return pa.nulls(len(prediction), pa.float64())


@metric(source="columns of an exam", register=False)
def contexts(contexts: Texts) -> Score:
    """The passages."""
    return pa.nulls(len(contexts), pa.float64())


_ROLES: Mapping[str, Metric] = {each.name: each for each in (question, reference, prediction, contexts)}


def _plan(selection: Selection) -> Plan:
    """The plan that finds the columns of as many roles as there are."""
    first: ColumnError | None = None
    for roles in _WAYS:
        if not selection.map.keys() & _ROLES.keys() <= {*roles}:
            continue
        try:
            return plan_run(selection, [_ROLES[role] for role in roles], Inference())
        except ColumnError as error:
            first = error if first is None or "reference" in str(error) else first
    assert first is not None  # noqa: S101  (for the type checker: the last way is tried whatever the map)
    raise first


@dataclass
class _Draw:
    """The questions with the least numbers, which their keys and the seed decide; the greatest is the first to go."""

    most: int
    seed: int
    rows: int = 0
    without_gold: int = 0
    kept: dict[int, Question] = field(default_factory=dict)
    heap: list[int] = field(default_factory=list)

    def add(self, question: Question) -> None:
        number = number_of(question.key, self.seed)
        if (known := self.kept.get(number)) is not None:
            several = tuple(dict.fromkeys((*known.references, *question.references)))
            self.kept[number] = replace(known, references=several)
            return
        self.kept[number] = question
        if len(self.heap) < self.most:
            heappush(self.heap, -number)
        else:
            del self.kept[-heappushpop(self.heap, -number)]

    def in_order(self) -> tuple[Question, ...]:
        return tuple(self.kept[number] for number in sorted(self.kept))


def _read(plan: Plan, drawn: _Draw) -> Iterator[Question]:
    first = 0
    for batch in plan.source.batches():
        by_role = plan.role_columns(batch, np.arange(first, first + len(batch)))
        first += len(batch)
        columns = {role: column.to_pylist() for role, column in by_role.items() if role != "prediction"}
        for at in range(len(batch)):
            drawn.rows += 1
            cell = columns["reference"][at]
            texts = [each for each in (cell if isinstance(cell, list) else [cell]) if each and each.strip()]
            if not texts:
                drawn.without_gold += 1
                continue
            question = columns["question"][at] if "question" in columns else None
            passages = columns["contexts"][at] if "contexts" in columns else None
            yield Question(question or None, tuple(dict.fromkeys(texts)), None if passages is None else tuple(passages))
