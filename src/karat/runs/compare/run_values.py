"""The values of a run's metrics: the stored ones where the settings are as in the scoring, else from its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.runs.columns.groups import check_group_column, cluster_keys, group_rows
from karat.runs.match.shared_metrics import SharedMetric
from karat.runs.scoring.arguments import NONE
from karat.runs.scoring.clusters import find_clusters
from karat.runs.store.run import Run
from karat.stats.corrected.value import Corrected
from karat.stats.inference import Inference
from karat.stats.value import Value, make_units, summarise

if TYPE_CHECKING:
    from karat.runs.labels.join import LabelledRows
    from karat.runs.labels.labels import Labels
    from karat.runs.scoring.correction import CorrectedTotals


@dataclass(frozen=True, eq=False)
class RunValues:
    """The values of a run's metrics, to the last bit those that `karat.score` gives for the same rows.

    `cluster` is the column by whose values rows belong together; None takes each row by itself. `keys` has the
    clusters' keys, a row each, in the order of the run, where only another run has that column.

    >>> import karat
    >>> from karat.runs.match.systems import open_system
    >>> rows = {"prediction": ["yes", "no", "yes"], "gold": ["yes"] * 3, "topic": ["a", "a", "b"]}
    >>> run = open_system(karat.score(rows, "em"), "the result")
    >>> RunValues.as_scored(run).value("em").value
    0.6666666666666666
    >>> RunValues(run, Inference(0.9)).read("em", {"a": np.array([0, 1])})["a"].value
    0.5
    """

    run: Run
    inference: Inference = field(default_factory=Inference)
    cluster: str | None = None
    keys: Array | None = field(default=None, repr=False)

    @classmethod
    def as_scored(cls, run: Run) -> RunValues:
        """The values under the settings with which the run was scored."""
        return cls(run, scored_inference(run), find_clusters([run]))

    def value(self, spec: str) -> Value:
        """The value over all rows."""
        return self.read(spec)[None]

    def read(
        self,
        spec: str,
        slices: Mapping[str, Array] | None = None,
        *,
        by: str | None = None,
        rows: Array | None = None,
    ) -> dict[str | None, Value]:
        """The value over all rows, under None, and over each slice, by label.

        `slices` has the numbers of the rows of each, ascending, in the run's own table, from 0. `by`: they are all rows
        with one value of this column, so that values by group that are stored can be theirs. `rows`: the numbers of the
        only rows that count for the value over all.
        """
        slices = slices or {}
        stored = self.stored(spec) if self.are_stored and rows is None else {}
        groups = stored.get("groups", {}) if by is not None and self.run.manifest.settings.get("by") == by else {}
        values: dict[str | None, Value] = {label: stored_value(groups[label]) for label in slices if label in groups}
        if stored:
            values[None] = stored_value(stored)
        every: dict[str | None, Array | None] = {None: rows} | dict(slices)
        values |= self._add_up(spec, {label: each for label, each in every.items() if label not in values})
        return {label: values[label] for label in every}

    def corrected(self, labelled: LabelledRows, slices: Mapping[str, Array]) -> CorrectedTotals:
        """The scores of the run's metrics beside people's labels, which correct them; as `correct_kept`."""
        from karat.runs.scoring.correction import correct_kept  # noqa: PLC0415  (only where people labelled rows)

        return correct_kept(self.run, labelled, self._keys, slices, self.inference)

    def stored_corrections(self, by: str | None = None) -> dict[tuple[str, str | None], Corrected]:
        """The corrected values that are stored, by spec, and by label where they are of the column `by`."""
        corrections = dict[tuple[str, str | None], Corrected]()
        grouped = by is not None and self.run.manifest.settings.get("by") == by
        for spec in self.run.specs:
            entry = self.stored(spec)
            for label, each in ((None, entry), *(entry.get("groups", {}).items() if grouped else ())):
                if each.get("corrected"):
                    corrections[spec, label] = Corrected(**each["corrected"])
        return corrections

    def compute(self, slices: Mapping[str, Array], *, corrected: bool = False) -> dict[str, Any]:
        """What `values.json` holds, with the values computed from the rows; `corrected`: labels are at hand."""
        run = self.run
        if run.values.get("human") and not corrected:
            remedy = "give the labels again with human (--human)"
            raise SpecError(f"{run.name}: its values were corrected by people when it was scored; {remedy}")
        metrics = []
        for each in run.manifest.metrics:
            values = {label: value.as_dict() for label, value in self.read(each.spec, slices).items()}
            kept = {name: entry for name, entry in self.stored(each.spec).items() if name in ("counts", "caution")}
            entry = {"spec": each.spec, "signature": each.signature, **values.pop(None), **kept}
            metrics.append(entry | ({"groups": values} if slices else {}))
        rest = {name: entry for name, entry in run.values.items() if name not in ("clusters", "human", "metrics")}
        if self._keys is not None:
            rest["clusters"] = {"column": self.cluster, "count": len(np.unique(self._keys)), "rows": len(self._keys)}
        n = (run.manifest.n or 0) + run.unscored
        return {"n": n, "mapping": dict(run.manifest.mapping), **rest, "metrics": metrics}

    def correct(self, values: Mapping[str, Any], labelled: LabelledRows, slices: Mapping[str, Array]) -> dict[str, Any]:
        """What `values.json` holds, with the values that people would give beside these."""
        totals = self.corrected(labelled, slices)
        whole, grouped = totals.values()
        entries = [{**entry, "corrected": whole[entry["spec"]].as_dict()} for entry in values["metrics"]]
        for entry in entries:
            beside = grouped.get(entry["spec"], {})
            entry["groups"] = {
                label: {**value, **({"corrected": beside[label].as_dict()} if label in beside else {})}
                for label, value in entry.get("groups", {}).items()
            }
        return {**values, "human": totals.human(), "metrics": entries}

    @cached_property
    def are_stored(self) -> bool:
        """Whether the run was scored with this inference and these clusters, so that its stored values are these."""
        same = scored_inference(self.run) == self.inference
        return bool(self.run.values) and same and find_clusters([self.run]) == self.cluster

    def stored(self, spec: str) -> dict[str, Any]:
        """What the run says of a metric's value; {} in a file of scored rows."""
        spec = self.run.manifest.metric(spec).spec
        return next((dict(entry) for entry in self.run.values.get("metrics", ()) if entry["spec"] == spec), {})

    @cached_property
    def _keys(self) -> Array | None:
        if self.cluster is None or self.cluster not in self.run.schema.names:
            return None if self.cluster is None else self.keys
        return cluster_keys(self.run.column(self.cluster).combine_chunks())

    def _add_up(self, spec: str, parts: Mapping[str | None, Array | None]) -> dict[str | None, Value]:
        """The values over parts of the rows: their numbers, None for all."""
        if not parts:
            return {}
        run, scale = self.run, SharedMetric((self.run.manifest.metric(spec),)).scale
        width, clustered = run.count_statistics(spec), self._keys is not None
        units = {
            label: make_units(scale.finish, width, clustered=clustered, seed=self.inference.seed) for label in parts
        }
        counts, not_asked, first = dict.fromkeys(parts, 0), dict.fromkeys(parts, 0), 0
        left_out = run.left_out(run.manifest.metric(spec).spec)
        for statistics in run.read_statistics(spec):
            numbers = np.arange(first, first := first + len(statistics))
            scored: Array = ~np.logical_or.reduce(np.isnan(statistics), axis=1)
            for label, rows in parts.items():
                here = numbers if rows is None else rows[slice(*np.searchsorted(rows, [numbers[0], first]))]
                not_asked[label] += 0 if left_out is None else int(left_out[here].sum())
                counts[label] += len(here)
                here = here[scored[here - numbers[0]]]
                if len(here):
                    keys = here.astype(np.uint64) if self._keys is None else self._keys[here]
                    units[label].add(statistics[here - numbers[0]], keys)
        if None in parts and parts[None] is None:
            counts[None] += run.unscored
        return {
            label: summarise(
                each,
                scale,
                unscored=counts[label] - not_asked[label] - each.rows,
                not_asked=not_asked[label],
                inference=self.inference,
            )
            for label, each in units.items()
        }


