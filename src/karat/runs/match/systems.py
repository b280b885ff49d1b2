"""The systems of a comparison: runs, scored files, and results in memory, all opened as runs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from karat.core.errors import ColumnError, DataError, SpecError, did_you_mean, nearest_name
from karat.core.metric.metric import Metric
from karat.core.metric.spec import expand, parse
from karat.data.open import open_source
from karat.data.roles import map_columns
from karat.data.source import Source
from karat.data.storage.addresses import is_file, to_path
from karat.runs.columns.ids import find_question
from karat.runs.columns.lengths import Lengths, count_lengths, read_lengths
from karat.runs.columns.output import OutputColumns
from karat.runs.columns.score_columns import fit_range, suggest_column
from karat.runs.scoring.pipeline import score
from karat.runs.scoring.result import Result
from karat.runs.store.folders import find_run
from karat.runs.store.manifest import Manifest, describe_metric, find_scores
from karat.runs.store.run import Run, ScoredFile, open_run, open_scored
from karat.stats.ranking.letters import name_letter

System: TypeAlias = str | Path | Run | Result
"""A run (its name, its folder or a `Run`), a file of scored rows, or a `Result` of `karat.score`."""


@dataclass(frozen=True)
class Named:
    """A system under another name than its own; `arguments` are names that may have been meant instead."""

    name: str
    system: System
    arguments: Collection[str] = ()

    def open(self, metrics: Metrics, *, scored: bool) -> Run:
        """The system as a run of this name; raises what `open_system` does."""
        try:
            run = open_system(self.system, self.name, metrics, scored=scored)
        except (DataError, SpecError) as error:
            nearest = nearest_name(self.name, self.arguments)
            hint = f"; {self.name}= names a system: is {nearest}= meant?" if nearest else ""
            raise type(error)(f"{error}{hint}") from error
        return replace(run, manifest=replace(run.manifest, name=self.name))


Metrics: TypeAlias = str | Metric | Iterable[str | Metric]
"""The spec of a metric or a metric, or several of them."""


def open_system(system: System, label: str = "", metrics: Metrics = (), *, scored: bool = True) -> Run:
    """Open a system as a run; `label` is the name of a result that is only in memory.

    Of `metrics`, those that name a column of the rows (`column(gpt4)`) are metrics of the run, whatever else was
    scored. Raises `DataError`, with the nearest name, for a run that does not exist, for a result whose rows were not
    kept and, where `scored`, for a file without scores; `ColumnError` for a named column that is not there; `SpecError`
    for any other type of system.
    """
    if isinstance(system, Result):
        run = system.run or _open_result(system, system.name or label)
    elif isinstance(system, Run):
        run = system
    elif not isinstance(system, str | Path):
        raise SpecError(f"expected a run, a file of scored rows or a Result, found {type(system).__name__}")
    elif is_file(system) and find_run(system) is None:
        run = open_scored(system)
        run = replace(run, manifest=replace(run.manifest, mapping=_infer_mapping(run)))
        if not run.specs and (unscored := [spec for spec in list_specs(metrics) if _can_score(spec)]):
            run = _score_file(system, unscored)
    else:
        run = open_run(system)
    run = add_named_columns(run, metrics)
    if scored and not run.specs:
        missing = "no column has the name of a metric, such as exact_match"
        suggestion = suggest_column(run, list_specs(metrics))
        typed = "-m METRIC scores its answers, karat score -o FILE writes a file with scores"
        raise DataError(f"{run.name} holds no scores: {missing}; {typed}{suggestion}")
    return run


def list_specs(metrics: Metrics) -> list[str]:
    """The specs of one or more metrics, as they are written; a preset's specs in its place."""
    several = [metrics] if isinstance(metrics, str | Metric) else metrics
    return [spec for each in several for spec in ((each.spec,) if isinstance(each, Metric) else expand(each))]


def add_named_columns(run: Run, metrics: Metrics) -> Run:
    """The run with the `metrics` that name a column of its rows.

    Raises `ColumnError` for a column that is not there, `SpecError` for a column that is named as if it was a metric.
    """
    for spec in list_specs(metrics):
        try:
            metric = parse(spec)
        except SpecError:
            if spec in run.schema.names:
                raise SpecError(f"{run.name}: {spec} is not a metric{suggest_column(run, [spec])}") from None
            continue
        for role, name in metric.definition.inputs.named.items():
            if metric.spec in run.specs:
                continue
            if name not in (names := run.schema.names):
                run = run.with_path(name)
            if name not in run.schema.names:
                raise ColumnError(f"{run.name}: no column {name!r} for {role}{did_you_mean(name, names)}")
            described = describe_metric(fit_range(metric, run), name)
            run = replace(run, manifest=replace(run.manifest, metrics=(*run.manifest.metrics, described)))
    return run


