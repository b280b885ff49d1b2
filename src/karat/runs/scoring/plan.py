"""The plan of a run, made before the first row is read: which columns the metrics get, and which are added."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import karat.judges
import karat.metrics  # noqa: F401  (importing these two registers the names of metrics)
from karat.core.columns.arrow import is_text
from karat.core.columns.json_text import AS_TEXT, ITEMS
from karat.core.columns.kinds import TEXT, TEXTS, Array, Kind
from karat.core.errors import ColumnError, RowError
from karat.core.metric.metric import Metric
from karat.core.metric.score import cast_columns
from karat.core.metric.setting import SEVERAL
from karat.core.metric.spec import parse_all
from karat.data.join.gather import Gathered
from karat.data.join.join import Joined
from karat.data.json.values import forget_values, read_values
from karat.data.paths.apart import check_one_system, is_log_of_several
from karat.data.paths.known import find_empty, find_inside, find_layout_paths, find_text_files
from karat.data.paths.listed import describe_lists, find_listed, read_references
from karat.data.paths.nested import add_nested, check_paths, find_nested
from karat.data.roles import map_columns
from karat.data.source import Source
from karat.data.storage.file_names import name_row
from karat.runs.columns.groups import check_group_column
from karat.runs.columns.ids import id_columns
from karat.runs.columns.output import OutputColumns
from karat.runs.columns.score_columns import check_range, fit_range
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.clusters import plan_clusters
from karat.runs.scoring.sources import QUESTION, gather_repeats, open_sources
from karat.stats.inference import Inference
from karat.stats.sequential.until import Until

if TYPE_CHECKING:
    from karat.core.metric.rows import Rows
    from karat.runs.columns.patched_gold import PatchedGold
    from karat.runs.scoring.correction import Correction


_INSIDE = {"an object": (".KEY", "selects a part of it"), "a list of lists": ("[*][*]", "makes one flat list")}
_TEXTS = ("question", "prediction", "reference", "contexts")


@dataclass(frozen=True)
class Nested:
    """The types of the columns that are found by path: of groups and clusters, of roles, and in the condition.

    `named` are all names in the condition.
    """

    groups: Mapping[str, pa.DataType] = field(default_factory=dict)
    roles: Mapping[str, pa.DataType] = field(default_factory=dict)
    where: Mapping[str, pa.DataType] = field(default_factory=dict)
    named: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """All that is decided before the first row is read.

    `source` has the rows to score, `base` what was opened, before columns were added by path (`nested`) and rows were
    filtered. `joined` is the join of data and gold, where there is one. `kinds` and `mapping` are the kind and the
    column of each role, `clusters` the columns that may hold clusters, `patched` applies a gold patch. `errors` is
    the column, if any, that says why a row has no prediction, `correction` what people's labels correct, `until` when
    judges stop asking. `answered`: of judges that were asked before, by spec, their rows and how far they were asked.
    """

    selection: Selection
    inference: Inference
    metrics: list[Metric]
    source: Source
    base: Source
    nested: Nested
    joined: Joined | None
    kinds: dict[str, Kind]
    mapping: dict[str, str]
    output: OutputColumns
    clusters: tuple[str, ...]
    patched: PatchedGold | None = None
    errors: str | None = None
    correction: Correction | None = None
    until: Until | None = None
    answered: Mapping[str, tuple[Rows, Any]] | None = None

    def role_columns(self, batch: pa.RecordBatch, numbers: Array | None = None) -> dict[str, pa.Array]:
        """The columns of a batch that the metrics get, by role; `numbers` are its row numbers, from 0."""
        numbers = np.arange(len(batch)) if numbers is None else numbers
        columns = {role: self._parse(role, batch.column(name), numbers) for role, name in self.mapping.items()}
        if "reference" in columns and self._takes_lists:
            name, label = self.mapping["reference"], self.labels["reference"]
            columns["reference"] = read_references(columns["reference"], batch, name, label, numbers)
        return columns

    @cached_property
    def _takes_lists(self) -> bool:
        """Whether references are texts, or lists of them, for a metric that takes them as they are."""
        return any(_scores_text(metric, "reference") for metric in self.metrics)

    def _parse(self, role: str, column: pa.Array, numbers: Array) -> pa.Array:
        """The column as the kind of its role reads it."""
        kind, name = self.kinds[role], self.mapping[role]
        where = f"column {name!r}"

        def place(at: int) -> str:
            return self._place(int(numbers[at]) + 1)

        if kind.numeric or kind.ranked:
            column = read_values(column, self.source.schema.field(name))
        try:
            parsed = kind.parse(column, where, place, objects=_all_read_json(self.metrics, role))
        except RowError as error:
            raise RowError(f"{error}{'' if kind.numeric else _suggest_path(str(error), role, name)}") from None
        except ColumnError as error:
            raise ColumnError(f"{self.source.name}: {error}") from None
        for metric in self.metrics if kind.numeric else ():
            check_range(parsed, metric.definition.inputs.ranges.get(role), where, place)
        return parsed

    def _place(self, row: int) -> str:
        """The place of a row in messages; rows of a join, or told apart by ids, are not numbered as in the file."""
        chosen = self.selection.id is not None or self.joined is not None
        return f"{self.source.name}, row {row} of those scored" if chosen else name_row(self.source.name, row)

    @cached_property
    def digested(self) -> dict[str, str]:
        """The columns on which the result rests, for `Digests`: the roles' columns, and further ones as `column NAME`.

        These are the columns of groups, clusters, conditions, ids and labels.
        """
        selection, human, schema = self.selection, self.selection.human, self.source.schema
        ids = id_columns(schema, self.mapping, selection.joins_gold or "")
        labels = [] if human is None else [*human.columns_of(schema.names), human.strata]
        names = [name.casefold() for name in self.nested.named]
        condition = [
            name for name in schema.names if any(f"{each}.".startswith(f"{name.casefold()}.") for each in names)
        ]
        further = {*selection.by_value, next(filter(None, ids), None), *labels, *condition}
        further -= {None, *self.mapping.values()}
        return self.mapping | {f"column {name}": name for name in schema.names if name in further}

    @property
    def gathered(self) -> bool:
        """Whether rows of one question became one row."""
        return any(isinstance(file, Gathered) for _, file, _ in self.base.files)

    @property
    def labels(self) -> dict[str, str]:
        """The name of each role's column in error messages."""
        return {role: f"{self.source.name}: column {name!r} ({role})" for role, name in self.mapping.items()}


