"""A task: the rows of one part, scored by the same code on any machine, and what comes back from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from karat.core.context import change_context, current_context
from karat.core.metric.rows import NOT_ASKED
from karat.data.filter import filter_rows
from karat.data.formats.columnar import open_part
from karat.data.formats.validate import validate_source
from karat.data.join.buckets import Bucket, HalfPart, join_bucket, write_buckets
from karat.data.join.join import Joined
from karat.data.join.parts import JoinedPart, open_joined
from karat.data.paths.nested import add_nested
from karat.data.source import Part, Source
from karat.runs.columns.digest import Digests
from karat.runs.scoring.plan import Nested, Plan
from karat.runs.scoring.tasks.batches import Batch, add_up, score_batches
from karat.runs.scoring.tasks.progress import RowCounter
from karat.runs.scoring.totals.totals import Totals
from karat.runs.store.parts import Done, PartsFolder

Advance = Callable[[int], None]
"""Called with a number of further rows that are scored, from any thread."""


@dataclass(frozen=True)
class Recipe:
    """All that scores a part, and nothing that cannot be sent to another process.

    `plan` covers all rows, without its sources. `name` and `schema` are the whole source's before columns
    were added by path (`nested`). `columns` are those that are read, None for all. `folder` is where the rows are
    written, None where they are not. `machine` is where encoders run.
    """

    plan: Plan
    name: str
    schema: pa.Schema
    nested: Nested
    columns: frozenset[str] | None
    folder: PartsFolder | None = None
    machine: Any = field(default_factory=lambda: current_context().machine)

    @property
    def schema_read(self) -> pa.Schema:
        """The columns that are read, as in the whole source."""
        names = self.schema.names if self.columns is None else self.columns
        return pa.schema([each for each in self.schema if each.name in names])

    @property
    def joined(self) -> Joined:
        """The join of which a part is to be read."""
        if self.plan.joined is None:
            raise AssertionError("a part of a join, and no join")
        return self.plan.joined

    def open(self, part: Part) -> Plan:
        """The plan of a part."""
        if isinstance(part, JoinedPart):
            return self.plan_of(open_joined(self.joined, part, self.columns))
        return self.plan_of(open_part(part, self.name, self.schema, self.columns))

    def plan_of(self, base: Source) -> Plan:
        """The plan of some of the rows, with their own columns."""
        source = add_nested(add_nested(base, self.nested.groups, keep_json=False), self.nested.roles)
        if self.plan.patched is not None:
            source = self.plan.patched.apply(source)
        if (where := self.plan.selection.where) is not None:
            source = filter_rows(source, where, None, self.nested.where)
        kinds = {role: kind for metric in self.plan.metrics for role, kind in metric.definition.columns.items()}
        return replace(self.plan, source=source, base=base, kinds=kinds)


def make_recipe(plan: Plan, folder: PartsFolder | None) -> Recipe:
    """The recipe of a plan whose source has parts."""
    base, nested = plan.base, plan.nested
    columns = None if folder is not None else frozenset(_columns_read(plan, base))
    nothing, joined = base.without_rows(), None if plan.joined is None else plan.joined.without_rows()
    selection = replace(plan.selection, data=None, gold=None)
    stripped = replace(plan, selection=selection, source=nothing, base=nothing, joined=joined, kinds={})
    return Recipe(stripped, base.name, base.schema, nested, columns, folder)


def _columns_read(plan: Plan, base: Source) -> list[str]:
    """The columns that scoring reads, by their names in the file."""
    used = {*plan.mapping.values(), *plan.nested.where, *plan.selection.by_value, *plan.clusters}
    used |= set() if plan.patched is None else {plan.patched.id}
    folded = {name.casefold() for name in plan.nested.named}
    return [
        name
        for name in base.schema.names
        if name.casefold() in folded or any(each == name or each.startswith(f"{name}.") for each in used)
    ]


def score_part(recipe: Recipe, task: int, part: Part, advance: Advance | None = None) -> Done:
    """Read, score and write the rows of a part: the same part gives the same bytes on any machine, at any time.

    What is written already is not scored again.
    Parts of one side of a join are divided into buckets of ids, and these are joined and scored.
    """
    if isinstance(part, HalfPart):
        write_buckets(recipe.joined, part, recipe.columns, task, advance)
        return Done(task, part.rows, b"")
    if isinstance(part, Bucket):
        return score_bucket(recipe, task, part.read("reference"), part.read("prediction"), advance)
    if recipe.folder is not None and (done := recipe.folder.find(task)) is not None:
        return done  # of a task that is carried out again, since what it gave back was lost
    plan = recipe.open(part)
    if recipe.folder is None:
        return _score(recipe, plan, task, advance)[0]
    digests = Digests(plan.digested)
    with recipe.folder.write(task, plan.output) as writer:

        def write(batch: Batch) -> None:
            digests.add(batch.rows)
            writer.add(batch.append_scores(), batch.scored)

        done, totals = _score(recipe, plan, task, advance, write)
    if any(NOT_ASKED in reason for each in totals.metrics.values() for reason in each.whole.reasons):
        return done  # without its state: what a cap left unasked is asked when the run is continued
    return recipe.folder.keep(replace(done, digests=digests.by_role, files=writer.files))


def score_frame(recipe: Recipe, task: int, batches: Iterable[pa.RecordBatch]) -> Done:
    """Score some rows of a frame, which have no place among all rows: the ids of the recipe tell them apart."""
    schema = recipe.schema_read

    def read() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [batch.column(each.name).cast(each.type) for each in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    source = validate_source(Source(recipe.name, schema, None, read), checked=False)
    return _score(recipe, recipe.plan_of(source), task, None)[0]


def score_bucket(
    recipe: Recipe,
    task: int,
    gold: Iterable[pa.RecordBatch],
    predictions: Iterable[pa.RecordBatch],
    advance: Advance | None = None,
) -> Done:
    """Join and score all rows of both sides whose ids are in one bucket."""
    source, missing, unknown = join_bucket(recipe.joined, gold, predictions, recipe.columns)
    return replace(_score(recipe, recipe.plan_of(source), task, advance)[0], unmatched=(missing, unknown))


def _score(
    recipe: Recipe, plan: Plan, task: int, advance: Advance | None, write: Callable[[Batch], None] | None = None
) -> tuple[Done, Totals]:
    warned = dict[str, str]()

    def put(batch: Batch) -> None:
        if write is not None:
            write(batch)
        if advance is not None:
            advance(len(batch.rows))

    with change_context(machine=recipe.machine):
        totals = add_up(plan, score_batches(plan, RowCounter(None, None), warned), put)
    return Done(task, totals.n, totals.to_bytes(), warned), totals
