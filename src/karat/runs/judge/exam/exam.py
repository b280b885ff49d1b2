"""`karat.exam`: what a judge or a metric says of answers of known truth, which are made from the gold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse_all
from karat.data.write import write
from karat.runs.compare.scored_rows import ScoredRow, read_scored_rows
from karat.runs.judge.exam.answers.classes import CLASSES, SWAPPED, AnswerClass
from karat.runs.judge.exam.figures import BesidePeople, Exam, Examinee, Implied, WrongVerdict
from karat.runs.judge.exam.paper import QUESTIONS, Paper, list_classes, make_exam
from karat.runs.judge.exam.questions import open_named
from karat.runs.judge.exam.tables import ClassResult
from karat.runs.judge.examine import examine
from karat.runs.judge.praise import accepts
from karat.runs.judge.reliability.panel import panel_beside_truth
from karat.runs.labels.labels import Labels
from karat.runs.match.systems import open_rows, open_system
from karat.runs.scoring.arguments import NONE, Selection
from karat.runs.scoring.pipeline import score
from karat.runs.scoring.tasks.progress import Progress
from karat.runs.store.manifest import ScoredMetric
from karat.runs.store.run import Run
from karat.stats.agreement.accuracy import mean
from karat.stats.inference import Inference
from karat.stats.reliability.certificate import certify_each
from karat.stats.value import Estimate

_NEEDED = ("prediction", "reference")
_READ = ("question", "contexts", *_NEEDED)
_WORST = 3  # classes of which rows are shown


def exam(
    system: Any,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    questions: int = QUESTIONS,
    classes: Collection[str] = (),
    map: Mapping[str, str] | None = None,  # noqa: A002  (the field's word, and the flag's)
    gold: Any = None,
    on: str | None = None,
    where: str | None = None,
    limit: int | None = None,
    human: Any = None,
    label_map: Mapping[str, float] | str | None = None,
    width: float | None = None,
    errors: int = 0,
    certify: float | None = None,
    output: str | Path | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exam:
    """Examine judges and metrics without a label: ask them about answers of known truth, made from the gold.

    `system`: a run, or what `karat.score` reads; `map`, `gold`, `on`, `where`, `limit` as there. Its rows have gold
    and, for judges that read it, a question. `metrics`: what is examined, each from a prediction and a reference to one
    score; it accepts an answer where the score is above the middle of its range, and on it by half.

    `questions`: how many are drawn; each gets at most one answer in each of the `classes`, which are names or groups
    (right, wrong, pressure), by default all. A wrong answer that might be right is left out and counted. Judges'
    replies are cached: the same exam costs nothing a second time.

    `human`, `label_map`: labels by people of the system's own answers, joined by `on`: what people's labels say of the
    same errors stands beside it. `width`: also say how many questions give each share an interval of this width, from
    end to end. `errors`: how many wrong verdicts to report for each of the worst classes. `certify`: test for each
    class of wrong answers that less than this share of them is accepted; the level of all tests together is
    1 - `confidence` (Holm). `output`: a file for all answers with their scores. `confidence`: of the intervals,
    clustered by question. `seed`: of the draws.

    Raises `SpecError` for a metric that does not compare a prediction with a reference, `ColumnError` where a column is
    missing, and what scoring raises.

    >>> rows = [{"question": f"What is {n} plus {n}?", "gold": str(2 * n)} for n in range(30, 90)]
    >>> found = exam(rows, "contains")
    >>> found.judge("contains").classes["gold"].error.value, found.judge("contains").classes["negation"].error.value
    (0.0, 1.0)
    """
    listed = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    chosen = check_metrics(parse_all(listed))
    selection = Selection(system, gold, on, map or {}, where=where, limit=limit, human=Labels.of(human, label_map))
    paper = make_exam(selection, questions=questions, classes=classes, seed=seed)
    return ask(paper, chosen, Marking(width, errors, certify, output, Inference(confidence, seed)), progress)


@dataclass(frozen=True)
class Marking:
    """What is said of an exam beside its figures: `width`, `errors`, `certify` and `output` as of `exam`."""

    width: float | None = None
    errors: int = 0
    certify: float | None = None
    output: str | Path | None = None
    inference: Inference = Inference()  # noqa: RUF009  (it is frozen)


def ask(paper: Paper, metrics: Sequence[Metric], marking: Marking, progress: Progress | None = None) -> Exam:
    """Ask metrics about the answers of a paper, and say what was found of each."""
    inference, human = marking.inference, paper.selection.human
    for each in metrics:
        if "question" in each.definition.columns and "question" not in paper.table.schema.names:
            problem = f"{paper.source.name}: {each.spec} reads the question, and no column is known to be it"
            raise ColumnError(f"{problem}: --map question=COLUMN (in Python, map={{'question': …}})")
        if "contexts" in each.definition.columns and "contexts" not in paper.table.schema.names:
            problem = f"{paper.source.name}: {each.spec} reads contexts, and no column is known to hold them"
            raise ColumnError(f"{problem}: --map contexts=COLUMN (in Python, map={{'contexts': …}})")
    known = {role: role for each in metrics for role in each.definition.columns}
    result = score(paper.table, metrics, map=known, cluster="exam_question", keep=True, progress=progress)
    run = open_system(result)
    if marking.output is not None:
        write(result.table.to_batches(), result.table.schema, marking.output)
    marked = _Marked.of(paper, run)
    examinees = []
    for metric in metrics:
        judge = marked.examine(metric, _accepted(run, metric.spec), inference, marking.width)
        if marking.certify is not None:
            alpha = float(f"{1 - inference.confidence:.12g}")
            counts = {name: (e.wrong, e.scored) for name, e in judge.classes.items() if not e.truth and e.asked}
            judge = replace(judge, certificates=certify_each(counts, marking.certify, alpha), alpha=alpha)
        examinees.append(replace(judge, implied=_imply(judge, metric, paper, inference)))
    if human is not None:
        examinees = list(_beside_people(examinees, metrics, paper, inference, progress))
    verdicts = {metric.spec: _accepted(run, metric.spec) for metric in metrics if metric.asks_model}
    wrong = [each for judge in examinees for each in marked.list_wrong(judge, run, marking.errors)]
    return Exam(
        name=paper.source.name,
        questions=paper.questions,
        rows=paper.source.rows,
        without_gold=paper.source.without_gold,
        n=paper.table.num_rows,
        types=paper.types,
        judges=tuple(examinees),
        panel=panel_beside_truth(verdicts, marked.truth, marked.clusters, inference),
        errors=tuple(wrong),
        mapping=paper.source.mapping,
        confidence=inference.confidence,
        seed=inference.seed,
        paper=paper,
        table=result.table,
    )


def check_metrics(metrics: Sequence[Metric]) -> Sequence[Metric]:
    """The metrics; `SpecError` for one that does not compare a prediction with a reference."""
    for metric in metrics:
        columns = metric.definition.columns
        if lacking := [role for role in _NEEDED if role not in columns]:
            problem = f"{metric.spec} reads no {' and no '.join(lacking)}"
            raise SpecError(f"{problem}: an exam compares a prediction with a reference, as judge:correctness does")
        if unknown := [role for role in columns if role not in _READ]:
            raise SpecError(f"{metric.spec} reads {', '.join(unknown)}: an exam has {', '.join(_READ)}")
        if None in (metric.definition.low, metric.definition.high):
            raise SpecError(f"{metric.spec} has no least and greatest score, in whose middle an exam cuts it")
    return metrics


def _accepted(run: Run, spec: str) -> Array:
    """Whether each answer is accepted, shape (rows,): 1, 0, a half on the cut, NaN without a score."""
    scored = run.manifest.metric(spec)
    accepted = accepts(run.scores(scored.spec), _middle(scored))
    return 1 - accepted if scored.direction == "minimize" else accepted


def _middle(scored: ScoredMetric) -> float:
    return ((scored.low or 0.0) + (1.0 if scored.high is None else scored.high)) / 2


@dataclass(frozen=True, eq=False)
class _Marked:
    """The answers of an exam: class, truth, and question of each, shape (rows,)."""

    paper: Paper
    classes: Array
    truth: Array
    clusters: Array

    @classmethod
    def of(cls, paper: Paper, run: Run) -> _Marked:
        classes, questions = (run.column(name).combine_chunks() for name in ("exam_class", "exam_question"))
        codes = pc.dictionary_encode(questions).indices.to_numpy(zero_copy_only=False).astype(np.int64)
        truth = run.column("exam_truth").to_numpy().astype(np.float64)
        return cls(paper, np.array(classes.to_pylist(), dtype=object), truth, codes)

    def examine(self, metric: Metric, accepted: Array, inference: Inference, width: float | None) -> Examinee:
        """What the exam says of one metric that accepts these answers."""
        wrong = np.where(self.truth == 1, 1 - accepted, accepted)  # how wrong each verdict is
        results = {}
        for name, kind, number, dropped in list_classes(self.paper):
            rows = self.classes == name
            error = self._estimate(wrong, rows, inference)
            taken = wrong[rows & ~np.isnan(wrong)]
            results[name] = ClassResult(
                name, kind.group, kind.truth, number, len(taken), int(np.count_nonzero(taken)), dropped, error,
                ClassResult.count_questions(error, number, self.paper.questions, width, inference.confidence),
            )  # fmt: skip
        kinds = [CLASSES[each] for each in self.classes]

        def share(holds: Callable[[AnswerClass], bool]) -> Estimate:
            return self._estimate(wrong, np.array([holds(kind) for kind in kinds], bool), inference)

        return Examinee(
            score=metric.spec,
            signature=metric.signature,
            n=len(accepted),
            scored=int(np.count_nonzero(~np.isnan(accepted))),
            false_praise=share(lambda kind: kind.group == "wrong"),
            pressed=share(lambda kind: kind.group == "pressure" and kind is not CLASSES[SWAPPED]),
            false_blame=share(lambda kind: kind.truth == 1),
            mistakes=share(lambda kind: kind.mistake),
            classes=results,
            metric=metric,
            wrong=wrong,
        )

    def _estimate(self, wrong: Array, rows: Array, inference: Inference) -> Estimate:
        """The share of wrong verdicts in these rows, clustered by question."""
        share = mean(np.where(rows, wrong, np.nan), empty="there is no such answer")
        return share.estimate(self._clusters(rows), inference.confidence)

    def _clusters(self, rows: Array) -> Array | None:
        """The questions, from 0, where one has several of these rows."""
        own = self.clusters[rows]
        return None if len(np.unique(own)) == len(own) else self.clusters

    def list_wrong(self, judge: Examinee, run: Run, most: int) -> Iterator[WrongVerdict]:
        """At most `most` wrong verdicts in each of the worst classes."""
        if not most:
            return
        wrong = np.zeros(len(self.truth)) if judge.wrong is None else np.nan_to_num(judge.wrong)
        wanted = [
            row
            for each in judge.worst()[:_WORST]
            for row in np.flatnonzero((self.classes == each.name) & (wrong > 0))[:most].tolist()
        ]
        shown: list[ScoredRow] = list(read_scored_rows(run, ["exam_edit"])) if wanted else []
        for at in wanted:
            row = shown[at]
            reasons = (str(details["explanation"]) for details in row.details.values() if details.get("explanation"))
            yield WrongVerdict(
                judge=judge.score,
                answer_class=self.classes[at],
                edit=str(row.columns["exam_edit"]),
                truth=int(self.truth[at]),
                question=row.question,
                references=row.references,
                prediction=row.prediction or "",
                score=row.scores.get(judge.score),
                explanation=next(reasons, ""),
            )


def _imply(judge: Examinee, metric: Metric, paper: Paper, inference: Inference) -> Implied | None:
    """What the error rates say of the judge's value on the system's own answers; None where these have no scores."""
    selection, run = paper.selection, None
    if all(each is None for each in (selection.gold, selection.where, selection.limit)):
        run = open_named(selection.data) or open_rows(selection.data)
        run = run if any(each.spec == metric.spec for each in run.manifest.metrics) else None
    if run is None and not metric.asks_model and "prediction" in paper.source.mapping:
        known = {role: name for role, name in paper.source.mapping.items() if role in metric.definition.columns}
        read = {name: getattr(selection, name) for name in ("gold", "where", "limit")}
        read["on"] = None if selection.gold is None else selection.on
        run = open_system(score(selection.data, [metric], **read, map=known, cluster=NONE, keep=True))
    if run is None:
        return None
    accepted = mean(_accepted(run, metric.spec)).estimate(None, inference.confidence)
    return Implied.of(accepted, judge)


def _beside_people(
    judges: Sequence[Examinee],
    metrics: Sequence[Metric],
    paper: Paper,
    inference: Inference,
    progress: Progress | None,
) -> Iterator[Examinee]:
    """Each judge with what people's labels of the system's own answers say of the same errors."""
    calls, selection = int(any(metric.asks_model for metric in metrics)), paper.selection
    read = {name: getattr(selection, name) for name in ("human", "gold", "on", "where", "limit")}
    examination = examine(selection.data, metrics, **read, map=selection.map or None, ask=calls, progress=progress,
                    confidence=inference.confidence, seed=inference.seed)  # fmt: skip
    for judge, examined in zip(judges, examination.judges, strict=True):
        people = examined.people
        beside = None if people is None else BesidePeople(people.labelled, people.false_praise, people.false_blame)
        yield replace(judge, people=beside)
