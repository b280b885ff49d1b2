"""Whether runs may be compared: they have the same metrics, with the same signatures, and the same gold."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from karat.core.columns.arrow import from_numpy
from karat.core.columns.python_values import to_python
from karat.core.errors import DataError, SpecError
from karat.core.metric.spec import parse
from karat.core.parallel import map_ordered
from karat.runs.compare.row_alignment import Alignment, zip_pieces
from karat.runs.compare.systems import gold_column
from karat.runs.store.manifest import ScoredMetric
from karat.runs.store.run import Run
from karat.stats.aggregate import Scale

_SLICE = 65_536  # rows compared at a time
_PART = re.compile(r"\w+=(?:'[^']*'|\[[^\]]*\]|[^,()|]+)|@\d+")  # of a signature: a setting and its value
_NAME = re.compile(r"""[^(@]*(?:\((?:\w+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=[,)]))?""")  # of a spec
_ALLOW = "compare them anyway with allow_different (--allow-different)"


@dataclass(frozen=True)
class SharedMetric:
    """A metric that all runs have, as each of them has it; its spec is that of the first run."""

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
        found = [scored or (run.manifest.metric(ours.spec) if wanted else None) for scored, run in same]
        by_run = tuple(scored for scored in found if scored)
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


def check_comparable(runs: Sequence[Run], shared: Sequence[SharedMetric], rows: Alignment) -> None:
    """Raise `DataError` for a metric with different signatures and for different gold, with the difference."""
    for metric in shared:
        for run, scored in zip(runs[1:], metric.by_run[1:], strict=True):
            if difference := _compare_signatures(metric.by_run[0], scored):
                problem = f"{metric.spec} was scored differently in {runs[0].name} and {run.name}: {difference}"
                raise DataError(f"{problem}. Score both in the same way, or {_ALLOW}")
    for at, run in enumerate(runs[1:], 1):
        if different := _compare_gold(runs[0], run, at, rows):
            first = f"first in that of {rows.by} {rows.all_ids[different[0]].as_py()}"
            raise DataError(
                f"{runs[0].name} and {run.name} were scored against different gold: it differs in {len(different)} of "
                f"{len(rows)} rows, {first}. Score both against the same, or {_ALLOW}"
            )


def _counterpart(first: Run, ours: ScoredMetric, run: Run) -> ScoredMetric | None:
    """The same metric in another run; with other settings only where each of the two has one of that name."""
    theirs = {each.spec: each for each in run.manifest.metrics}
    if ours.spec in theirs:
        return theirs[ours.spec]
    same_name = [each for each in run.manifest.metrics if _name(each.spec) == _name(ours.spec)]
    rivals = [spec for spec in first.specs if _name(spec) == _name(ours.spec)]
    return same_name[0] if len(same_name) == len(rivals) == 1 else None


def _name(spec: str) -> str:
    """The metric's name, with the column that it names where it names one."""
    found = _NAME.match(spec)
    return found[0] if found else spec


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


def _compare_gold(first: Run, run: Run, at: int, rows: Alignment) -> list[int]:
    """The rows of the first run whose gold differs in the run at this position; none where one has no gold."""
    columns = [column for each in (first, run) if (column := gold_column(each))]
    if len(columns) < 2:
        return []
    digests = [each.manifest.digests.get("reference", each.manifest.digests.get("relevant")) for each in (first, run)]
    if rows.in_step or np.array_equal(rows.orders[0], rows.orders[at]):
        if digests[0] is not None and digests[0] == digests[1]:
            return []
        streams = [
            (batch.column(0) for batch in each.batches([column]))
            for each, column in zip((first, run), columns, strict=True)
        ]
        if all(left.equals(right) for left, right in zip_pieces(streams)):
            return []
    ours, theirs = (rows.place(each, np.arange(len(rows))) for each in (0, at))
    pairs = list(zip((first, run), columns, strict=True))
    gold, other = map_ordered(lambda pair: pair[0].column(pair[1]).combine_chunks(), pairs)
    there = np.full(len(gold), -1)
    there[ours] = theirs
    matched = np.flatnonzero(there >= 0)
    if len(matched) < len(gold):
        gold, there = gold.take(from_numpy(matched)), there[matched]

    def differences(start: int) -> list[int]:
        part = slice(start, start + _SLICE)
        left, right = gold[part], other.take(from_numpy(there[part]))
        if left.equals(right):
            return []
        cells = zip(to_python(left), to_python(right), strict=True)
        return [start + at for at, (one, other) in enumerate(cells) if _as_list(one) != _as_list(other)]

    return [int(matched[each]) for found in map_ordered(differences, range(0, len(matched), _SLICE)) for each in found]


def _as_list(gold: Any) -> Any:
    """Gold as a list, from a list, its JSON in a CSV, or a single text."""
    if isinstance(gold, str) and gold.startswith(("[", "{")):
        with suppress(ValueError):
            gold = json.loads(gold)
    return gold if gold is None or isinstance(gold, list) else [gold]
