"""Ask a judge about both systems' answers to each row, until a rule about their difference ends it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse_all
from karat.runs.compare.margins import Margin, find_margins
from karat.runs.match.match import How, Matched, match
from karat.runs.match.systems import Named, System
from karat.runs.scoring.arguments import NONE, Destination, Selection
from karat.runs.scoring.asking.pairs import Side, ask_pairs, find_judge
from karat.runs.scoring.pipeline import carry_out
from karat.runs.scoring.plan import plan_run
from karat.runs.scoring.provenance.describe import describe_run
from karat.runs.scoring.tasks.progress import Progress, RowCounter
from karat.runs.scoring.wide import name_run
from karat.runs.store.folders import run_folder
from karat.runs.store.run import Run
from karat.runs.store.unfinished import check_name_free
from karat.stats.aggregate import Scale
from karat.stats.inference import Inference
from karat.stats.sequential.until import Until


@dataclass(frozen=True)
class Asking:
    """Who is asked about two systems, and when that ends.

    `metrics`: one judge, and others, which are known of all rows. `until`: the rule; without one, in a rehearsal, all
    rows are asked. `margin`: against which the difference is held. `run`: the judged rows of each system are kept as
    `RUN-SYSTEM`.
    """

    metrics: Sequence[Metric]
    until: Until | None
    margin: float | None = None
    inference: Inference = field(default_factory=Inference)
    run: str | None = None
    progress: Progress | None = None

    @classmethod
    def plan(
        cls,
        metrics: str | Metric | Iterable[str | Metric],
        until: Until | None,
        margin: Margin,
        inference: Inference,
        run: str | None = None,
        progress: Progress | None = None,
    ) -> Asking:
        """By the arguments of `karat.compare`; raises `SpecError` for metrics without a judge, and for a margin."""
        chosen = parse_all(metrics)
        known = {metric.spec: metric.definition for metric in chosen}
        scales = {spec: Scale(None, (each.low, each.high), each.direction) for spec, each in known.items()}
        own = find_margins(margin, scales, inference).get(find_judge(chosen).spec)
        if until is not None and until.no_worse and own is None:
            raise SpecError("until=Until(no_worse=True) (--until no-worse) needs a margin: margin=0.02 (--margin 0.02)")
        return cls(chosen, until, own, inference, run, progress)

    def ask(self, systems: Sequence[System | Named], on: str | None, how: How) -> list[Named]:
        """Ask about the rows that are matched; the systems with what was asked, which are compared like any others.

        Raises `SpecError` for other than two systems and for a judge that one of them has been scored with, and what
        opening, matching, scoring and asking raise.
        """
        judge = find_judge(self.metrics)
        if len(systems) != 2:
            raise SpecError(f"until (--until decided) asks about two systems, found {len(systems)}")
        cluster, common, different = how.get("cluster"), how.get("common", False), how.get("allow_different", False)
        matched = match(systems, on=on, scored=False, cluster=cluster, common=common, allow_different=different)
        for run in matched.runs:
            if judge.spec in run.specs:
                remedy = "compare them without until (--until), or name the runs that were scored before"
                raise SpecError(f"{run.name} was scored with {judge.spec} already: {remedy}")
        names = self._name(matched.names)
        for name in filter(None, names):
            check_name_free(run_folder(name))
        selections = [self._select(run, matched) for run in matched.runs]
        plans = [replace(plan_run(each, self.metrics, self.inference), until=self.until) for each in selections]
        manifests = [
            None if name is None else describe_run(plan, selection, name)
            for name, plan, selection in zip(names, plans, selections, strict=True)
        ]
        one, other = (Side.read(plan, matched.rows.order(at)) for at, plan in enumerate(plans))
        keys = matched.rows.numbers if matched.clusters is None else matched.clusters.keys
        counter = RowCounter(self.progress, 2 * len(keys))
        answered = ask_pairs((one, other), keys, self.until, self.margin, self.inference, counter.advance)
        results = [
            carry_out(replace(plan, answered=each), Destination(run=name), None, manifest)
            for plan, each, name, manifest in zip(plans, answered, names, manifests, strict=False)
        ]
        return [Named(run.name, result) for run, result in zip(matched.runs, results, strict=False)]

    def _name(self, systems: Sequence[str]) -> list[str | None]:
        """The names of the runs that are kept: of files without their endings."""
        if self.run is None:
            return [None, None]
        names = [name_run(self.run, PurePath(system).stem) for system in systems]
        return [names[0], names[1] if names[1] != names[0] else f"{names[1]}-2"]

    def _select(self, run: Run, matched: Matched) -> Selection:
        """The rows of a system; they belong together as they do where both are matched."""
        roles = {role for metric in self.metrics for role in metric.definition.columns}
        known = {role: name for role, name in run.manifest.mapping.items() if role in roles}
        column = NONE if matched.clusters is None else matched.clusters.about.column
        return Selection(run.source, map=known, cluster=column if column in run.schema.names else NONE)