def read_values(
    run: Run,
    *,
    confidence: float | None = None,
    seed: int | None = None,
    cluster: str | None = None,
    human: Labels | None = None,
    on: str | None = None,
) -> Run:
    """The run with the values that `karat.score` would keep for its rows under these settings.

    None is the setting of the scoring; the rows are those that are scored so far. `human` corrects the values by
    people's labels; `on` names the ids in the rows and in the labels, LEFT=RIGHT where these differ.

    Raises `ColumnError` for a column that is not there, `SpecError` for other intervals of values that were corrected
    when they were scored, without these labels, and what joining labels raises.

    >>> import karat
    >>> from karat.runs.match.systems import open_system
    >>> rows = {"prediction": ["yes", "no", "yes", "no"], "gold": ["yes"] * 4, "topic": ["a", "a", "b", "b"]}
    >>> run = open_system(karat.score(rows, "em"), "the result")
    >>> (entry,) = read_values(run, confidence=0.5, cluster="topic").values["metrics"]
    >>> entry["value"], round(entry["low"], 3)
    (0.5, 0.285)
    """
    known, settings = scored_inference(run), run.manifest.settings
    inference = Inference(known.confidence if confidence is None else confidence, known.seed if seed is None else seed)
    column, by = find_clusters([run], cluster), settings.get("by")
    if column is not None:
        check_group_column(run.schema, column, run.name)
    reader = RunValues(run, inference, column)
    slices = {} if by is None else group_rows(run.column(by).combine_chunks(), set(), by)
    values = dict(run.values) if reader.are_stored else reader.compute(slices, corrected=human is not None)
    if human is not None:
        from karat.runs.match.match import match  # noqa: PLC0415  (only where people labelled rows)

        matched = match([run], on=on, human=human, cluster=NONE, scored=False)
        values = reader.correct(values, matched.labelled[0], slices)
    options = {"confidence": confidence, "seed": seed, "cluster": cluster}
    chosen = {name: setting for name, setting in options.items() if setting is not None}
    return replace(run, values=values, manifest=replace(run.manifest, settings={**settings, **chosen}))


def scored_inference(run: Run) -> Inference:
    """The confidence and the seed with which a run was scored, by default as in `karat.score`."""
    known = run.manifest.settings
    return Inference(float(known.get("confidence", 0.95)), int(known.get("seed", 0)))


def value_of(run: Run, spec: str) -> Value:
    """The value of a metric in a run, as `karat runs show` has it."""
    return RunValues.as_scored(run).value(spec)


def stored_value(entry: Mapping[str, Any]) -> Value:
    """The value in an entry of `values.json`, of a metric or of one of its groups."""
    return Value(**{each.name: entry[each.name] for each in fields(Value) if each.name in entry})
