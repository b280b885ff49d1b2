"""Whether runs may be compared: the same metrics, scored in the same way, against the same gold."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.errors import DataError, SpecError
from karat.core.metric.spec import parse
from karat.runs.compare.row_alignment import Alignment
from karat.runs.compare.systems import gold_of
from karat.runs.store.manifest import Scored
from karat.runs.store.run import Run
from karat.stats.aggregate import Finish

_PIECES = 65_536  # rows looked at at a time
_PART = re.compile(r"\w+=(?:'[^']*'|\[[^\]]*\]|[^,()|]+)|@\d+")  # of a signature: what was set to what
_ALLOW = "compare them all the same with allow_different (--allow-different)"


@dataclass(frozen=True)
class Shared:
    """A metric as each of the runs has it; it is called as in the first."""

    each: tuple[Scored, ...]

    @property
    def spec(self) -> str:
        return self.each[0].spec

    @property
    def finish(self) -> Finish | None:
        """What makes totals into values; None is the mean."""
        return parse(self.spec).finish if self.each[0].counts else None


def share_metrics(runs: Sequence[Run], wanted: Sequence[str]) -> list[Shared]:
    """The metrics that all runs have: those wanted, else all; for one that a run has with other settings only, that.

    Raises `SpecError` for a wanted metric that a run has not, and where the runs share none.
    """
    chosen = [runs[0].manifest.metric(spec) for spec in wanted] or runs[0].manifest.metrics
    shared: list[Shared] = []
    for ours in chosen:
        if any(ours.spec == other.spec for other in shared):
            raise SpecError(f"{ours.spec} is given twice")
        each = [
            _counterpart(runs[0], ours, run) or (run.manifest.metric(ours.spec) if wanted else None) for run in runs
        ]
        if None not in each:
            shared.append(Shared(tuple(scored for scored in each if scored)))
    if not shared:
        said = "; ".join(f"{run.name} has {', '.join(run.specs)}" for run in runs)
        raise SpecError(f"no metric was scored in all: {said}")
    return shared


def left_out(runs: Sequence[Run], shared: Sequence[Shared]) -> list[str]:
    """The metrics that some of the runs have and others do not."""
    used = {scored.spec for each in shared for scored in each.each}
    return [spec for spec in dict.fromkeys(spec for run in runs for spec in run.specs) if spec not in used]


def refuse_different(runs: Sequence[Run], shared: Sequence[Shared], rows: Alignment) -> None:
    """Raise `DataError` for metrics that were not scored alike and for other gold, saying in what they differ."""
    for metric in shared:
        for run, scored in zip(runs[1:], metric.each[1:], strict=True):
            if differs := _difference(metric.each[0], scored):
                raise DataError(
                    f"{metric.spec} was not scored alike in {runs[0].name} and {run.name}: {differs}. "
                    f"Score both alike, or {_ALLOW}"
                )
    for run, order in zip(runs[1:], rows.orders[1:], strict=True):
        if found := _other_gold(runs[0], rows.orders[0], run, order):
            row, count = found
            raise DataError(
                f"{runs[0].name} and {run.name} were scored against other gold: it differs in {count} of {len(rows)} "
                f"rows, first in that of {rows.by} {rows.ids[row].as_py()}. Score both against the same, or {_ALLOW}"
            )


def unsigned(runs: Sequence[Run], shared: Sequence[Shared]) -> list[str]:
    """The systems that do not say how they were scored."""
    return [run.name for at, run in enumerate(runs) if any(metric.each[at].signature is None for metric in shared)]


def _counterpart(first: Run, ours: Scored, run: Run) -> Scored | None:
    """The same metric in another run, or the only one of its name that both have with other settings."""
    theirs = {each.spec: each for each in run.manifest.metrics}
    if ours.spec in theirs:
        return theirs[ours.spec]
    named = [each for each in run.manifest.metrics if _name(each.spec) == _name(ours.spec)]
    rivals = [spec for spec in first.specs if _name(spec) == _name(ours.spec)]
    return named[0] if len(named) == len(rivals) == 1 else None


def _name(spec: str) -> str:
    return re.split(r"[(@]", spec, maxsplit=1)[0]


def _difference(ours: Scored, theirs: Scored) -> str | None:
    """In what two signatures differ; where a system has none, in what the specs do."""
    sides = [ours.signature, theirs.signature]
    if None in sides:
        sides = [ours.spec, theirs.spec]
    if sides[0] == sides[1]:
        return None
    parts = [_PART.findall(side or "") for side in sides]
    only = [", ".join(part for part in mine if part not in yours) for mine, yours in (parts, parts[::-1])]
    return " and ".join(told or side or "" for told, side in zip(only, sides, strict=True))


def _other_gold(first: Run, ours: Array, run: Run, theirs: Array) -> tuple[int, int] | None:
    """The first row whose gold differs and how many there are; None where gold is the same, or one has none to see."""
    columns = [column for each in (first, run) if (column := gold_of(each))]
    if len(columns) < 2:
        return None
    digests = [each.manifest.digests.get("reference", each.manifest.digests.get("relevant")) for each in (first, run)]
    if digests[0] is not None and digests[0] == digests[1] and np.array_equal(ours, theirs):
        return None
    golds = [each.column(column) for each, column in zip((first, run), columns, strict=True)]
    rows = []
    for start in range(0, len(ours), _PIECES):
        part = slice(start, start + _PIECES)
        left, right = (gold.take(pa.array(order[part])) for gold, order in zip(golds, (ours, theirs), strict=True))
        if not left.equals(right):
            pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
            rows += [start + at for at, (one, other) in enumerate(pairs) if _cell(one) != _cell(other)]
    return (rows[0], len(rows)) if rows else None


def _cell(gold: Any) -> Any:
    """Gold as a list, whether it is one, its JSON in a CSV, or a single text."""
    if isinstance(gold, str) and gold.startswith(("[", "{")):
        with suppress(ValueError):
            gold = json.loads(gold)
    return gold if gold is None or isinstance(gold, list) else [gold]
