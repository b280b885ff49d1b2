"""The raters whose agreement is computed: score columns of a table, and people's labels, of the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.columns.numbers import are_truths
from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse_all
from karat.data.json.raw import spell_ids
from karat.data.open import open_source
from karat.data.source import Source
from karat.data.storage.addresses import is_file
from karat.data.storage.file_names import name_row
from karat.runs.columns.groups import check_group_column, cluster_keys, group_rows
from karat.runs.columns.ids import find_id
from karat.runs.columns.named import decode_numbers
from karat.runs.labels.choices import check_label_map, known_choices, parse_label_map
from karat.runs.labels.labels import Labels
from karat.runs.labels.table import LabelTable, match_labels, read_labels
from karat.runs.match.systems import Metrics, TableInMemory, add_named_columns, open_rows, open_system
from karat.runs.scoring.clusters import find_clusters
from karat.runs.scoring.result import Result
from karat.runs.store.run import Run, find_run
from karat.stats.aggregate import Bounds
from karat.stats.agreement.distance import MOST_CATEGORIES

LabelMap: TypeAlias = Mapping[str, float] | str | None
PEOPLE = "people"
"""The name of the people's labels as one rater: the label of most of them, or the mean where labels are no
categories."""


@dataclass(frozen=True, eq=False)
class Raters:
    """Scores and labels of the same rows.

    `scores` has each score column, shape (rows,), by spec or name; `people` the labels of each annotator, shape (rows,
    annotators); NaN is none. `rows` are the numbers of these rows in `run`. `choices` is the score of each label's
    name. `weights`, shape (rows,), are the inverse of the probabilities with which rows were proposed for labelling.
    `clusters`, shape (rows,), are equal in rows that are not independent; `slices` has the positions of each slice's
    rows. `minimize` names the scores of which less is better; of these, `own` names the judges' whose labels people
    gave. `limits` are the least and the greatest score of metrics.
    """

    run: Run
    rows: Array
    scores: Mapping[str, Array]
    people: Array
    annotators: tuple[str, ...]
    choices: Mapping[str, float]
    weights: Array | None
    clusters: Array | None
    slices: Mapping[str, Array]
    source: str
    minimize: frozenset[str]
    own: frozenset[str]
    limits: Mapping[str, Bounds]

    @cached_property
    def consensus(self) -> tuple[Array, int]:
        """People as one rater, shape (rows,), and the number of rows on which no label is that of most of them."""
        return find_consensus(self.people)

    def column(self, name: str) -> Array:
        """The scores or labels of a rater, shape (rows,)."""
        if name == PEOPLE:
            return self.consensus[0]
        return self.scores[name] if name in self.scores else self.people[:, self.annotators.index(name)]


def name_label(choices: Mapping[str, float], score: float) -> str:
    """The name of the label with this score; the score as text where it has none.

    >>> name_label({"good": 1.0, "bad": 0.0}, 1.0), name_label({}, 0.5)
    ('good', '0.5')
    """
    return next((name for name, each in choices.items() if each == score), f"{score:g}")


@dataclass(frozen=True)
class Selection:
    """What is compared: `metrics` and `columns` are scores, `human` is people's labels, as in `agreement`."""

    metrics: Sequence[str | Metric] = ()
    columns: Sequence[str] = ()
    human: Any = None
    on: str | None = None
    label_map: LabelMap = None
    label_columns: Sequence[str] = ()
    by: str | None = None
    cluster: str | None = None


