"""The result of scoring a table: the values, and the rows behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from karat.core.errors import DataError, MissingExtra, SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse
from karat.stats.value import Value, format_value

if TYPE_CHECKING:
    from karat.runs.store.run import Run
    from karat.stats.corrected.corrected import Corrected

Of = TypeVar("Of")


class Values(dict[str, Of]):
    """A dictionary by spec that accepts every spelling of a spec: `values["f1"]` is `values["token_f1"]`."""

    def __missing__(self, spec: str) -> Of:
        with suppress(SpecError):
            if (same := parse(spec).spec) in self:
                return self[same]
        raise KeyError(f"{spec!r} was not scored; there are: {', '.join(self)}")


@dataclass(frozen=True)
class Result:
    """One scored table.

    `values`: each metric's value over all rows, by spec. `groups`: the values by spec, then by group, where `by` named
    a column. `reasons`: by spec, why rows are unscored and how many for each reason. `mapping`: the column of each
    role. `counts`: by spec, how often a judge returned each label. `joined`, where gold came from a second file: how
    many rows of gold had no prediction (`missing`) and how many predictions no gold (`unknown`); of documents, how many
    in these rows were `retrieved` and how many of them `unjudged`, and by side what reading counted (`comments`,
    `duplicates`). `corrected`, `corrected_groups`: the values that people would give, estimated from their labels, by
    spec, and by spec and group; `human`: what these labels are. `run`: the stored run, where `run` named one.
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
    output: Path | None = None
    run: Run | None = None
    batches: tuple[pa.RecordBatch, ...] | None = field(default=None, repr=False)
    schema: pa.Schema | None = field(default=None, repr=False)

    @property
    def table(self) -> pa.Table:
        """The user's columns, then the scores of each metric, then `reason`: why a row is unscored.

        Rows that were written to a file and not kept in memory are read from there.
        """
        if self.batches is not None and self.schema is not None:
            return pa.Table.from_batches(self.batches, self.schema)
        written = self.output or (self.run and self.run.rows)
        if written is None:
            remedy = "score(..., keep=True) keeps them there, output='FILE' writes them"
            raise DataError(f"the rows are not in memory: {remedy}")
        from karat.data.open import open_source  # noqa: PLC0415  (only for rows on the disk)

        source = open_source(written)
        return pa.Table.from_batches(source.batches(), source.schema)

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        try:
            return self.table.to_pandas()
        except ImportError:
            raise MissingExtra("pandas", extra="pandas", need="Result.to_pandas") from None

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON: what `karat score --json` prints."""
        metrics: list[dict[str, Any]] = []
        for metric in self.metrics:
            value = self.values[metric.spec].as_dict()
            entry: dict[str, Any] = {"spec": metric.spec, "signature": metric.signature, **value}
            if metric.spec in self.counts:
                entry["counts"] = {name: dict(counts) for name, counts in self.counts[metric.spec].items()}
            if self.groups:
                entry["groups"] = {label: value.as_dict() for label, value in self.groups[metric.spec].items()}
            if self.human is not None:
                entry["corrected"] = self.corrected[metric.spec].as_dict()
                for label, corrected in self.corrected_groups[metric.spec].items():
                    entry["groups"][label]["corrected"] = corrected.as_dict()
            metrics.append(entry)
        further = {"joined": self.joined, "human": self.human}
        shown = {name: dict(each) for name, each in further.items() if each is not None}
        return {"n": self.n, "mapping": dict(self.mapping), **shown, "metrics": metrics}

    def __repr__(self) -> str:
        lines = (f"  {spec}: {_short(value)}" for spec, value in self.values.items())
        return "\n".join([f"<karat.Result of {self.n} rows", *lines]) + ">"

    def _repr_html_(self) -> str:
        heads = ("metric", "value", f"{100 * self.confidence:g} % interval", "n", "scored", "failed")
        rows = []
        for spec, each in self.values.items():
            ends = f"{format_value(each.low)} – {format_value(each.high)}"
            rows.append(_html_row("td", (spec, format_value(each.value), ends, each.n, each.scored, each.failed)))
        return f"<table><thead>{_html_row('th', heads)}</thead><tbody>{''.join(rows)}</tbody></table>"


def _html_row(tag: str, cells: Iterable[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


def _short(value: Value) -> str:
    if value.value is None:
        return f"no value, {value.failed} of {value.n} rows unscored"
    unscored = f", {value.failed} of {value.n} rows unscored" if value.failed else ""
    return f"{format_value(value.value)} [{format_value(value.low)}, {format_value(value.high)}]{unscored}"