def plan_run(
    selection: Selection,
    metrics: str | Metric | Iterable[str | Metric],
    inference: Inference,
    errors: str | None = None,
) -> Plan:
    """Open what is read, and find the columns.

    Raises `ColumnError` where a column is missing or does not fit a metric, and what opening and joining raise.
    """
    chosen = parse_all(metrics)
    named = {role: name for metric in chosen for role, name in metric.definition.inputs.named.items()}
    kinds = {role: kind for metric in chosen for role, kind in metric.definition.columns.items()}
    # `column(prediction)` takes it from no other metric
    fixed = {**named, **{name: name for name in named.values() if name in kinds}, **selection.map}
    samples = {metric.definition.samples for metric in chosen} - {""}
    answers, question = {fixed.get(role, role) for role in samples}, fixed.get(QUESTION) if samples else None
    if QUESTION not in kinds and question is not None:
        del fixed[QUESTION]
    ranked = any(metric.definition.reads_rankings for metric in chosen)
    source = open_sources(selection.data, selection.gold, selection.joins_gold, ranked=ranked, answers=answers)
    joined = source if isinstance(source, Joined) else None
    by_value = selection.by_value
    base, nested = source, Nested(groups=find_nested(source, by_value))
    source = add_nested(source, nested.groups, keep_json=False)
    roles = find_layout_paths(base, kinds.keys() - fixed.keys()) | fixed
    nested = replace(nested, roles=find_nested(source, roles.values()))
    source = add_nested(source, nested.roles)
    check_paths(source, (*by_value, *roles.values()))
    sides, original = ({}, {}) if joined is None else (joined.sides, joined.original_names)
    original = original | dict.fromkeys(find_empty(base, kinds.keys() - roles.keys()), "")
    mapping = map_columns(
        source.schema.names, list(kinds), roles, sides=sides, original_names=original, where=source.name
    )
    texts = {role: mapping[role] for role in kinds if _takes_text(chosen, kinds, role)}
    own = {role: name for role, name in texts.items() if role not in fixed}
    lists = {
        role: name for role, name in texts.items() if role == "reference" or (kinds[role] is TEXTS and role in own)
    }
    inside = find_listed(source, lists) | find_inside(source, own, of_text=find_text_files(base))
    if there := find_nested(source, inside.values()):
        nested = replace(nested, roles={**nested.roles, **there})
        source, mapping = add_nested(source, there), mapping | {k: v for k, v in inside.items() if v in there}
    if samples and joined is None:
        if is_log_of_several(source) and selection.where is not None:  # the condition chooses one system's answers
            source, nested = _filter(source, replace(selection, limit=None), nested)
        check_one_system(source, by_value)
        gathered = gather_repeats(source, chosen, mapping, question)
        if isinstance(gathered, Gathered):
            base = source = gathered
            errors = None if errors in gathered.lists else errors
    if (patched := _patch(source, selection, mapping)) is not None:
        source = patched.apply(source)
    every, (source, nested) = source, _filter(source, selection, nested)
    check_one_system(source, by_value)
    chosen = [fit_range(metric, source) for metric in chosen]
    source = _as_compared(
        source, by_value, {mapping[role] for role, kind in kinds.items() if not (kind.numeric or kind.ranked)}
    )
    for name in by_value:
        check_group_column(source.schema, name, source.name)
    added = OutputColumns.beside(schema := source.schema, chosen), plan_clusters(selection, base, schema, mapping)
    plan = Plan(selection, inference, chosen, source, base, nested, joined, kinds, mapping, *added, patched, errors)
    empty = pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    for metric in chosen:  # finds a column that does not fit before the first row is read
        cast_columns(metric, plan.role_columns(empty), plan.labels)
    if selection.human is None:
        return plan
    from karat.runs.scoring.correction import plan_correction  # noqa: PLC0415  (only where people labelled rows)

    return replace(plan, correction=plan_correction(selection.human, selection, source, every, chosen))


