"""The manifest of a run: what was scored, from which data, with which settings, versions and models.

The types of the dataclasses here are the schema of `manifest.json`: they are checked when the file is read, as a run
may come from a stranger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pyarrow as pa

from karat.core.errors import ColumnError, DataError, KaratError, SpecError
from karat.core.metric.definition import Definition, Direction, Finish
from karat.core.metric.in_order import kept_by
from karat.core.metric.metric import Metric
from karat.core.metric.spec import match_spec, parse, parse_own
from karat.data.json.typed import check_type
from karat.data.storage.addresses import join_path
from karat.data.storage.checksums import FileSum, read_json, seal, sum_bytes, unseal
from karat.data.storage.whole_files import write_bytes
from karat.runs.columns.gold_patch import PatchNote
from karat.runs.columns.lengths import Lengths
from karat.runs.store.folders import MANIFEST
from karat.stats.aggregate import Scale

FORMAT = 2  # 1: `values.json` has `failed`, which is `unscored` since
CODE = "code of "  # begins the key of a setting: the digest of the code of a metric that is not karat's
CERTIFICATES = "certificates"  # the key of a setting: what certificates say of judges, by spec
UNTIL = "until"  # the key of a setting: the rule by which judges stop asking rows, which come in a random order
ASKING = "asking"  # in that setting, while the run is written: how far a judge was asked
ENDPOINTS = "endpoints"  # the key of a setting: the addresses at which models are asked
Of = TypeVar("Of")


@dataclass(frozen=True)
class ScoredMetric:
    """One metric of a run.

    `column` is the name of its score column. `signature` is None where it is not known: in a scored file that is not
    a run. `counts`: the metric has a `finish`, so its value is computed from counts, not as the mean of the scores.
    `low`, `high` and `direction` are the metric's definition's, `recipe` is the preset by which it was named.
    """

    spec: str
    signature: str | None
    column: str
    direction: Direction
    low: float | None
    high: float | None
    counts: bool
    recipe: str = ""

    @property
    def scale(self) -> Scale:
        """The bounds and the direction; the finish is not stored, but for a percentile's, which the spec has."""
        return Scale(self.percentile, (self.low, self.high), self.direction)

    @property
    def percentile(self) -> Finish | None:
        """The finish of a percentile, whose statistics are the scores; None for any other metric."""
        finish = parse(self.spec).finish if self.counts and self.spec.startswith("percentile(") else None
        return finish if kept_by(finish) == "values" else None


def describe_metric(metric: Metric, column: str, *, signed: bool = True) -> ScoredMetric:
    """The entry of a metric in a manifest; `column` holds its scores. Without `signed` its signature is not known."""
    known, signature = metric.definition, metric.signature if signed else None
    counts = known.finish is not None
    return ScoredMetric(metric.spec, signature, column, known.direction, known.low, known.high, counts, metric.recipe)


def find_scores(schema: pa.Schema, where: str) -> tuple[ScoredMetric, ...]:
    """The metrics whose spec is the name of a column; `ColumnError` where two columns could hold the scores of one."""
    metrics = []
    for name in schema.names:
        if (metric := parse_own(name)) is not None:
            if f"{name}_2" in schema.names:
                raise ColumnError(f"{where}: are the scores of {name} in column {name!r} or {f'{name}_2'!r}?")
            metrics.append(describe_metric(metric, name, signed=False))
    return tuple(metrics)


@dataclass(frozen=True, kw_only=True)
class StoredSettings:
    """The settings of a run that decide how its rows are read again; there may be more."""

    on: str | None = None
    by: str | None = None
    cluster: str | None = None
    where: str | None = None
    limit: int | None = None
    confidence: float = 0.95
    seed: int = 0
    endpoints: tuple[str, ...] = ()
    gold_patch: PatchNote | None = None


