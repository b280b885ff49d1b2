"""The raters of the same rows: scores of metrics and judges, and people's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.columns.numbers import are_truths, read_numbers
from karat.core.errors import KaratError, SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse
from karat.data.open import open_source
from karat.data.storage.file_names import name_row
from karat.judges.rubric import Rubric
from karat.runs.judge.asking.votes import Votes
from karat.runs.judge.opening import ExaminationPlan, LabelMap, Opened, check_column
from karat.runs.judge.praise import Beside
from karat.runs.labels.choices import check_label_map, choices_by_spec, parse_label_map
from karat.runs.labels.table import read_labels
from karat.runs.match.systems import OpenRows
from karat.runs.store.run import Run
from karat.stats.aggregate import Bounds
from karat.stats.agreement.distance import MOST_CATEGORIES

PEOPLE = "people"
"""The name of the people's labels as one rater: the label of most of them, or the mean where labels are not
categories."""


@dataclass(frozen=True, eq=False)
class Rater:
    """The scores of a metric, a judge or a column, shape (rows,), NaN is none.

    `limits`: the least and the greatest score. `metric`: None for a column. `votes`: what a judge answered when it was
    asked again; None where it was not.
    """

    name: str
    scores: Array
    minimize: bool = False
    limits: Bounds = (None, None)
    metric: Metric | None = None
    votes: Votes | None = None

    @property
    def rubric(self) -> Rubric | None:
        """What a judge is asked; None for other scores."""
        function = None if self.metric is None else self.metric.definition.function
        return getattr(function, "rubric", None)

    @property
    def choices(self) -> Mapping[str, float]:
        """The labels and scores of a judge that answers with a label."""
        return {} if self.metric is None else choices_by_spec([self.metric]).get(self.metric.spec, {})


@dataclass(frozen=True, eq=False)
class Raters:
    """Scores and labels of the same rows.

    `rows` are the numbers of these rows in `run`. `scores` has each rater of the rows, by spec or name; `people` the
    labels of each annotator, shape (rows, annotators); NaN is none. `choices` is the score of each label's name, and
    `notes` is what to know of the labels.
    `weights`, shape (rows,), are the inverse of the probabilities with which rows were proposed for labelling. `keys`,
    shape (rows,), are equal in rows that are not independent, which share a value of the column `cluster`; `slices` has
    the positions of each slice's rows.
    """

    run: Run
    rows: Array
    scores: Mapping[str, Rater]
    people: Array
    annotators: tuple[str, ...]
    notes: Sequence[str]
    choices: Mapping[str, float]
    weights: Array | None
    cluster: str | None
    keys: Array | None
    slices: Mapping[str, Array]

    @cached_property
    def consensus(self) -> tuple[Array, int]:
        """People as one rater, shape (rows,), and the number of rows on which no label has a majority."""
        return find_consensus(self.people)

    @cached_property
    def given(self) -> Array:
        """The different labels that people gave, ascending."""
        return np.unique(self.people[~np.isnan(self.people)])

    @cached_property
    def mean_label(self) -> Array:
        """The mean of people's labels, shape (rows,)."""
        count = (~np.isnan(self.people)).sum(axis=1)
        mean: Array = np.where(count > 0, np.nansum(self.people, axis=1) / np.maximum(count, 1), np.nan)
        return mean

    @cached_property
    def clusters(self) -> Array | None:
        """The number of each row's cluster, from 0."""
        return None if self.keys is None else np.unique(self.keys, return_inverse=True)[1]

    def column(self, name: str) -> Array:
        """The scores or labels of a rater, shape (rows,)."""
        if name == PEOPLE:
            return self.consensus[0]
        return self.scores[name].scores if name in self.scores else self.people[:, self.annotators.index(name)]

    def cells(self, name: str, argument: str = "") -> pa.ChunkedArray:
        """A column of the table in these rows; `ColumnError`, which names the argument, where there is none."""
        check_column(self.run.schema, name, f"{self.run.name}: {argument}")
        return self.run.column(name).take(pa.array(self.rows))

    def beside(self, rater: Rater, *, alike: bool) -> Beside:
        """A rater's scores beside the label of most people; `alike`: they are labels that people give."""
        return Beside(
            score=rater.scores,
            label=self.consensus[0],
            alike=alike,
            minimize=rater.minimize,
            own=rater.minimize and bool(rater.choices) and self.choices.items() <= rater.choices.items(),
            limits=rater.limits,
            weights=self.weights,
            clusters=self.clusters,
        )


def name_label(choices: Mapping[str, float], score: float) -> str:
    """The name of the label with this score; the score as text where it has none.

    >>> name_label({"good": 1.0, "bad": 0.0}, 1.0), name_label({}, 0.5)
    ('good', '0.5')
    """
    return next((name for name, each in choices.items() if each == score), f"{score:g}")


