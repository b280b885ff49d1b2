"""How far judges, people and metrics agree, in all rows and in slices, with a verdict on each score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.runs.agreement.errors import find_errors
from karat.runs.agreement.figures import LEVELS, Scale, compare_people, compare_raters
from karat.runs.agreement.raters import PEOPLE, LabelMap, Raters, Selection, find_consensus, read_raters
from karat.runs.agreement.report import Agreement, Disagreement, Pair
from karat.runs.agreement.sentences import describe_verdict
from karat.runs.agreement.verdict import Verdict, judge_score
from karat.runs.labels.table import note_names
from karat.stats.agreement.coefficient import Coefficient
from karat.stats.agreement.confusion import confusion_matrix
from karat.stats.inference import Inference

MOST_ANNOTATORS = 6
"""With more, the pairs of single annotators are not listed."""


def agreement(
    system: Any,
    *,
    human: Any = None,
    on: str | None = None,
    metrics: str | Metric | Iterable[str | Metric] = (),
    columns: Sequence[str] = (),
    label_map: LabelMap = None,
    label_columns: Sequence[str] = (),
    scale: Scale = "interval",
    by: str | None = None,
    cluster: str | None = None,
    errors: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Agreement:
    """How far the scores of a system's rows agree with people's labels, people among themselves, and scores with
    another.

    `system`: a run, a file of scored rows, a `Result`, or any frame or file with columns of scores. `metrics` are the
    scores to compare, by default all; `columns` are further columns of numbers or of labels' names that were scored
    elsewhere. `human`: people's `karat.Labels`, or what they are made from, joined by the column `on`; or the names of
    columns of the system. `label_map` has the score of each label's name, `label_columns` the columns of labels where
    their names are not recognised. `scale`: whether labels are `nominal` (names), `ordinal` or `interval` (numbers).

    `by`: a column of slices. `cluster`: a column with equal values in rows that are not independent. `errors`: how
    many rows of false praise, and of false blame, to report for each score. `confidence`: of the intervals. `seed`: of
    the bootstrap and the folds of a threshold.

    Several annotators are also one rater, `people`: the label of most of them (rows without such a label are left out),
    or the mean where there are more than 20 different labels. Labels that were proposed with a probability count by its
    inverse.

    Where less of a metric is better, a label counts for as bad as its score is high if the metric's scores are labels
    that people give, or labels are those of the judge itself; else labels say how good a row is, and the metric is
    compared with its sign reversed.

    Raises `SpecError` for fewer than two raters; `ColumnError`, `DataError` and `JoinError` for labels and columns that
    cannot be read.

    >>> rows = {"id": range(12), "judge": [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1]}
    >>> labels = {"id": range(12), "label": ["good"] * 6 + ["bad"] * 6}
    >>> found = agreement(rows, columns=["judge"], human=labels, on="id", label_map="good=1,bad=0", errors=1)
    >>> round(found.pair("judge").figures["cohen_kappa"].value, 4)
    0.8333
    >>> print(found.sentences["judge"][0])
    judge gives the label of people in 91.7 % [64.6, 98.5] of 12 rows; corrected for chance, Cohen's kappa is 0.833 ...
    >>> [(each.kind, each.id) for each in found.errors]
    [('false praise', '11')]
    """
    if scale not in LEVELS:
        raise SpecError(f"scale={scale!r}: expected one of {', '.join(LEVELS)}{did_you_mean(scale, LEVELS)}")
    inference = Inference(confidence, seed)
    listed = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    chosen = Selection(listed, columns, human, on, label_map, label_columns, by, cluster)
    raters = read_raters(system, chosen)
    coefficients = dict(_compare(raters, None))
    pairs = [_estimate(raters, None, names, figures, inference) for names, figures in coefficients.items()]
    for label, rows in raters.slices.items():
        pairs += [_estimate(raters, label, names, each, inference) for names, each in _compare(raters, rows)]
    overall = {(each.first, each.second): each.figures for each in pairs if each.slice is None}
    verdicts, found, sentences = list[Verdict](), list[Disagreement](), {}
    for name in raters.scores if raters.annotators else ():
        verdict, calls = judge_score(raters, name, coefficients[name, PEOPLE], scale, inference)
        verdicts.append(verdict)
        sentences[name] = describe_verdict(verdict, overall[name, PEOPLE], overall.get((PEOPLE, PEOPLE), {}))
        found += find_errors(raters, verdict, calls, scale, errors) if errors else ()
    return Agreement(
        scores=tuple(raters.scores),
        annotators=raters.annotators,
        labels=raters.choices,
        n=len(raters.rows),
        pairs=tuple(pairs),
        verdicts=tuple(verdicts),
        sentences=sentences,
        errors=tuple(found),
        notes=tuple(_note(raters, cluster)),
        confidence=confidence,
    )


def _compare(raters: Raters, rows: Array | None) -> Iterator[tuple[tuple[str, str], dict[str, Coefficient]]]:
    """The coefficients of each pair of raters, by the names of the two, in these rows (None: all)."""
    part = slice(None) if rows is None else rows
    columns = {name: column[part] for name, column in raters.scores.items()}
    weights = None if raters.weights is None else raters.weights[part]
    people, categories = raters.people[part], np.array(sorted(set(raters.choices.values())))
    labels = np.unique(raters.people[~np.isnan(raters.people)])
    none = np.empty(0)
    if raters.annotators:
        for name, column in columns.items():
            yield (name, PEOPLE), compare_raters(column, find_consensus(people)[0], weights, categories, labels)
    if len(raters.annotators) > 1:
        yield (PEOPLE, PEOPLE), compare_people(people, weights, categories)
        if len(raters.annotators) <= MOST_ANNOTATORS:
            for one, other in combinations(range(len(raters.annotators)), 2):
                names = raters.annotators[one], raters.annotators[other]
                yield names, compare_raters(people[:, one], people[:, other], weights, categories)
    for first, second in combinations(columns, 2):
        yield (first, second), compare_raters(columns[first], columns[second], weights, none)


def _estimate(
    raters: Raters, label: str | None, names: tuple[str, str], figures: Mapping[str, Coefficient], inference: Inference
) -> Pair:
    part = slice(None) if label is None else raters.slices[label]
    clusters = None if raters.clusters is None else np.unique(raters.clusters[part], return_inverse=True)[1]
    estimates = {name: each.estimate(clusters, inference.confidence) for name, each in figures.items()}
    confusion = None
    if names[0] != names[1] and estimates["accuracy"].value is not None:
        confusion = confusion_matrix(*(raters.column(name)[part] for name in names))
    return Pair(*names, label, estimates, confusion)


def _note(raters: Raters, cluster: str | None) -> Iterator[str]:
    several = len(raters.annotators)
    yield from note_names(raters.annotators)
    if cluster is not None or raters.clusters is not None:
        yield "rows of one cluster are taken together"
    if raters.weights is not None:
        yield "rows were proposed for labelling with different probabilities: each counts by the inverse of its own"
    if tied := raters.consensus[1] if several else 0:
        yield f"on {tied} of {len(raters.rows)} rows no label is that of most people: they are left out of {PEOPLE}"
    if several > MOST_ANNOTATORS:
        yield f"{several} annotators: the pairs of single ones are not listed"
    for name, column in raters.scores.items():
        if missing := int(np.isnan(column).sum()):
            yield f"{name} has no score on {missing} of {len(column)} rows: they are left out, not taken for wrong"
