"""Whether runs may be compared: they have the same metrics, with the same signatures, gold and questions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy, is_text
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import to_python, to_text
from karat.core.errors import DataError, SpecError
from karat.core.metric.spec import parse
from karat.core.parallel import map_ordered
from karat.data.roles import matches_role, singular
from karat.runs.match.alignment import Alignment
from karat.runs.match.pieces import zip_pieces
from karat.runs.match.systems import question_column
from karat.runs.store.manifest import CODE, ENDPOINTS, ScoredMetric
from karat.runs.store.run import Run
from karat.stats.aggregate import Scale

_SLICE = 65_536  # rows compared at a time
_PART = re.compile(r"\w+=(?:'[^']*'|\[[^\]]*\]|[^,()|]+)|@\d+")  # of a signature: a setting and its value
_NAME = re.compile(r"""[^(@]*(?:\((?:\w+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?=[,)]))?""")  # of a spec
_Problem: TypeAlias = tuple[str, str]
"""What differs, and what to do where that is an error; "" where it is a note."""
GOLD = ("reference", "relevant", "subtopics", "reference_messages", "reference_tool_calls", "criteria")
_AMBIGUOUS = ("label", "answer")  # a label may be a person's verdict, an answer a prediction
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


def check_comparable(
    runs: Sequence[Run], shared: Sequence[SharedMetric], rows: Alignment, *, allow_different: bool = False
) -> list[str]:
    """Notes on what differs: the questions of some rows, and, with `allow_different`, what would be an error.

    Raises `DataError` for a metric with different signatures or other code, for different gold, and where no gold says
    that the rows are the same, and most have another question.
    """
    notes = []
    for at, run in enumerate(runs[1:], 1):
        for problem, remedy in chain(
            _compare_metrics(runs[0], run, [(metric.by_run[0], metric.by_run[at]) for metric in shared]),
            _compare_gold(runs[0], run, at, rows),
            _compare_questions(runs[0], run, at, rows),
        ):
            if remedy and not allow_different:
                raise DataError(f"{problem}. {remedy}, or {_ALLOW}")
            notes.append(problem)
    return notes


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


def _compare_metrics(first: Run, run: Run, metrics: Iterable[tuple[ScoredMetric, ScoredMetric]]) -> Iterator[_Problem]:
    """The metrics that were scored in another way, or by other code of a metric that is not karat's."""
    names = f"{first.name} and {run.name}"
    for ours, theirs in metrics:
        if how := _compare_signatures(ours, theirs):
            yield f"{ours.spec} was scored differently in {names}: {how}", "Score both in the same way"
        for name in _find_code(first, ours.spec) | _find_code(run, theirs.spec):
            digests = [each.manifest.settings.get(CODE + name) for each in (first, run)]
            if None in digests:
                yield f"{names} do not both know the code of {name}, so that could not be checked", ""
            elif digests[0] != digests[1]:
                problem = f"{ours.spec} was scored differently in {names}: the code of {name} has changed"
                yield problem, "Score both with the same code"

    asked: list[Any] = [each.manifest.settings.get(ENDPOINTS) for each in (first, run)]
    if all(asked) and asked[0] != asked[1]:
        yield f"{names} asked their models at different addresses: {'; '.join(map(', '.join, asked))}", ""


def _find_code(run: Run, spec: str) -> set[str]:
    """The names of the metrics in a spec whose code a run knows: those that are not karat's."""
    known = [key.removeprefix(CODE) for key in run.manifest.settings if key.startswith(CODE)]
    return {name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", spec)}


def _compare_gold(first: Run, run: Run, at: int, rows: Alignment) -> Iterator[_Problem]:
    """Each role of gold that differs, where both runs have it."""
    for role, column, other in _shared_gold(first, run):
        digests = [each.manifest.digests.get(role) for each in (first, run)]
        if digests[0] is not None and digests[0] == digests[1] and _in_one_order(rows, at):
            continue
        count, where = _count_different((first, run), (column, other), at, rows, _same_gold)
        if count:
            problem = f"{first.name} and {run.name} were scored against different gold: it differs in {where}"
            yield problem, "Score both against the same"


def _shared_gold(first: Run, run: Run) -> list[tuple[str, str, str]]:
    """The roles of gold that both runs were scored with, and the column of each run."""
    ours, theirs = first.manifest.mapping, run.manifest.mapping
    return [(role, ours[role], theirs[role]) for role in GOLD if role in ours and role in theirs]


def _compare_questions(first: Run, run: Run, at: int, rows: Alignment) -> Iterator[_Problem]:
    """Whether rows that were matched have another question, or another reference that was not scored with."""
    unscored = not _shared_gold(first, run)
    for find in (question_column, _find_reference) if unscored else (question_column,):
        ours, theirs = find(first), find(run)
        if ours is None or theirs is None or (ours == theirs == rows.by):
            continue
        count, where = _count_different((first, run), (ours, theirs), at, rows, _same_text)
        problem = f"{first.name} and {run.name} have another {ours} in {where}"
        if unscored and 2 * count > len(rows):
            yield f"{problem}, and no gold says that these rows are the same", "Name the column of ids with on (--on)"
        elif count:
            yield f"{problem}; if these are other questions, score both on the same", ""


def _find_reference(run: Run) -> str | None:
    """The column that has the name of a reference and no other role, where there is exactly one."""
    used = {*run.manifest.mapping.values(), *(metric.column for metric in run.manifest.metrics)}
    free = [name for name in run.schema.names if name not in used and singular(name) not in _AMBIGUOUS]
    found = [name for name in free if matches_role("reference", name)]
    return found[0] if len(found) == 1 else None


def _in_one_order(rows: Alignment, at: int) -> bool:
    """Whether all rows of the first run and of that at this position belong together as they come."""
    return rows.in_step or (not any(rows.left_out) and np.array_equal(rows.orders[0], rows.orders[at]))


def _count_different(
    runs: Sequence[Run], columns: Sequence[str], at: int, rows: Alignment, same: Callable[[Any, Any], bool]
) -> tuple[int, str]:
    """How many rows have another cell in the run at this position, for computing and for messages."""
    count, first = 0, -1
    for part in _find_different(list(zip(runs, columns, strict=True)), at, rows, same):
        first = int(part[0]) if len(part) and not count else first
        count += len(part)
    where = f", first in that of {rows.by} {rows.all_ids[first].as_py()}" if count else ""
    return count, f"{count} of {len(rows)} rows{where}"


def _find_different(
    cells: Sequence[tuple[Run, str]], at: int, rows: Alignment, same: Callable[[Any, Any], bool]
) -> Iterator[Array]:
    """The rows of the first run, by number and in parts, in which the columns of two runs differ."""
    if _in_one_order(rows, at):
        start = 0
        for left, right in zip_pieces([(batch.column(0) for batch in run.batches([name])) for run, name in cells]):
            yield start + _differences(left, right, same)
            start += len(left)
        return
    ours, theirs = (rows.place(each, np.arange(len(rows))) for each in (0, at))
    order = np.argsort(ours)  # the first row that differs is the first of the first run
    ours, theirs = ours[order], theirs[order]
    if all(is_text(run.schema.field(name).type) for run, name in cells):
        one, other = map_ordered(_hash_cells, cells)
        apart = one[ours] != other[theirs]
        ours, theirs = ours[apart], theirs[apart]
    if not len(ours):
        return
    left, right = map_ordered(lambda each: each[0].column(each[1]).combine_chunks(), cells)

    def compare(start: int) -> Array:
        mine, yours = ours[start : start + _SLICE], theirs[start : start + _SLICE]
        return mine[_differences(left.take(from_numpy(mine)), right.take(from_numpy(yours)), same)]

    yield from map_ordered(compare, range(0, len(ours), _SLICE))


def _hash_cells(cells: tuple[Run, str]) -> Array:
    """A number for each text or null of a column, shape (n,): the same in this process where they are equal."""
    run, name = cells
    parts = [np.fromiter(map(hash, batch.column(0).to_pylist()), np.int64) for batch in run.batches([name])]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _differences(left: pa.Array, right: pa.Array, same: Callable[[Any, Any], bool]) -> Array:
    """The rows, by number, in which two arrays differ: of texts only those that do are compared as values."""
    rows = np.arange(0 if left.equals(right) else len(left))
    if not len(rows):
        return rows
    if is_text(left.type) and is_text(right.type):
        left, right = left.cast(pa.large_string()), right.cast(pa.large_string())
        equal = pc.or_(pc.equal(left, right).fill_null(False), pc.and_(left.is_null(), right.is_null()))
        rows = np.flatnonzero(~np.asarray(equal))
        left, right = left.take(from_numpy(rows)), right.take(from_numpy(rows))
    cells = zip(to_python(left), to_python(right), strict=True)
    different: Array = rows[np.array([not same(one, other) for one, other in cells], bool)]
    return different


def _same_text(one: Any, other: Any) -> bool:
    """Whether two cells are equal, or one is missing, which contradicts nothing."""
    return one is None or other is None or to_text(one) == to_text(other)


def _same_gold(one: Any, other: Any) -> bool:
    return bool(_as_list(one) == _as_list(other))


def _as_list(gold: Any) -> Any:
    """Gold as a list, from a list, its JSON in a CSV, or a single text."""
    if isinstance(gold, str) and gold.startswith(("[", "{")):
        with suppress(ValueError):
            gold = json.loads(gold)
    return gold if gold is None or isinstance(gold, list) else [gold]
