"""Would it change anything? What is shown of two systems with doubtful rows left out, patched, or at their worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.core.metric.spec import parse
from karat.data.json.objects import JsonObject, Printed
from karat.runs.columns.gold_patch import GoldPatch
from karat.runs.compare.compare import compare, compare_matched
from karat.runs.compare.finding import DIFFERENT, Finding
from karat.runs.match.match import Matched
from karat.runs.match.row_groups import read_clusters
from karat.runs.match.shared_metrics import SharedMetric, find_patch
from karat.runs.scoring.pipeline import score
from karat.runs.store.run import Run, ScoredFile
from karat.stats.inference import Inference
from karat.stats.paired.comparison import ComparisonVerdict

AS_SCORED = "as scored"
Change: TypeAlias = tuple[Array, Array]
"""The numbers of some rows of a run, shape (k,), and the scores that they have instead of their own, shape (k,)."""


@dataclass(frozen=True)
class Outcome(JsonObject):
    """What `karat.compare` shows of two systems, where the doubtful rows are as `rows` says."""

    rows: str
    verdict: ComparisonVerdict
    difference: float | None
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True)
class Consequence(JsonObject):
    """Whether the verdict on a system against the first rests on `doubtful` rows, by one metric.

    `which`: in words, which rows these are. `outcomes`: the verdict as scored; with the rows left out; patched, where
    there is a patch; and decided for the system that loses as it was scored, for either where none does: of each row on
    which the two do not answer alike that system gets the best score, the other one the worst. `note` says what was not
    tried.
    """

    metric: str
    first: str
    system: str
    doubtful: int
    outcomes: tuple[Outcome, ...]
    note: str = ""
    which: str = "doubtful"

    printed: ClassVar = Printed(also=("changes", "sentence"), sparse=("note",))

    @property
    def changes(self) -> bool:
        """Whether any of the outcomes has another verdict."""
        return len({each.verdict for each in self.outcomes}) > 1

    @property
    def sentence(self) -> str:
        """The outcomes in a sentence.

        >>> shown = [Outcome(rows, verdict, 0.1, 0.05, 0.15, 0.01) for rows, verdict in
        ...          (("as scored", "better"), ("left out", "better"), ("decided for a", "unclear"))]
        >>> print(Consequence("em", "a", "b", 2, tuple(shown[:2])).sentence)
        em: as scored and with the 2 doubtful rows left out, b is better than a
        >>> print(Consequence("em", "a", "b", 2, tuple(shown)).sentence.partition("; ")[2])
        with them decided for a, no difference could be shown
        """
        about, parts = f"the {self.doubtful} {self.which} row{'s' * (self.doubtful != 1)}", list[str]()
        for verdict in dict.fromkeys(each.verdict for each in self.outcomes):
            ways = [each.rows for each in self.outcomes if each.verdict == verdict]
            others = [way for way in ways if way != AS_SCORED]
            changed = [f"with {about} {_join(others)}"] if others else []
            when = " and ".join([*(way for way in ways if way == AS_SCORED), *changed])
            parts.append(f"{when}, {self._claim(verdict)}")
            about = "them" if others else about
        return f"{self.metric}: {'; '.join(parts)}" + (f" ({self.note})" if self.note else "")

    def _claim(self, verdict: ComparisonVerdict) -> str:
        if verdict in DIFFERENT:
            return f"{self.system} is {verdict} than {self.first}"
        return "no difference could be shown"


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@dataclass(frozen=True, kw_only=True)
class ChangedRun(Run):
    """A run in which some rows have other scores by one metric; nothing else of its rows is read."""

    of: Run
    spec: str
    change: Change

    def count_statistics(self, spec: str) -> int:
        """As of the run."""
        return self.of.count_statistics(spec)

    def left_out(self, spec: str) -> Array | None:
        """As of the run."""
        return self.of.left_out(spec)

    def read_statistics(self, spec: str) -> Iterator[Array]:
        """The statistics with the changes in them."""
        first, (rows, scores) = 0, self.change
        for batch in self.of.read_statistics(spec):
            here = (rows >= first) & (rows < first + len(batch))
            if spec == self.spec and here.any():
                batch = batch.copy()  # noqa: PLW2901
                batch[rows[here] - first] = scores[here, None]
            yield batch
            first += len(batch)


@dataclass(frozen=True)
class ReportedRows:
    """The ids of doubtful rows, and which these are, in words."""

    ids: Sequence[str]
    which: str = "doubtful"


def find_consequence(
    matched: Matched, spec: str, doubtful: ReportedRows, inference: Inference, patch: GoldPatch | None = None
) -> Consequence | None:
    """What doubtful rows change for two systems by one of their metrics; None where `karat.compare` needs counts that
    files of scored rows, and results in memory, do not have.

    All verdicts are those of `karat.compare`. Patched rows are scored again, but not by metrics that ask a model, and
    not where the systems were scored with the patch.
    Raises `SpecError` for any other number of systems, and what scoring with a patch raises.
    """
    if len(matched.runs) != 2:
        raise SpecError(f"what doubtful rows change is said of two systems, found {len(matched.runs)}")
    metric = next(each for each in matched.metrics if each.spec == spec)
    if metric.by_run[0].counts and any(isinstance(run, ScoredFile) for run in matched.runs):
        return None
    clusters = read_clusters(matched.runs, matched.rows, None)
    matched = replace(matched, metrics=[metric], slices=None, clusters=clusters)
    places = np.flatnonzero(np.asarray(pc.is_in(matched.rows.ids, pa.array(doubtful.ids, matched.rows.ids.type))))
    scored = _find(matched, inference)
    without = np.full(len(places), np.nan)
    outcomes_of = [
        (AS_SCORED, scored),
        ("left out", _find(_change(matched, metric, places, (without, without)), inference)),
    ]
    note = ""
    if patch is not None:
        patched, note = _find_patched(matched, metric, patch, inference)
        outcomes_of += [] if patched is None else [(f"patched by {patch.note.name}", patched)]
    decided = _decide(matched, metric, places)
    if decided is None:
        note = "; ".join(
            filter(None, (note, f"{metric.spec} has no bounds of a row's score, so the worst is not known"))
        )
    else:
        losing = {"better": (0,), "worse": (1,)}.get(scored.verdict, (0, 1))
        outcomes_of += [
            (f"decided for {matched.names[at]}", _find(_change(matched, metric, places, decided[at]), inference))
            for at in losing
        ]
    outcomes = tuple(_describe(rows, finding) for rows, finding in outcomes_of)
    first, system = matched.names
    return Consequence(metric.spec, first, system, len(places), outcomes, note, doubtful.which)


def _find(matched: Matched, inference: Inference) -> Finding:
    return compare_matched(matched, inference).findings[0]


def _describe(rows: str, finding: Finding) -> Outcome:
    of = finding.comparison
    return Outcome(rows, finding.verdict, of.difference, of.low, of.high, of.p)


def _change(matched: Matched, metric: SharedMetric, places: Array, scores: tuple[Array, Array]) -> Matched:
    """The systems with other scores in these of the matched rows."""
    runs = [
        ChangedRun(
            run.path, run.manifest, run.values, run.paths,
            of=run, spec=scored.spec, change=(matched.rows.place(at, places), own),
        )
        for at, (run, scored, own) in enumerate(zip(matched.runs, metric.by_run, scores, strict=True))
    ]  # fmt: skip
    return replace(matched, runs=runs)


def _decide(matched: Matched, metric: SharedMetric, places: Array) -> dict[int, tuple[Array, Array]] | None:
    """The scores of both systems in the doubtful rows, decided for the first or for the second.

    Rows that only one has a score in, or on which both answer alike, stay as they are. None where a row has no best
    and worst score.
    """
    low, high = metric.scale.bounds
    if low is None or high is None or metric.by_run[0].counts:
        return None
    best, worst = (high, low) if metric.scale.direction == "maximize" else (low, high)
    rows = [matched.rows.place(at, places) for at in (0, 1)]
    own = [run.scores(scored.spec)[at] for run, scored, at in zip(matched.runs, metric.by_run, rows, strict=True)]
    answers = [_read_answers(run, at) for run, at in zip(matched.runs, rows, strict=True)]
    alike = np.array([one is not None and one == other for one, other in zip(*answers, strict=True)], bool)
    free = ~(alike | np.isnan(own[0]) | np.isnan(own[1]))
    for_first = tuple(np.where(free, end, each) for each, end in zip(own, (best, worst), strict=True))
    for_second = tuple(np.where(free, end, each) for each, end in zip(own, (worst, best), strict=True))
    return {0: (for_first[0], for_first[1]), 1: (for_second[0], for_second[1])}


def _read_answers(run: Run, rows: Array) -> list[str | None]:
    """The answers of some rows, without spaces around them; None where there is none."""
    if (name := run.manifest.mapping.get("prediction")) is None:
        return [None] * len(rows)
    column = run.column(name)
    cells = [column[int(at)].as_py() for at in rows]
    return [None if cell is None else str(cell).strip() for cell in cells]


def _find_patched(
    matched: Matched, metric: SharedMetric, patch: GoldPatch, inference: Inference
) -> tuple[Finding | None, str]:
    """The finding with patched gold, or why there is none."""
    if any(note is not None and note.digest == patch.note.digest for note in map(find_patch, matched.runs)):
        return None, "the gold is patched as scored"
    if "reference" not in parse(metric.spec).definition.columns:
        return None, f"{metric.spec} reads no gold that could be patched"
    if parse(metric.spec).asks_model:
        return None, f"{metric.spec} asks a model: score with --gold-patch {patch.note.name} and compare"
    pairs = zip(matched.runs, metric.by_run, strict=True)
    results = [
        score(run.source, scored.spec, map=dict(run.manifest.mapping), gold_patch=patch, keep=True)
        for run, scored in pairs
    ]
    on = next(iter(matched.rows.columns), None)
    compared = compare(*results, on=on, confidence=inference.confidence, seed=inference.seed)
    return compared.findings[0], ""