def read_raters(system: Any, chosen: Selection) -> Raters:
    """Read the scores and the labels of the rows that are labelled, or of all rows where there are no labels.

    Raises `SpecError` where there are fewer than two raters, or where labels in a file lack `on`; `ColumnError` for a
    column that does not exist; and what `read_labels` and `match_labels` raise.
    """
    run = _open(system, chosen.metrics)
    human, on = _find_labels(run, chosen)
    own = human.columns_of(run.schema.names)
    specs = [run.manifest.metric(metric.spec).spec for metric in parse_all(chosen.metrics)] if chosen.metrics else []
    if not chosen.metrics and not chosen.columns:
        specs = [spec for spec in run.specs if run.manifest.metric(spec).column not in own]
    cluster = find_clusters([run], chosen.cluster)
    for name in filter(None, (chosen.by, cluster)):
        check_group_column(run.schema, name, run.name)
    score_columns = [run.manifest.metric(spec).column for spec in specs]
    needed = [*score_columns, *chosen.columns, *own, *filter(None, (on, chosen.by, cluster))]
    kept = TableInMemory(Path(), run.manifest, table=run.read(list(dict.fromkeys(needed))))
    known = known_choices(run.specs)
    choices = list(known.values())
    scores = {spec: kept.scores(spec) for spec in specs}
    scores |= {name: _read_column(kept, name, chosen.label_map, choices) for name in chosen.columns}
    labels, rows = None, np.arange(len(kept.table))
    if human.source is not None:
        labels, rows = _read_people(kept, human, on, choices)
        order = np.argsort(rows)  # the same figures in whatever order labels come
        labels, rows = labels.take(order), rows[order]
    if len(scores) + (0 if labels is None else len(labels.annotators)) < 2:
        found = "no scores" if not scores else "no second score and no labels by people"
        remedy = "a column of scores (--column), a scored metric (-m) or people's labels (--human)"
        raise SpecError(f"{run.name}: agreement is of two raters, found {found}: name {remedy}")
    part = kept.table.take(pa.array(rows))
    groups = {} if chosen.by is None else group_rows(part[chosen.by].combine_chunks(), set(), chosen.by)
    keys = None if cluster is None else cluster_keys(part[cluster].combine_chunks())
    minimize = frozenset(spec for spec in specs if run.manifest.metric(spec).direction == "minimize")
    named = {} if labels is None else labels.choices
    return Raters(
        run=run,
        rows=rows,
        scores={name: column[rows] for name, column in scores.items()},
        people=np.empty((len(rows), 0)) if labels is None else labels.scores,
        annotators=() if labels is None else labels.annotators,
        choices=named,
        weights=None if labels is None or labels.probabilities is None else 1 / labels.probabilities,
        clusters=None if keys is None else np.unique(keys, return_inverse=True)[1],
        slices=dict(sorted(groups.items())),
        source="" if labels is None else labels.source,
        minimize=minimize,
        own=frozenset(spec for spec in minimize & known.keys() if named.items() <= known[spec].items()),
        limits={spec: (metric.low, metric.high) for spec in specs for metric in (run.manifest.metric(spec),)},
    )


def _find_labels(run: Run, chosen: Selection) -> tuple[Labels, str | None]:
    """The labels, and the column of the rows' ids where labels are in a file.

    Raises `ColumnError`, with the nearest name, for a text that is neither a column nor a file.
    """
    human = chosen.human
    human = human if isinstance(human, Labels) else Labels(human, chosen.label_map, chosen.label_columns)
    human = human if human.system else replace(human, system=run.name or None)
    if human.source is None or human.columns_of(run.schema.names):
        return human, None
    human.check_files(run.schema.names, run.name)
    human, on = human.split_on(chosen.on)
    return human, on or find_id(run, run.manifest.mapping, run.joined_on)


def _read_people(
    run: TableInMemory, human: Labels, on: str | None, choices: Sequence[Mapping[str, float]]
) -> tuple[LabelTable, Array]:
    """The labels, and the number of the row of each."""
    if on is None:
        own = human.columns_of(run.schema.names)
        labels = read_labels(_name(run, own), on=None, label_map=human.label_map, columns=own, choices=choices)
        return labels, np.array(labels.ids.to_pylist(), dtype=np.int64) - 1
    labels = human.of_system(run.name).read(on, choices)
    ids = spell_ids(run.column(on).combine_chunks(), f"{run.name}: column {on!r}")
    return labels, match_labels(labels, ids, run.name)


def _read_column(run: TableInMemory, name: str, label_map: LabelMap, choices: Sequence[Mapping[str, float]]) -> Array:
    """A column of numbers or of names of labels as scores, shape (rows,), NaN where it is empty."""
    if label_map is not None:
        own = parse_label_map(label_map) if isinstance(label_map, str) else check_label_map(label_map)
        choices = [own]
    column = run.column(name).combine_chunks()
    if are_truths(column) and not any(set(column.unique().to_pylist()) <= each.keys() for each in choices):
        return np.asarray(decode_numbers(column, f"column {name!r}", partial(name_row, run.name)))
    found = read_labels(_name(run, [name]), on=None, columns=[name], choices=choices)
    scores = np.full(len(run.table), np.nan)
    scores[np.array(found.ids.to_pylist(), dtype=np.int64) - 1] = found.scores[:, 0]
    return scores


def _name(run: TableInMemory, columns: Sequence[str]) -> Source:
    """Columns of a run as a source that messages name as the run."""
    return replace(open_source(run.read(columns)), name=run.name)


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


def _open(system: Any, metrics: Metrics) -> Run:
    """A run, a scored file, or any table whose columns hold scores."""
    named = isinstance(system, str | Path)
    if isinstance(system, Run | Result) or (named and not is_file(system)):
        return open_system(system, metrics=metrics)
    if named and find_run(system) is not None:
        return open_system(system, metrics=metrics)
    return add_named_columns(open_rows(system), metrics)
