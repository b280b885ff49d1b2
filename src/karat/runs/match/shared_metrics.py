"""The metrics that all systems share, and whether they were scored in the same way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from karat.core.errors import DataError, SpecError
from karat.core.metric.spec import match_spec, parse
from karat.runs.columns.gold_patch import PatchNote
from karat.runs.store.manifest import CODE, ENDPOINTS, ScoredMetric
from karat.runs.store.run import Run
from karat.stats.aggregate import Scale

_PART = re.compile(r"\w+=(?:'[^']*'|\[[^\]]*\]|[^,()|]+)|@\d+")  # of a signature: a setting and its value
_NAME = re.compile(
    r"""[^(@|]*(?:\((?:\w+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=[,)]))?"""
)  # of a signature, or a spec


Difference: TypeAlias = tuple[str, str]
"""What differs, and what to do where that is an error; "" where it is a note."""


@dataclass(frozen=True)
class SharedMetric:
    """A metric that all runs have, as each of them has it; its spec is the first run's."""

    by_run: tuple[ScoredMetric, ...]

    @property
    def spec(self) -> str:
        return self.by_run[0].spec

    @property
    def scale(self) -> Scale:
        """The finish, the bounds and the direction."""
        scale = self.by_run[0].scale
        return replace(scale, finish=parse(self.spec).finish) if self.by_run[0].counts else scale


def share_metrics(runs: Sequence[Run], wanted: Sequence[str]) -> list[SharedMetric]:
    """The metrics that all runs have: those named, else all. A run may have a metric with other settings, if only once.

    Raises `SpecError` for a named metric that a run does not have, and where the runs share none.
    """
    chosen = [runs[0].manifest.metric(spec) for spec in wanted] or runs[0].manifest.metrics
    shared: list[SharedMetric] = []
    for ours in chosen:
        if any(ours.spec == other.spec for other in shared):
            raise SpecError(f"{ours.spec} is given twice")
        same = [(_counterpart(runs[0], ours, run), run) for run in runs]
        scored_by = [scored or (run.manifest.metric(ours.spec) if wanted else None) for scored, run in same]
        by_run = tuple(scored for scored in scored_by if scored)
        if len(by_run) == len(runs):
            shared.append(SharedMetric(by_run))
    if not shared:
        specs = "; ".join(f"{run.name} has {', '.join(run.specs)}" for run in runs)
        raise SpecError(f"no metric was scored in all systems: {specs}")
    return shared


def list_unshared(runs: Sequence[Run], shared: Sequence[SharedMetric]) -> list[str]:
    """The specs of the metrics that only some of the runs have."""
    used = {scored.spec for metric in shared for scored in metric.by_run}
    return [spec for spec in dict.fromkeys(spec for run in runs for spec in run.specs) if spec not in used]


def list_unsigned(runs: Sequence[Run], shared: Sequence[SharedMetric]) -> list[str]:
    """The names of the runs whose metrics have no signature."""
    return [run.name for at, run in enumerate(runs) if any(metric.by_run[at].signature is None for metric in shared)]


def _counterpart(first: Run, ours: ScoredMetric, run: Run) -> ScoredMetric | None:
    """The same metric in another run; with other settings only where each of the two has one of that name."""
    theirs = {each.spec: each for each in run.manifest.metrics}
    with suppress(SpecError):
        return theirs[match_spec(ours.spec, theirs)]
    same_name = [each for each in run.manifest.metrics if _name(each) == _name(ours)]
    rivals = [each for each in first.manifest.metrics if _name(each) == _name(ours)]
    return same_name[0] if len(same_name) == len(rivals) == 1 else None


def _name(metric: ScoredMetric) -> str:
    """The metric's name, with the column that it names where it names one."""
    text = metric.signature or metric.spec  # a spec may be a short name
    match = _NAME.match(text)
    return match[0] if match else text


def _compare_signatures(ours: ScoredMetric, theirs: ScoredMetric) -> str | None:
    """How two signatures differ, or two specs where a run has no signature; None where they are equal."""
    sides = [ours.signature, theirs.signature]
    if None in sides:
        sides = [ours.spec, theirs.spec]
    if sides[0] == sides[1]:
        return None
    parts = [_PART.findall(side or "") for side in sides]
    only = [", ".join(part for part in mine if part not in yours) for mine, yours in (parts, parts[::-1])]
    return " and ".join(settings or side or "" for settings, side in zip(only, sides, strict=True))


def compare_metrics(first: Run, run: Run, metrics: Iterable[tuple[ScoredMetric, ScoredMetric]]) -> Iterator[Difference]:
    """The metrics that were scored in another way, or by other code of a metric that is not karat's."""
    names = f"{first.name} and {run.name}"
    for ours, theirs in metrics:
        if ours.direction != theirs.direction or ours.counts != theirs.counts:
            problem = f"{ours.spec}: {first.name} has {_describe(ours)}, {run.name} {_describe(theirs)}"
            raise DataError(f"{problem}; these are not one metric: score both again")
        if how := _compare_signatures(ours, theirs):
            yield f"{ours.spec} was scored differently in {names}: {how}", "Score both in the same way"
        for name in _find_code(first, ours.spec) | _find_code(run, theirs.spec):
            digests = [each.manifest.settings.get(CODE + name) for each in (first, run)]
            if None in digests:
                yield f"{names} do not both know the code of {name}, so that could not be checked", ""
            elif digests[0] != digests[1]:
                problem = f"{ours.spec} was scored differently in {names}: the code of {name} has changed"
                yield problem, "Score both with the same code"

    yield from _compare_patches(first, run)
    endpoints: list[Any] = [each.manifest.settings.get(ENDPOINTS) for each in (first, run)]
    if all(endpoints) and endpoints[0] != endpoints[1]:
        yield f"{names} asked their models at different addresses: {'; '.join(map(', '.join, endpoints))}", ""


def _compare_patches(first: Run, run: Run) -> Iterator[Difference]:
    """Whether the gold was patched in another way; of a file that is not known, but its gold is."""
    if any(metric.signature is None for each in (first, run) for metric in each.manifest.metrics):
        return
    patches = {each.name: find_patch(each) for each in (first, run)}
    if len({patch and patch.digest for patch in patches.values()}) == 1:
        return
    known = [(name, patch) for name, patch in patches.items() if patch is not None]
    problem = " and ".join(f"{name} with the gold patch {patch.name}" for name, patch in known)
    problem = problem.replace(" with", " was scored with", 1)
    patch, without = known[0][1], [name for name, patch in patches.items() if patch is None]
    if without:
        problem, of = f"{problem}, {without[0]} without it", f"{without[0]} with it too"
    else:
        problem, of = f"{problem}, which decides otherwise", "both with one patch"
    yield problem, f"Score {of}: karat score … --gold-patch {patch.name} (in Python, gold_patch='{patch.name}')"


def find_patch(run: Run) -> PatchNote | None:
    """What patched the gold of a run; None where nothing did."""
    return PatchNote.of(run.manifest.settings)


def _describe(metric: ScoredMetric) -> str:
    return f"{metric.direction}, from {'counts' if metric.counts else 'scores'}"


def _find_code(run: Run, spec: str) -> set[str]:
    """The names of the metrics in a spec whose code a run knows: those that are not karat's."""
    known = [key.removeprefix(CODE) for key in run.manifest.settings if key.startswith(CODE)]
    return {name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", spec)}
