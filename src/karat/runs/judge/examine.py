"""`karat.examine`: how far scores agree with people and each other, and how far a judge can be relied on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse_all
from karat.runs.judge.examination import Disagreement, Examination, list_errors
from karat.runs.judge.figures import Examined, RaterPair
from karat.runs.judge.kept_calibration import find_calibration, read_calibrations
from karat.runs.judge.opening import ExaminationPlan, LabelMap, open_rated
from karat.runs.judge.people import HumanAgreement, compare_with_people
from karat.runs.judge.raters import PEOPLE, Rater, Raters, find_consensus, read_raters
from karat.runs.judge.reliability.panel import find_panel
from karat.runs.judge.reliability.single import JudgedAnswers, Reliability
from karat.runs.judge.sentences import describe, describe_panel
from karat.runs.labels.labels import Labels
from karat.runs.scoring.tasks.progress import Progress
from karat.stats.agreement.coefficient import Coefficient
from karat.stats.agreement.confusion import confusion_matrix
from karat.stats.agreement.overview import LEVELS, MeasurementLevel, compare_people, compare_raters
from karat.stats.inference import Inference

MOST_ANNOTATORS = 6
"""With more, the pairs of single annotators are not listed."""
_TO_GIVE = {
    "people": "how it compares with people: their labels, --human FILE (human=)",
    "noise": "its noise: ask it again, --ask 3 (ask=3)",
    "position": "whether the order of two answers matters: ask it in both, --ask 1 (ask=1)",
    "rewordings": "whether the prompt's wording matters: --reword all (rewordings=['all'])",
    "length": "bias for length: the column of the answers, --answer COLUMN (answer=)",
    "own_answers": "preference for its own answers: the column of their authors, --author COLUMN (author=)",
}


def examine(
    system: Any,
    metrics: str | Metric | Iterable[str | Metric] = (),
    *,
    human: Any = None,
    on: str | None = None,
    columns: Sequence[str] = (),
    label_map: LabelMap = None,
    scale: MeasurementLevel = "interval",
    by: str | None = None,
    cluster: str | None = None,
    errors: int = 0,
    ask: int = 0,
    rewordings: Sequence[str] = (),
    map: Mapping[str, str] | None = None,  # noqa: A002  (the field's word, and the flag's)
    gold: Any = None,
    where: str | None = None,
    limit: int | None = None,
    answer: str | None = None,
    author: str | Sequence[str] = (),
    own: str | Sequence[str] = (),
    calibration: str | Path | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Examination:
    """How far the scores of judges and metrics agree with people's labels, people among themselves, and scores with
    each other; and how far a judge can be relied on: its noise, its biases, its calibration.

    `system`: a run, a file of scored rows, a `Result`, or any frame or file. `metrics` are the scores to examine, by
    default all that were scored; those that no column holds are scored, but no judge is asked unless `ask` says so.
    `columns` are further columns of numbers or of labels' names that were scored elsewhere.

    `human`: people's `karat.Labels`, or what they are made from, joined by the column `on`; or the names of columns of
    the system. `label_map` has the score of each label's name, by default from the judges' own choices. `scale`:
    whether labels are `nominal` (names), `ordinal` or `interval` (numbers). Several annotators are also one rater,
    `people`: the label of most of them (rows without such a label are left out), or the mean where there are more than
    20 different labels. Labels that were proposed with a probability count by its inverse. Where less of a metric is
    better, a label counts for as bad as its score is high if the metric's scores are labels that people give, or labels
    are the judge's own; else labels say how good a row is, and the metric is compared with its sign reversed.

    `ask`: how many verdicts each judge gives on each row, each a reply of its own; the first may be a cached one.
    `rewordings`: it is asked once more in each of these rewordings of its prompt, which keep the meaning: `role`,
    `choices`, `layout`, `reminder`, `all` of these, or files of judges. A judge of pairs is asked in both orders each
    time. With `human`, only the labelled rows are asked. Replies are cached: the same examination costs nothing a
    second time. `map`, `gold`, `where`, `limit`: as in `karat.score`, of which rows are asked or scored.

    `by`: a column of slices. `cluster`: a column with equal values in rows that are not independent. `errors`: how
    many rows of false praise, and of false blame, to report for each score. `answer`: the column of the answers whose
    length counts, by default the predictions that a judge reads. `author`: the column with the model that wrote the
    answer, or two columns for a judge of pairs; `own`: the authors that are the judge's own model, by default those
    with its name. `calibration`: a file of `Examination.save_calibration`, which is compared with the judges.
    `confidence`: of the intervals. `seed`: of the bootstrap and the folds of a threshold.

    Raises `SpecError` for fewer than two raters, and where a judge has no scores and is not asked; `ColumnError`,
    `DataError` and `JoinError` for labels and columns that cannot be read.

    >>> rows = {"id": range(12), "judge": [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1]}
    >>> labels = {"id": range(12), "label": ["good"] * 6 + ["bad"] * 6}
    >>> found = examine(rows, columns=["judge"], human=labels, on="id", label_map="good=1,bad=0", errors=1)
    >>> round(found.pair("judge").figures["cohen_kappa"].value, 4)
    0.8333
    >>> print(found.judge("judge").sentences[0])
    judge gives the label of people in 91.7 % [64.6, 98.5] of 12 rows; corrected for chance, Cohen's kappa is 0.833 ...
    >>> [(each.kind, each.id) for each in found.errors]
    [('false praise', '11')]
    """
    if scale not in LEVELS:
        raise SpecError(f"scale={scale!r}: expected one of {', '.join(LEVELS)}{did_you_mean(scale, LEVELS)}")
    if ask < 0:
        raise SpecError(f"ask={ask!r}: a whole number from 0 is expected")
    inference = Inference(confidence, seed)
    kept = None if calibration is None else read_calibrations(calibration)
    answers = JudgedAnswers(answer, _names(author), _names(own))
    reads = [("author", name) for name in answers.author] + ([] if answer is None else [("answer", answer)])
    listed = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    parsed = parse_all(listed) if listed else []
    chosen = ExaminationPlan(
        parsed, columns, label_map, on, by, cluster, ask, rewordings, map, gold, where, limit, reads
    )
    opened = open_rated(system, chosen, Labels.of(human, label_map), progress)
    raters = read_raters(opened, chosen)
    pairs = [_estimate(raters, None, names, each, inference) for names, each in _compare(raters, None)]
    for label, rows in raters.slices.items():
        pairs += [_estimate(raters, label, names, each, inference) for names, each in _compare(raters, rows)]
    whole = {(each.first, each.second): each.figures for each in pairs if each.slice is None}
    examined, wrong = list[Examined](), list[Disagreement]()
    for name, rater in raters.scores.items():
        people_, calls = None, None
        if raters.annotators:
            people_, calls = compare_with_people(raters, rater, scale, inference)
            wrong += list_errors(raters, rater, people_, calls, scale, errors) if errors else ()
        judge = _gather(rater, people_, Reliability(raters, rater, answers, inference))
        if kept is not None and rater.metric is not None:
            judge = replace(judge, kept=find_calibration(rater.metric, kept))
        sentences = describe(judge, whole.get((name, PEOPLE), {}), whole.get((PEOPLE, PEOPLE), {}))
        examined.append(replace(judge, sentences=tuple(sentences)))
    panel = find_panel(raters, inference)
    if panel is not None:
        panel = replace(panel, sentences=tuple(describe_panel(panel)))
    return Examination(
        annotators=raters.annotators,
        labels=raters.choices,
        n=len(raters.rows),
        pairs=tuple(pairs),
        judges=tuple(examined),
        panel=panel,
        errors=tuple(wrong),
        notes=tuple(_note(raters)),
        confidence=confidence,
        table=opened.table,
    )


def _gather(rater: Rater, people: HumanAgreement | None, figures: Reliability) -> Examined:
    """All that was found about a rater, and what to give for the rest."""
    parts: dict[str, Any] = {
        "people": people,
        "noise": figures.find_noise(),
        "position": figures.find_position(),
        "length": figures.find_length(),
        "own_answers": figures.find_own_answers(),
        "rewordings": figures.find_rewordings(),
        "instrument": figures.find_instrument(),
    }
    applies = {"people", "length"}
    if rater.rubric is not None:
        applies |= parts.keys() if rater.rubric.swap is not None else parts.keys() - {"position"}
    metric = rater.metric
    return Examined(
        score=rater.name,
        signature=None if metric is None else metric.signature,
        n=len(rater.scores),
        scored=int(np.count_nonzero(~np.isnan(rater.scores))),
        replies=figures.find_replies(),
        criteria={} if rater.votes is None else rater.votes.criteria,
        kept=None,
        missing={name: text for name, text in _TO_GIVE.items() if parts[name] is None and name in applies},
        metric=metric,
        **parts,
    )


def _compare(raters: Raters, rows: Array | None) -> Iterator[tuple[tuple[str, str], dict[str, Coefficient]]]:
    """The coefficients of each pair of raters, by the names of the two, in these rows (None: all)."""
    part = slice(None) if rows is None else rows
    columns = {name: rater.scores[part] for name, rater in raters.scores.items()}
    weights = None if raters.weights is None else raters.weights[part]
    people, categories = raters.people[part], np.array(sorted(set(raters.choices.values())))
    none = np.empty(0)
    if raters.annotators:
        for name, column in columns.items():
            yield (name, PEOPLE), compare_raters(column, find_consensus(people)[0], weights, categories, raters.given)
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
) -> RaterPair:
    part = slice(None) if label is None else raters.slices[label]
    clusters = None if raters.clusters is None else np.unique(raters.clusters[part], return_inverse=True)[1]
    estimates = {name: each.estimate(clusters, inference.confidence) for name, each in figures.items()}
    confusion = None
    if names[0] != names[1] and estimates["accuracy"].value is not None:
        confusion = confusion_matrix(*(raters.column(name)[part] for name in names))
    return RaterPair(*names, label, estimates, confusion)


def _note(raters: Raters) -> Iterator[str]:
    several = len(raters.annotators)
    yield from raters.notes
    if raters.cluster is not None:
        yield f"rows that share {raters.cluster} are taken together"
    if raters.weights is not None:
        yield "rows were proposed for labelling with different probabilities: each counts by the inverse of its own"
    if tied := raters.consensus[1] if several else 0:
        yield f"on {tied} of {len(raters.rows)} rows no label has a majority of people: they are left out of {PEOPLE}"
    if several > MOST_ANNOTATORS:
        yield f"{several} annotators: the pairs of single ones are not listed"
    for name, rater in raters.scores.items():
        if missing := int(np.isnan(rater.scores).sum()):
            yield f"{name} has no score on {missing} of {len(rater.scores)} rows: left out, not taken for wrong"


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