def _as_compared(source: Source, by: Collection[str], texts: Collection[str]) -> Source:
    """The source with values in the columns of groups; those that metrics read as text are kept as text in a run."""
    source = source.as_values([name for name in by if name not in texts])
    return replace(source, schema=forget_values(source.schema, texts))


def _patch(source: Source, selection: Selection, mapping: Mapping[str, str]) -> PatchedGold | None:
    """The gold patch of these rows, which it was checked against; None without one."""
    if selection.gold_patch is None:
        return None
    from karat.runs.columns.patched_gold import patch_gold  # noqa: PLC0415  (only where there is a patch)

    return patch_gold(source, selection.gold_patch, mapping, selection.on or "")


def _filter(source: Source, selection: Selection, nested: Nested) -> tuple[Source, Nested]:
    """The rows that the condition and the limit leave, and where the values are that the condition names."""
    if selection.where is None and selection.limit is None:
        return source, nested
    from karat.data.filter import filter_rows, names_in  # noqa: PLC0415  (seldom needed)

    if selection.where is not None:
        names = names_in(selection.where, columns=source.schema.names)
        nested = replace(nested, where=find_nested(source, names), named=frozenset(names))
    return filter_rows(source, selection.where, selection.limit, nested.where), nested


def _takes_text(metrics: Iterable[Metric], kinds: Mapping[str, Kind], role: str) -> bool:
    """Whether a role holds texts that no metric reads as JSON."""
    readers = [metric for metric in metrics if role in metric.definition.columns]
    return role in _TEXTS and kinds[role] in (TEXT, TEXTS) and not any(_reads_json(each, role) for each in readers)


def _all_read_json(metrics: Iterable[Metric], role: str) -> bool:
    """Whether the texts of a role are for metrics of JSON alone, for which an object is its own text."""
    return all(metric.definition.inputs.json for metric in metrics if role in metric.definition.columns)


def _reads_json(metric: Metric, role: str) -> bool:
    """Whether a metric reads the JSON in the texts of a role, or extracts an answer from them."""
    return metric.definition.inputs.json or (role == "prediction" and metric.settings.get("extract", "none") != "none")


def _suggest_path(problem: str, role: str, name: str) -> str:
    """What to type where a row holds an object or lists of lists; empty for other problems."""
    kind = next((kind for kind in _INSIDE if f"found {kind}" in problem), None)
    if kind is None:
        return ""
    part, does = _INSIDE[kind]
    path = f"{name}{part if part != ITEMS * 2 else ITEMS * (2 - name.endswith(ITEMS))}"
    return f"; --map {role}={path} (in Python, map={{{role!r}: {path!r}}}) {does}"


def find_json_in_text(plan: Plan, batch: pa.RecordBatch, warned: dict[str, str], *, first: bool) -> None:
    """Add a warning for each role where a text is a JSON list or object, as in CSV, and a metric scores it as text."""
    for role in (SEVERAL.keys() & plan.mapping.keys()) - warned.keys():
        column = batch.column(plan.mapping[role])
        as_told = plan.mapping[role].endswith(AS_TEXT)
        if as_told or not is_text(column.type) or not any(_scores_text(metric, role) for metric in plan.metrics):
            continue
        if problem := describe_lists(column, role, plan.mapping[role], first=first):
            warned[role] = f"{plan.labels[role]} {problem}"


def _scores_text(metric: Metric, role: str) -> bool:
    """Whether a metric takes the texts of a role as they are, and expects no JSON; a language model reads JSON."""
    return role in metric.definition.columns and not (metric.judge or _reads_json(metric, role))