def read_raters(opened: Opened, chosen: ExaminationPlan) -> Raters:
    """Read the scores of the rows that people labelled, or of all rows.

    Raises `SpecError` where there is nothing to compare, and `ColumnError` for a column that does not exist.
    """
    matched, votes = opened.matched, opened.votes
    (run,), clusters = matched.runs, matched.clusters
    metrics = {metric.spec: metric for metric in chosen.metrics}
    specs = [run.manifest.metric(spec).spec for spec in metrics]
    if not metrics and not chosen.columns:
        specs = [spec for spec in run.specs if run.manifest.metric(spec).column not in opened.own]
    columns = [*(run.manifest.metric(spec).column for spec in specs), *chosen.columns]
    kept = OpenRows(Path(), run.manifest, source=open_source(run.read(list(dict.fromkeys(columns)))))
    labels, rows = None, np.arange(len(matched.rows))
    for each in matched.labelled:
        order = np.argsort(each.at)  # the same figures in whatever order labels come
        labels, rows = each.labels.take(order), each.at[order]
    raters = {spec: _read_rater(kept, spec, metrics.get(spec), rows, votes.get(spec)) for spec in specs}
    choices = [each.choices for each in raters.values() if each.choices]
    for name in chosen.columns:
        raters[name] = Rater(name, _read_column(kept, name, chosen.label_map, choices)[rows])
    if len(raters) + (0 if labels is None else len(labels.annotators)) < 2 and not votes:
        lacking = "no scores" if not raters else "no second score and no labels by people"
        remedy = "a column of scores (--column), a scored metric (-m) or people's labels (--human)"
        raise SpecError(
            f"{run.name}: agreement is of two raters, found {lacking}: name {remedy}, or ask a judge (--ask)"
        )
    return Raters(
        run=run,
        rows=rows,
        scores=raters,
        people=np.empty((len(rows), 0)) if labels is None else labels.scores,
        annotators=() if labels is None else labels.annotators,
        notes=() if labels is None else labels.notes,
        choices={} if labels is None else labels.choices,
        weights=None if labels is None or labels.probabilities is None else 1 / labels.probabilities,
        cluster=None if clusters is None else clusters.about.column,
        keys=None if clusters is None else clusters.keys[rows],
        slices={} if matched.slices is None else dict(sorted(matched.slices.split(rows))),
    )


def _read_rater(run: Run, spec: str, metric: Metric | None, rows: Array, votes: Votes | None) -> Rater:
    scored = run.manifest.metric(spec)
    if metric is None:
        try:
            metric = parse(spec)
        except KaratError:  # a judge whose file is not here any more, or a metric of another machine
            metric = None
    limits = (scored.low, scored.high)
    return Rater(spec, run.scores(spec)[rows], scored.direction == "minimize", limits, metric, votes)


def _read_column(run: Run, name: str, label_map: LabelMap, choices: Sequence[Mapping[str, float]]) -> Array:
    """A column of numbers or of names of labels as scores, shape (rows,), NaN where it is empty."""
    if label_map is not None:
        own = parse_label_map(label_map) if isinstance(label_map, str) else check_label_map(label_map)
        choices = [own]
    column = run.column(name).combine_chunks()
    if are_truths(column) and not any(set(column.unique().to_pylist()) <= each.keys() for each in choices):
        return np.asarray(read_numbers(column, f"column {name!r}", partial(name_row, run.name)))
    source = replace(open_source(run.read([name])), name=run.name)
    labels = read_labels(source, on=None, columns=[name], choices=choices)
    scores = np.full(len(column), np.nan)
    scores[np.array(labels.ids.to_pylist(), dtype=np.int64) - 1] = labels.scores[:, 0]
    return scores


def find_consensus(people: Array) -> tuple[Array, int]:
    """The label that most annotators gave each row, and on how many rows there is none: NaN there.

    With more different labels than categories have, the mean.

    >>> find_consensus(np.array([[1, 1, 0], [1, 0, np.nan], [np.nan, 0, np.nan]]))
    (array([ 1., nan,  0.]), 1)
    """
    seen = ~np.isnan(people)
    values = np.unique(people[seen])
    if people.shape[1] == 1:
        return people[:, 0], 0
    if len(values) > MOST_CATEGORIES:
        number = seen.sum(axis=1)
        return np.where(number > 0, np.where(seen, people, 0).sum(axis=1) / np.maximum(number, 1), np.nan), 0
    counts = np.stack([(people == value).sum(axis=1) for value in values], axis=1)
    most = counts.max(axis=1)
    single = (counts == most[:, None]).sum(axis=1) == 1
    return np.where(single, values[counts.argmax(axis=1)], np.nan), int(np.count_nonzero(~single & (most > 0)))
