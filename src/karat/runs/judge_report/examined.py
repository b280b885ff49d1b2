"""The rows on which a judge was examined: its votes, and what the figures compare them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_text
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import to_python
from karat.core.errors import ColumnError, did_you_mean
from karat.core.metric.metric import Metric
from karat.judges.rubric import Rubric, Swap
from karat.runs.agreement.figures import why_no_labels
from karat.runs.agreement.praise import Beside
from karat.runs.judge_report.votes import Votes
from karat.runs.labels.choices import choices_by_spec
from karat.stats.inference import Inference


@dataclass(frozen=True)
class Answers:
    """Which columns hold the judged answers, one or two, and their authors; and which authors are the judge's model."""

    answer: str | None = None
    author: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class Labelled:
    """What people said of the rows: their mean `scores` and the `labels` of most of them, shape (rows,).

    `weights`: None where all rows weigh the same. `choices` is the score of each label's name, `given` are all labels.
    """

    scores: Array
    labels: Array
    weights: Array | None
    choices: Mapping[str, float]
    given: Array


@dataclass(frozen=True)
class ExaminedRows:
    """The rows on which judges are examined.

    `table` has the user's columns, `mapping` the column of each role. `people`: None without labels. `clusters`, shape
    (rows,): keys of rows that are not independent. `slices`: the positions of each slice's rows.
    """

    table: pa.Table
    mapping: Mapping[str, str]
    answers: Answers
    inference: Inference
    people: Labelled | None = None
    clusters: Array | None = None
    slices: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Examined:
    """One judge, its votes, and the rows on which it gave them; `rubric` is None where its scores are given."""

    judge: Metric
    rubric: Rubric | None
    votes: Votes
    rows: ExaminedRows

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        low, high = self.judge.definition.low, self.judge.definition.high
        return (0.0 if low is None else low), (1.0 if high is None else high)

    @property
    def swap(self) -> Swap | None:
        """How the two answers of a judge of pairs are exchanged; None for any other judge."""
        return None if self.rubric is None else self.rubric.swap

    @property
    def repeated(self) -> Array:
        """The scores of the repetitions, shape (rows, repetitions)."""
        return self.votes.scores[:, : self.votes.repetitions]

    def beside(self, people: Labelled) -> Beside:
        """The first verdict on each row beside the label of most people."""
        definition, score, keys = self.judge.definition, self.votes.scores[:, 0], self.rows.clusters
        own = choices_by_spec([self.judge]).get(self.judge.spec, {})
        categories = np.array(sorted(set(people.choices.values())))
        return Beside(
            score=score,
            label=people.labels,
            alike=why_no_labels(score, people.labels, categories, people.given) is None,
            minimize=definition.direction == "minimize",
            own=bool(own) and people.choices.items() <= own.items(),
            limits=self.range,
            weights=people.weights,
            clusters=None if keys is None else np.unique(keys, return_inverse=True)[1],
        )

    @cached_property
    def mean(self) -> Array:
        """The mean score of the repetitions, shape (rows,), NaN without one: the noise of single votes is out of it."""
        count = (~np.isnan(self.repeated)).sum(axis=1)
        mean: Array = np.where(count > 0, np.nansum(self.repeated, axis=1) / np.maximum(count, 1), np.nan)
        return mean

    @property
    def answer_columns(self) -> tuple[str, ...]:
        """The columns of the judged answers: two for a judge of pairs; none where it reads no prediction."""
        if self.swap is not None:
            return tuple(self.rows.mapping[name] for name in self.swap.inputs)
        if self.rows.answers.answer is not None:
            return (self.rows.answers.answer,)
        return tuple(
            self.rows.mapping[role]
            for role in ("prediction",)
            if self.rubric is not None and role in self.rows.mapping and role in self.rubric.inputs
        )

    @cached_property
    def lengths(self) -> tuple[Array, ...]:
        """The number of characters of each answer, shape (rows,), by column of answers; NaN where there is none."""
        return tuple(_lengths(self.rows.table, name) for name in self.answer_columns)

    @cached_property
    def same_task(self) -> Array:
        """A number for each row, shape (rows,): equal where the judge reads the same beside the answers."""
        if self.rubric is None:  # what it read is not known
            return np.arange(len(self.rows.table))
        names = [
            self.rows.mapping[role] for role in self.rubric.inputs if self.rows.mapping[role] not in self.answer_columns
        ]
        codes: dict[str, int] = {}
        cells = zip(*(to_python(self.rows.table[name]) for name in names), strict=True)
        found = [codes.setdefault(repr(row), len(codes)) for row in cells] if names else [0] * len(self.rows.table)
        return np.array(found, dtype=np.int64)

    @property
    def authors(self) -> tuple[Sequence[Any], ...]:
        """The author of each answer, by column of authors. Raises `ColumnError` for a column that is not there."""
        names = self.rows.table.schema.names
        for name in self.rows.answers.author:
            if name not in names:
                raise ColumnError(f"author: there is no column {name!r}{did_you_mean(name, names)}")
        return tuple(to_python(self.rows.table[name]) for name in self.rows.answers.author)

    @property
    def own_names(self) -> set[str]:
        """The names by which the judge's own model goes as an author, without the provider's part and in lower case."""
        model = self.judge.settings.get("model")
        names = self.rows.answers.own or ((model,) if isinstance(model, str) else tuple(model or ()))
        return {_author_name(name) for name in names}

    def own(self, authors: Sequence[Any]) -> Array:
        """1 where the judge's own model is the author, 0 where another one is, NaN where none is named."""
        names = self.own_names
        marks = [np.nan if author is None else float(_author_name(author) in names) for author in authors]
        return np.array(marks, dtype=np.float64)


def _author_name(name: Any) -> str:
    return str(name).rpartition("/")[2].casefold()


def _lengths(table: pa.Table, name: str) -> Array:
    if name not in table.schema.names:
        raise ColumnError(f"answer: there is no column {name!r}{did_you_mean(name, table.schema.names)}")
    column = table[name]
    if not is_text(column.type) and not pa.types.is_null(column.type):
        raise ColumnError(f"answer: column {name!r} holds {column.type}; a text a row is expected")
    lengths: Array = pc.utf8_length(column.cast(pa.large_string())).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return lengths