@dataclass(frozen=True)
class Manifest:
    """The content of `manifest.json`.

    `call` is the command line, `sources` name what was read, by side, `settings` are the arguments that decide what is
    scored and how. `digests` are of the columns that were scored, by role: equal for the same values in the same order.
    Digests of other columns on which the result rests, such as the column of groups, are under `column NAME`. `n` is
    the number of rows, `models` the models that judges asked, with calls, tokens and costs, `lengths` how long the
    answers are beside their gold. `clusters_in` names the columns in which rows that belong together were looked for;
    what was found is with the values. `files` has the checksums of the other files of the run.
    """

    name: str
    created: str
    metrics: tuple[ScoredMetric, ...]
    mapping: Mapping[str, str]
    settings: Annotated[Mapping[str, Any], StoredSettings] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    call: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str | float | None] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    n: int | None = None
    models: Mapping[str, tuple[str, ...] | float | None] | None = None
    lengths: Lengths | None = None
    clusters_in: tuple[str, ...] = ()
    files: Mapping[str, FileSum] = field(default_factory=dict)
    format: int = FORMAT

    def metric(self, spec: str) -> ScoredMetric:
        """The entry of a metric, given its spec in any spelling; `SpecError` where it was not scored.

        >>> from karat.core.metric.spec import parse
        >>> run = Manifest("a", "", (describe_metric(parse("token_f1"), "token_f1"),), {})
        >>> run.metric("f1").column
        'token_f1'
        """
        known = {each.spec: each for each in self.metrics}
        try:
            return known[match_spec(spec, known)]
        except SpecError as error:
            raise SpecError(f"{self.name}: {error}") from None


def write_manifest(manifest: Manifest, folder: str | Path) -> None:
    """Write the manifest of a run's folder, completely or not at all."""
    write_json(join_path(folder, MANIFEST), seal(asdict(manifest)))


def write_json(path: str | Path, content: Mapping[str, Any]) -> FileSum:
    """Write a file of JSON, completely or not at all: its checksum."""
    text = (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()
    write_bytes(path, text)
    return sum_bytes(text)


def read_manifest(folder: str | Path) -> Manifest:
    """The manifest in a folder or at its address; `DataError` where it is damaged or written by a newer karat."""
    path = join_path(folder, MANIFEST)
    content = read_json(path)
    form = content.get("format") if isinstance(content, dict) else None
    if isinstance(form, int) and form > FORMAT:
        raise DataError(f"{path} is of a newer karat (format {form}, this one reads {FORMAT}): update it")
    content = unseal(content, path)
    check_content(content, Manifest, f"{path} is not the manifest of a run")
    content["metrics"] = tuple(_make(ScoredMetric, each) for each in content["metrics"])
    content["lengths"] = _make(Lengths, content["lengths"]) if content.get("lengths") else None
    content["clusters_in"] = tuple(content.get("clusters_in", ()))
    content["files"] = {name: _make(FileSum, each) for name, each in content.get("files", {}).items()}
    manifest = _make(Manifest, content)
    for metric in manifest.metrics:
        _check_known(metric, path)
    return manifest


def _check_known(metric: ScoredMetric, path: str | Path) -> None:
    """Raise `DataError` where a manifest says of a metric what is not so.

    Its direction is its definition's in any version; its range, and whether it is computed from counts, hold for
    the version that its signature names. Metrics that are not karat's are known as they were scored alone.
    """
    try:
        definition = (known := parse(metric.spec)).definition
    except KaratError:  # it is not karat's, or of a newer version
        return
    inner: Definition | None = definition
    while inner is not None:
        if not inner.function.__module__.startswith("karat."):
            return
        inner = inner.inner.definition if inner.inner else None
    expected: dict[str, object] = {"direction": definition.direction}
    if metric.signature == known.signature:
        expected["counts"] = definition.finish is not None
        if not definition.inputs.named:  # which have the range of their column
            expected |= {"low": definition.low, "high": definition.high}
    for name, of_metric in expected.items():
        if (stored := getattr(metric, name)) != of_metric:
            remedy = "it was changed after scoring: score the answers again"
            raise DataError(f"{path}: {name} of {metric.spec} is {stored!r}, expected {of_metric!r}; {remedy}")


def check_content(content: Any, kind: type, where: str, *, finite: bool = True) -> None:
    """Raise `DataError` where the content of a file is not of a type; `finite`: no number is infinite or NaN."""
    try:
        check_type(content, kind, where, finite=finite)
    except RecursionError as error:
        raise DataError(f"{where}: it is nested too deeply") from error


def _make(kind: type[Of], content: Mapping[str, Any]) -> Of:
    """An object from its members; newer versions may write further ones."""
    return kind(**{each.name: content[each.name] for each in fields(kind) if each.name in content})  # type: ignore[arg-type]
