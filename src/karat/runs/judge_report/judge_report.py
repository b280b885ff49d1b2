"""`karat.judge_report`: ask judges again, in other words and in both orders, and say how far each can be relied on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse_all
from karat.runs.columns.groups import cluster_keys, group_rows
from karat.runs.columns.named import fit_range
from karat.runs.columns.output import OutputColumns
from karat.runs.judge_report.examined import Answers, Examined, ExaminedRows, Labelled
from karat.runs.judge_report.findings import JudgeFindings, as_json
from karat.runs.judge_report.kept_calibration import (
    find_calibration,
    read_calibrations,
    save_calibrations,
)
from karat.runs.judge_report.labelled_rows import LABEL, SCORE, WEIGHT, label_rows
from karat.runs.judge_report.rewordings import REWORDINGS
from karat.runs.judge_report.votes import VOTES, GivenVotes, RepeatedJudge, Votes, repeat
from karat.runs.labels.labels import Labels
from karat.runs.labels.table import LabelTable
from karat.runs.scoring.pipeline import score
from karat.runs.scoring.progress import Progress
from karat.runs.scoring.sources import open_sources
from karat.stats.inference import Inference


@dataclass(frozen=True)
class JudgeReport:
    """What was found about each judge, and the examined rows with all votes (`table`)."""

    judges: tuple[JudgeFindings, ...]
    repetitions: int
    confidence: float
    table: pa.Table = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The report for JSON: what `karat judge-report --json` prints."""
        found = [each.as_dict() for each in self.judges]
        return {"repetitions": self.repetitions, "confidence": self.confidence, "judges": found}

    def save_calibration(self, path: str | Path) -> None:
        """Write how the judges compare with people to a JSON file, for `judge_report(calibration=…)`.

        It holds for these judges alone: with another prompt, model or setting, the labels no longer vouch for them.
        Raises `SpecError` for a report without labels.
        """
        pairs = [(each.judge, as_json(each.people)) for each in self.judges if each.people is not None]
        if not pairs:
            raise SpecError("a calibration compares a judge with people: human (--human) names their labels")
        save_calibrations(path, pairs)


def judge_report(
    data: Any,
    judges: str | Metric | Iterable[str | Metric],
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002  (the field's word, and the flag's)
    gold: Any = None,
    on: str | None = None,
    where: str | None = None,
    limit: int | None = None,
    by: str | None = None,
    cluster: str | None = None,
    repetitions: int = 3,
    rewordings: Sequence[str] | None = None,
    human: Any = None,
    label_map: Mapping[str, float] | str | None = None,
    answer: str | None = None,
    author: str | Sequence[str] = (),
    own: str | Sequence[str] = (),
    calibration: str | Path | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> JudgeReport:
    """Examine one judge, or several on the same rows: its noise, its biases, and how it compares with people.

    `data`, `map`, `gold`, `on`, `where`, `limit`: as in `karat.score`. Each row is judged `repetitions` times, each
    time with a reply of its own, and once in each of the `rewordings` of the prompt that keep its meaning: `role`,
    `choices`, `layout`, `reminder` or files of judges; by default all four, () for none. A judge of pairs is asked in
    both orders each time. Replies are cached: the same report costs nothing a second time. A column of scores that
    exist (`column(gpt4, low=0, high=1)`) is examined as it is: nobody is asked, and what takes a second verdict is
    left out.

    `human`: labels by people, a column of the rows or what `karat.Labels` are made from, joined by `on`;
    only the labelled rows are then examined. `label_map`: the score of each label, by default from the judges' own
    choices. `by`: a column of slices, in which
    the judge is compared with people. `cluster`: a column with equal values in rows that are not independent. `answer`:
    the column of the answers whose length counts, by default the predictions. `author`: the column with the model that
    wrote the answer, or two columns for a judge of pairs; `own`: the authors that are the judge's own model, by default
    those with its name. `calibration`: a file of `JudgeReport.save_calibration`, which is compared with the judges.

    Raises a `karat.KaratError` whose message says what to do.

    >>> from karat import Governor, Judge
    >>> from karat.models.testing.fake import FakeModel
    >>> judge = Judge("refusal", model=FakeModel({"explanation": "…", "label": "answered"}), governor=Governor())
    >>> rows = [{"question": "Why?", "prediction": text} for text in ("Yes.", "No.", "So.", "Ah.", "Oh.")]
    >>> report = judge_report(rows, judge)
    >>> print(report.judges[0].flips)
    0.0000 (0.0000 – 0.4345)
    >>> print(report.judges[0].noise_share)
    no estimate: every score is the same
    """
    inference = Inference(confidence, seed)
    if repetitions < 1:
        raise SpecError(f"repetitions={repetitions!r}: a whole number from 1 is expected")
    kept = None if calibration is None else read_calibrations(calibration)
    parsed, names = parse_all(judges), REWORDINGS if rewordings is None else rewordings
    source = open_sources(data, gold, None if gold is None else on, ranked=False)
    chosen = [fit_range(judge, source) for judge in parsed]
    repeated = [repeat(judge, repetitions, names) for judge in chosen]
    labels = None
    if human is not None:
        people = human if isinstance(human, Labels) else Labels(human, label_map)
        source, labels = label_rows(source, people, on, chosen)
    options: dict[str, Any] = {"where": where, "limit": limit, "by": by, "cluster": cluster, "progress": progress}
    result = score(source, repeated, map=map, keep=True, **options)
    table, together = result.table, result.clusters
    rows = ExaminedRows(
        table=table,
        mapping=result.mapping,
        answers=Answers(answer, _names(author), _names(own)),
        inference=inference,
        people=None if labels is None else _labelled(table, labels),
        clusters=None if together is None else cluster_keys(table[together.column].combine_chunks()),
        slices={} if by is None else group_rows(table[by].combine_chunks(), set(), by),
    )
    findings = []
    columns = OutputColumns.of_scored(table.schema, repeated).details
    for judge, metric, details in zip(chosen, repeated, columns, strict=True):
        function = cast("RepeatedJudge | GivenVotes", metric.definition.function)
        votes = Votes.of(table[details[VOTES]], function)
        found = None if kept is None else find_calibration(judge, kept)
        findings.append(JudgeFindings.of(Examined(judge, function.rubric, votes, rows), found))
    return JudgeReport(tuple(findings), repetitions, confidence, table)


def _labelled(table: pa.Table, labels: LabelTable) -> Labelled:
    scores, most, weights = (table[name].to_numpy() for name in (SCORE, LABEL, WEIGHT))
    given = np.unique(labels.scores[~np.isnan(labels.scores)])
    return Labelled(scores, most, weights if (weights != 1).any() else None, labels.choices, given)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