def open_systems(systems: Sequence[System | Named], metrics: Metrics = (), *, scored: bool = True) -> list[Run]:
    """Open systems as runs: results in memory are called A, B, …; one with the name of an earlier one gets a number.

    Raises what `open_system` raises.
    """
    letters = (name_letter(at).upper() for at in count())
    labels = letters if len(systems) > 1 else ["the result"]
    wanted = list_specs(metrics)
    runs = [
        system.open(wanted, scored=scored)
        if isinstance(system, Named)
        else open_system(system, label, wanted, scored=scored)
        for system, label in zip(systems, labels, strict=False)
    ]
    names = [run.name for run in runs]
    for at, run in enumerate(runs):
        if same := names[:at].count(run.name):
            runs[at] = replace(run, manifest=replace(run.manifest, name=f"{run.name} ({same + 1})"))
    return runs


def name_systems(
    systems: Sequence[System], named: Mapping[str, System], function: Callable[..., Any]
) -> list[System | Named]:
    """Two systems or more, some of them named by the arguments of a function; `SpecError` for fewer."""
    arguments = [name for name, each in signature(function).parameters.items() if each.kind is each.KEYWORD_ONLY]
    every = [*systems, *(Named(name, system, arguments) for name, system in named.items())]
    if len(every) < 2:
        raise SpecError(f"expected at least two systems, found {len(every)}")
    return every


def gold_column(run: Run) -> str | None:
    """The column of the gold that was scored against."""
    return run.manifest.mapping.get("reference") or run.manifest.mapping.get("relevant")


def question_column(run: Run) -> str | None:
    """The column of the questions, where there is one."""
    return find_question(run.schema, run.manifest.mapping)


def find_lengths(run: Run) -> Lengths | None:
    """How long the answers are beside their gold: as counted when they were scored, or as a scored file has them."""
    mapping = {role: run.manifest.mapping.get(role) for role in ("prediction", "reference")}
    names = {role: name for role, name in mapping.items() if name is not None}
    if run.manifest.lengths or not isinstance(run, ScoredFile) or len(names) < 2:
        return run.manifest.lengths
    counted = Counter[str]()
    for batch in run.batches(list(dict.fromkeys(names.values()))):
        counted.update(count_lengths({role: batch.column(name) for role, name in names.items()}))
    return read_lengths(counted)


@dataclass(frozen=True)
class OpenRows(ScoredFile):
    """Rows of an open source, such as a table in memory, read like a scored file; `path` is empty and never used."""

    source: Source = field(kw_only=True, repr=False)


def open_rows(data: Any) -> Run:
    """The rows of a file or a frame, read like a run; columns that have the name of a metric hold its scores."""
    source = open_source(data)
    manifest = Manifest(source.name, "", find_scores(source.schema, source.name), {})
    if isinstance(data, str | Path):
        run: Run = ScoredFile(to_path(data), manifest)
    else:
        run = OpenRows(Path(), manifest, source=source)
    return replace(run, manifest=replace(manifest, mapping=_infer_mapping(run)))


def _can_score(spec: str) -> bool:
    """Whether a spec is of a metric of answers, and not the name of a column."""
    try:
        return not parse(spec).definition.inputs.named
    except SpecError:
        return False


def _score_file(path: str | Path, specs: Sequence[str]) -> Run:
    """The rows of a file, scored in memory; `DataError`, with what to type, where that needs more than the file."""
    command = " ".join(["karat score", shlex.quote(str(path)), *(f"-m {shlex.quote(spec)}" for spec in specs)])
    problem = f"{path} holds no scores: score it first, {command} --run NAME, and name that run"
    if judges := [spec for spec in specs if parse(spec).asks_model]:
        raise DataError(f"{problem}, as {' and '.join(judges)} asks a model")
    try:
        result = score(path, list(specs), keep=True)
    except ColumnError as error:
        raise DataError(f"{problem}; {error}") from error
    return _open_result(result, str(path))


def _open_result(result: Result, label: str) -> Run:
    if result.schema is None or (result.batches is None and result.output is None):
        raise DataError(f"{label}: its rows are not in memory: score with run='NAME', output='FILE' or keep=True")
    columns = OutputColumns.of_scored(result.schema, result.metrics)
    metrics = zip(result.metrics, columns.scores, strict=True)
    noted = tuple(describe_metric(metric, column) for metric, column in metrics)
    mapping, settings = dict(result.mapping), dict(result.settings)
    looked_in = () if result.gathered or settings.get("cluster") else tuple(result.schema.names)
    manifest = Manifest(label, "", noted, mapping, settings, n=result.n, lengths=result.lengths, clusters_in=looked_in)
    if result.batches is None and result.output is not None:
        return ScoredFile(result.output, manifest, result.as_dict())
    table = pa.Table.from_batches(result.batches or (), result.schema)
    return OpenRows(Path(), manifest, result.as_dict(), source=open_source(table))


def _infer_mapping(run: Run) -> dict[str, str]:
    """The mapping that scoring a scored file would infer; {} where it is ambiguous or a column is missing."""
    roles = {} if run.specs else {"prediction": None}
    for spec in run.specs:
        with suppress(SpecError):
            roles |= dict.fromkeys(parse(spec).definition.columns)
    with suppress(ColumnError):
        return map_columns(run.schema.names, list(roles))
    return {}
