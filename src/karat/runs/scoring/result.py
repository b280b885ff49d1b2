"""The result of scoring a table: the values, and the rows behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from karat.core.columns.python_values import to_pandas
from karat.core.errors import DataError, MissingExtra, SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import match_spec
from karat.data.json.values import read_batch, value_schema
from karat.runs.columns.gold_patch import PatchNote
from karat.runs.columns.lengths import Lengths, find_cautions, list_cautions
from karat.runs.columns.missing import caution_missing, join_cautions
from karat.runs.store.values import StoredClusters, StoredGroup, StoredJoin, StoredLabels, StoredMetric, StoredValues
from karat.runs.table.figure import draw
from karat.runs.table.table import Table
from karat.runs.table.value_table import MetricValue, value_document, value_table, value_tables
from karat.stats.sequential.stop import Stop
from karat.stats.value import Value, format_value

if TYPE_CHECKING:
    from karat.runs.scoring.clusters import Clusters
    from karat.runs.store.run import Run
    from karat.stats.corrected.value import Corrected

Of = TypeVar("Of")
_REASONS = 3  # of each metric in a notebook


class Values(dict[str, Of]):
    """A dictionary by spec that accepts every spelling of a spec: `values["mrr"]` is `values["reciprocal_rank"]`."""

    def __missing__(self, spec: str) -> Of:
        try:
            return self[match_spec(spec, self)]
        except SpecError as error:
            raise KeyError(str(error)) from None


@dataclass(frozen=True)
class Result:
    """One scored table.

    `values`: each metric's value over all rows, by spec. `groups`: the values by spec, then by group, where `by` named
    a column. `reasons`: by spec, why rows are unscored and how many for each reason. `mapping`: the column of each
    role. `counts`: by spec, how often a judge returned each label, and how often details that are lists hold each item,
    such as each field of JSON that is missing. `joined`, where gold came from a second file: how many rows of gold had
    no prediction (`missing`) and how many predictions no gold (`unknown`); of documents, how many in these rows were
    `retrieved` and how many of them `unjudged`, and by side what reading counted (`comments`, `duplicates`).
    `corrected`, `corrected_groups`: the values that people would give, estimated from their labels, by spec, and by
    spec and group; `human`: what these labels are. `run`: the stored run, where `run` named one.
    `tools`: the tools whose logs the files are. `gathered`: how rows became questions with several answers, in words.
    `settings`: how values were computed: `on`, `by`, `cluster`, `confidence` and `seed`.
    `lengths`: how long the answers are beside their gold, where both are texts. `name`: the system's, where several
    were scored.
    `clusters`: by which column rows belong together, in how many clusters; None where each row is by itself.
    `stops`: by spec, where a rule let a judge ask some of the rows alone, how far it came.

    A result is also a mapping of its values: `result["f1"]`, and `for spec in result`.

    >>> import karat
    >>> result = karat.score({"prediction": ["a", "b"], "reference": ["a", "a"]}, ["em", "f1"])
    >>> result["em"].value, list(result)
    (0.5, ['em', 'f1'])
    """

    metrics: tuple[Metric, ...]
    values: Mapping[str, Value]
    n: int
    mapping: Mapping[str, str]
    groups: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    reasons: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    counts: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    joined: Mapping[str, Any] | None = None
    corrected: Mapping[str, Corrected] = field(default_factory=dict)
    corrected_groups: Mapping[str, Mapping[str, Corrected]] = field(default_factory=dict)
    human: Mapping[str, Any] | None = None
    confidence: float = 0.95
    output: str | Path | None = None
    run: Run | None = None
    tools: tuple[str, ...] = ()
    batches: tuple[pa.RecordBatch, ...] | None = field(default=None, repr=False)
    schema: pa.Schema | None = field(default=None, repr=False)
    gathered: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    lengths: Lengths | None = None
    name: str = ""
    clusters: Clusters | None = None
    stops: Mapping[str, Stop] = field(default_factory=dict)

    def __getitem__(self, spec: str) -> Value:
        """The value of a metric over all rows; `KeyError`, with the nearest name, for another."""
        return self.values[spec]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def cautions(self) -> Mapping[str, str]:
        """By spec, why a value is low however right the answers are, what to use instead, and where many are unscored.

        >>> import karat
        >>> answers = {"prediction": ["The capital of France is Paris."], "reference": ["Paris"]}
        >>> list(karat.score(answers, ["em", "contains"]).cautions)
        ['em']
        """
        lengths = find_cautions(self.metrics or self.values, self.lengths)
        drifts = {spec: stop.drift for spec, stop in self.stops.items() if stop.drift}
        return join_cautions(lengths, caution_missing(self.values, self.confidence), drifts)

    @property
    def gold_patch(self) -> PatchNote | None:
        """What patched the gold, where `gold_patch` named a file."""
        return PatchNote.of(self.settings)

    @property
    def table(self) -> pa.Table:
        """The user's columns, then the scores of each metric, then `reason`: why a row is unscored.

        Rows that were written to a file and not kept in memory are read from there.
        """
        if self.batches is not None and self.schema is not None:
            values = value_schema(self.schema)
            return pa.Table.from_batches([read_batch(each, self.schema, values) for each in self.batches], values)
        written = self.output or (self.run and self.run.rows)
        if written is None:
            remedy = "score(..., keep=True) keeps them there, output='FILE' writes them"
            raise DataError(f"the rows are not in memory: {remedy}")
        from karat.data.open import open_source  # noqa: PLC0415  (only for rows on the disk)

        source = open_source(written)
        values = source.as_values()
        return pa.Table.from_batches(values.batches(), values.schema)

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        try:
            return to_pandas(self.table)
        except ImportError:
            raise MissingExtra("pandas", extra="pandas", need="Result.to_pandas") from None

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON: what `karat score --json` prints."""
        return self.stored.as_dict()

    @property
    def stored(self) -> StoredValues:
        """The values as a run stores them."""
        cautions, clusters = self.cautions, self.clusters
        metrics = []
        for metric in self.metrics:
            corrected = self.corrected_groups.get(metric.spec, {})
            groups = {
                label: StoredGroup(**vars(value), corrected=corrected.get(label))
                for label, value in self.groups.get(metric.spec, {}).items()
            }
            stored = StoredMetric(
                **vars(self.values[metric.spec]),
                spec=metric.spec,
                signature=metric.signature,
                counts=self.counts.get(metric.spec, {}),
                groups=groups,
                corrected=self.corrected.get(metric.spec),
                caution=cautions.get(metric.spec, ""),
                stop=self.stops.get(metric.spec),
            )
            metrics.append(stored)
        return StoredValues(
            n=self.n,
            mapping=self.mapping,
            metrics=tuple(metrics),
            clusters=None
            if clusters is None or clusters.named
            else StoredClusters(column=clusters.column, count=clusters.count, rows=clusters.rows),
            joined=None if self.joined is None else StoredJoin(**self.joined),
            human=None if self.human is None else StoredLabels(**self.human),
            gold_patch=self.gold_patch,
        )

    def to_frame(self) -> Any:
        """The values as a pandas frame: a row for each metric, and for each of its groups, whose `slice` is its label.

        Its other columns are the fields of `Value`; with people's labels also `corrected`, `corrected_low`,
        `corrected_high` and `labelled`. Raises `MissingExtra` without pandas.

        >>> import karat
        >>> karat.score([{"prediction": "a", "gold": "a"}], "em").to_frame()[["metric", "value", "n"]].values.tolist()
        [['em', 1.0, 1]]
        """
        from karat.runs.table.document import make_frame  # noqa: PLC0415  (heavy)

        return make_frame([each.as_row() for each in self._each()], "Result.to_frame")

    def save(self, path: str | Path, *, percent: bool = False, plus_minus: bool = False) -> None:
        """Write the values to a file; its ending selects the format. `score(..., output=)` writes the rows.

        `.md` and `.tex`: a table, in LaTeX with the rules of `booktabs`. `.html`: what a notebook shows, as a page.
        `.json`: `as_dict`. `.csv`, `.parquet` and the other endings of rows: `to_frame`.

        `percent`: in tables of Markdown and LaTeX, values from 0 to 1 are in per cent. `plus_minus`: in LaTeX, values
        are ± half the width of their intervals. Raises `DataError` for another ending and for a file that cannot be
        written.
        """
        values = list(self._each())
        caption = f"{self.n} rows{'' if self.gold_patch is None else f', {self.gold_patch}'}"
        table = value_table(values, self.confidence, percent=percent, caption=caption)
        value_document(table, values, self.confidence, self.as_dict()).save(path, plus_minus=plus_minus)

    def plot(self, *metrics: str, ax: Any = None) -> Any:
        """The values with their intervals as a forest plot of matplotlib: returns its `Axes`.

        `metrics`: the specs of those to draw, by default all, which must then have the same range. `ax`: the `Axes` to
        draw on. Raises `SpecError` for metrics of different ranges, `MissingExtra` without matplotlib.
        """
        tables = self.tables(metrics)
        unit = "points" if tables and tables[0].factor > 1 else "value"
        return draw(tables, f"{unit}, {100 * self.confidence:g} % interval", ax, "Result.plot")

    def values_table(self) -> Table:
        """The values in one table, as they are."""
        return value_table(list(self._each()), self.confidence, percent=False)

    def tables(self, metrics: Sequence[str] = ()) -> list[Table]:
        """The values as tables, one for each range of values that metrics have; by default of all metrics.

        Those from 0 to 1 are in points, as everywhere where karat draws.
        """
        chosen = {match_spec(spec, self.values) for spec in metrics} or set(self.values)
        return value_tables([each for each in self._each() if each.spec in chosen], self.confidence)

    def _each(self) -> Iterator[MetricValue]:
        """Each metric's value, then its groups' values."""
        ranges = {each.spec: (each.definition.low, each.definition.high) for each in self.metrics}
        recipes, cautions = {each.spec: each.recipe for each in self.metrics}, self.cautions
        for spec, value in self.values.items():
            for label, each in ((None, value), *self.groups.get(spec, {}).items()):
                caution = cautions.get(spec, "") if label is None else ""
                bounds, corrected = ranges.get(spec, (None, None)), self._corrected(spec, label)
                yield MetricValue(spec, label, each, corrected, bounds, caution, recipes.get(spec, ""))

    def _corrected(self, spec: str, label: str | None) -> Corrected | None:
        return self.corrected.get(spec) if label is None else self.corrected_groups.get(spec, {}).get(label)

    def __repr__(self) -> str:
        lines = (f"  {spec}: {_short(value)}" for spec, value in self.values.items())
        cautions = (f"  caution: {line}" for line in list_cautions(self.cautions))
        stops = (f"  {spec}: {stop}" for spec, stop in self.stops.items())
        return "\n".join([f"<karat.Result of {self.n} rows", *lines, *stops, *cautions]) + ">"

    def _repr_html_(self) -> str:
        notes = ["  ".join(f"{role} ← {column}" for role, column in self.mapping.items())]
        notes += [] if self.clusters is None or self.clusters.named else [str(self.clusters)]
        notes += [] if self.gold_patch is None else [str(self.gold_patch)]
        notes += [f"{spec}: {stop}" for spec, stop in self.stops.items()]
        for spec, reasons in self.reasons.items():
            notes += [
                f"{spec}: {reason} in {count} of {self.n} rows" for reason, count in list(reasons.items())[:_REASONS]
            ]
        from karat.runs.table.notebook import show_tables  # noqa: PLC0415  (heavy)

        return show_tables(f"{self.n} rows", self.tables(), [*list_cautions(self.cautions), *notes])


def _short(value: Value) -> str:
    if value.value is None:
        return f"no value, {value.unscored} of {value.n} rows unscored"
    unscored = f", {value.unscored} of {value.n} rows unscored" if value.unscored else ""
    return f"{format_value(value.value)} [{format_value(value.low)}, {format_value(value.high)}]{unscored}"
