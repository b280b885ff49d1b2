"""A run of a bundle against what comes out when it is recomputed: its rows, its values, and its manifest."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import KaratError
from karat.core.metric.metric import Metric
from karat.core.metric.registry import find_preset
from karat.core.metric.spec import parse
from karat.runs.columns.gold_patch import GOLD_PATCH
from karat.runs.export.bundle.agreement import Check, CheckKind, Differences, check_members, compare_columns
from karat.runs.export.bundle.digested import compute_values, is_digested
from karat.runs.export.bundle.people import check_patch, correct, read_labels
from karat.runs.export.bundle.recompute import Recomputed
from karat.runs.store.folders import MANIFEST, VALUES
from karat.runs.store.manifest import ScoredMetric
from karat.runs.store.run import Run

_UNSTABLE = {"error", "trace_id"}
"""Details of a judge that no reply decides: why a request got none, and where it was traced."""
_UNDERIVED = {"counts", "caution", "stop"}
"""What of a value does not follow from scores."""
_FROM_SCORES = "from the stored scores"
Derived: TypeAlias = dict[str, Mapping[str, Any]]
"""The entries of `values.json` that were recomputed, by spec."""
_UNICODE = re.compile(r"\|unicode=[\d.]+")


def check_run(run: Run, again: Recomputed, release: str, *, lacking: int | None, texts: bool) -> Iterator[Check]:
    """The checks of a run that was recomputed.

    `release`: the version of karat that scored it, where it is another one. `lacking`: how many of its scores lacked a
    reply when it was bundled; None where that is not known.
    """
    yield from (*again.checks, *check_patch(run, texts=texts))
    derived: Derived = {}
    reasons, lost = dict(again.reasons), 0
    if again.run is not None:
        yield from _check_manifest(run, again, release)
        for metric in again.metrics:
            missing = _find_lacking(run, again.run, metric)
            lost += int(missing.sum())
            yield from _check_rows(run, again.run, metric, missing)
            if missing.any():
                reasons[metric.spec] = f"{int(missing.sum()):,} of {len(missing):,} rows lack a reply"
            elif metric.spec in run.stops and metric.spec not in again.run.stops:
                reasons[metric.spec] = ""
            else:
                derived[metric.spec] = entry = _entry(again.run, metric.spec)
                if metric.spec in run.stops:  # it is asked again without a limit of money that was not reached
                    entry["stop"] = {**entry["stop"], "cost": run.stops[metric.spec].cost}
    if lacking is not None and not release and lost > lacking:
        replies = Differences()
        replies.add(lacking, lost, "scores that lack a reply")
        yield replies.check(run.name, "replies", "reply")
    yield from _check_values(run, again, derived, reasons, release, texts=texts)


def excuse(check: Check, run: Run, *, texts: bool) -> Check:
    """A check of an interval; one that goes by texts of which only the digests are here is not recomputed."""
    column = (run.values.get("clusters") or {}).get("column")
    if texts or check.state == "equal" or check.kind != "interval" or not is_digested(run, column):
        return check
    return replace(check, state="not recomputed", note=f"it goes by {column}, of which the texts are not in the bundle")


def _check_values(
    run: Run, again: Recomputed, derived: Derived, reasons: Mapping[str, str], release: str, *, texts: bool
) -> Iterator[Check]:
    """Compare the values with those that were derived, by spec, or, for the metrics in `reasons`, with those of scores.

    What the values say besides must be what the manifest, the rows and people's labels say.
    """
    by_scores = compute_values(run) if reasons else {}
    for spec, reason in reasons.items():
        if reason:
            yield Check(run=run.name, of=spec, kind="score", state="not recomputed", note=reason)
        if spec in run.stops:
            note = "asking was ended by a rule: the value rests on the order in which rows were asked"
            yield Check(run=run.name, of=spec, kind="value", state="not recomputed", note=note)
        else:
            derived[spec] = next(each for each in by_scores["metrics"] if each["spec"] == spec)
    source, labels = by_scores if again.run is None else again.run.values, read_labels(run)
    values = {"n": len(run.scores(run.specs[0])), "mapping": dict(run.manifest.mapping), **_note_patch(run)}
    values |= {"clusters": source["clusters"]} if source.get("clusters") else {}
    values["metrics"] = [{"spec": spec, **derived.get(spec, {})} for spec in run.specs]
    lacks = ""
    if run.values.get("human") and labels is None:
        lacks = "the labels by people, which are not in the bundle"
    elif run.values.get("human") and len(derived) < len(run.specs):
        lacks = "values that are not recomputed"
    elif labels is not None and run.values.get("human"):
        values = correct(run if reasons or again.run is None else again.run, values, *labels)
    for spec in run.specs if lacks else ():
        note = f"its correction needs {lacks}"
        yield Check(run=run.name, of=spec, kind="value", state="not recomputed", note=note)
    of_run = [_of_run(each, {"human"} if lacks else set()) for each in (run.values, values)]
    yield from check_members((run.name, VALUES), *of_run, release=release)
    by_spec = {each["spec"]: each for each in values["metrics"]}
    for metric in run.values["metrics"]:
        if (spec := metric["spec"]) not in derived:
            continue
        now = {**by_spec[spec], "signature": run.manifest.metric(spec).signature}
        left_out = {*(_UNDERIVED if spec in reasons else ()), *(("corrected",) if lacks else ())}
        both, note = [_without(each, left_out) for each in (metric, now)], _FROM_SCORES if spec in reasons else ""
        for check in check_members((run.name, spec), *both, release=release, note=note):
            yield excuse(check, run, texts=texts)


def _of_run(values: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """What values say of the run, and of which metrics they are; but for names, and for how gold was joined."""
    rest = {name: each for name, each in values.items() if name not in {"metrics", "joined", *left_out}}
    if "human" in rest:
        rest["human"] = {name: each for name, each in rest["human"].items() if name not in ("left_out", "source")}
    return {**rest, "specs": [each["spec"] for each in values["metrics"]]}


def _without(entry: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """An entry of `values.json`, and its groups, without some members."""
    rest = {name: each for name, each in entry.items() if name not in left_out}
    groups = {label: _without(each, left_out) for label, each in entry.get("groups", {}).items()}
    return {**rest, "groups": groups}


def _entry(run: Run, spec: str) -> dict[str, Any]:
    return next(dict(each) for each in run.values["metrics"] if each["spec"] == spec)


def _note_patch(run: Run) -> dict[str, Any]:
    patch = run.manifest.settings.get(GOLD_PATCH)
    return {} if patch is None else {GOLD_PATCH: patch}


def _check_manifest(run: Run, again: Recomputed, release: str) -> Iterator[Check]:
    """Compare what the manifest says of columns, metrics and rows with what comes out."""
    if again.run is None:
        return
    ours, theirs = run.manifest, again.run.manifest
    for role, now in theirs.digests.items():
        was = ours.digests.get(role)
        if role.startswith("column ") and was is None:  # which columns there are rests on how rows are compared
            continue
        if was is not None and was.startswith("parts:"):  # of parts, which are not kept
            continue
        compared = Differences()
        compared.add(was, now, "digest")
        column = ours.mapping.get(role, role)
        yield compared.check(run.name, role if role == column else f"{role} ({column})", "column")
    known = {each.spec: each for each in ours.metrics}
    metrics = {spec: _describe(known[spec]) for spec in known if spec not in again.reasons}
    stored: dict[str, Any] = {"n": ours.n, "metrics": metrics}
    described: dict[str, Any] = {"n": theirs.n, "metrics": {each.spec: _describe(each) for each in theirs.metrics}}
    if not again.reasons:
        stored["lengths"], described["lengths"] = (each.lengths and asdict(each.lengths) for each in (ours, theirs))
    stored["recipes"] = {spec: each.recipe for spec, each in known.items()}
    described["recipes"] = {spec: name if _is_of(spec, name) else "" for spec, name in stored["recipes"].items()}
    yield from check_members((run.name, MANIFEST), stored, described, release=release)


def _describe(metric: ScoredMetric) -> dict[str, Any]:
    """What a manifest says of a metric, but for the column of its scores, its recipe and the version of Unicode."""
    known = {"direction": metric.direction, "range": [metric.low, metric.high], "counts": metric.counts}
    return {**known, "signature": _UNICODE.sub("", metric.signature or "")}


def _is_of(spec: str, recipe: str) -> bool:
    """Whether a metric is one of a preset; of a preset that is not here, nobody knows."""
    try:
        preset = find_preset(f"preset:{recipe}") if recipe else None
        return preset is None or parse(spec).full_spec in {parse(each).full_spec for each in preset.specs}
    except KaratError:
        return True


def _check_rows(run: Run, again: Run, metric: Metric, lacking: Array) -> Iterator[Check]:
    """Compare the scores, details and counts of the rows of a metric; but those that lack a reply."""
    spec = metric.spec
    kept, left_out = ~lacking, run.left_out(spec)
    if spec in run.stops and spec not in again.stops and left_out is not None:
        kept &= ~left_out
    of_kind: dict[CheckKind, Differences] = {"score": Differences()}
    of_kind["score"].add_numbers(run.scores(spec), again.scores(spec), "row {}", kept)
    if run.manifest.metric(spec).counts:
        of_kind["counts"], stored, derived = Differences(), run.statistics(spec), again.statistics(spec)
        if stored.shape != derived.shape:
            of_kind["counts"].add(str(stored.shape), str(derived.shape), "counts")
        else:
            of_kind["counts"].add_numbers(stored, derived, "row {}", kept)
    yield from (each.check(run.name, spec, kind) for kind, each in of_kind.items())
    for name in (each for each in metric.details if each not in _UNSTABLE):
        columns = [f"{each.manifest.metric(spec).column}.{name}" for each in (run, again)]
        if all(column in each.schema.names for column, each in zip(columns, (run, again), strict=True)):
            detail = compare_columns(run.column(columns[0]), again.column(columns[1]), kept)
            yield detail.check(run.name, f"{spec}.{name}", "detail")


def _find_lacking(run: Run, again: Run, metric: Metric) -> Array:
    """Which rows of a metric lack a reply, shape (rows,), bool."""
    if metric.judge is None:
        return np.zeros(len(again.scores(metric.spec)), bool)
    from karat.runs.export.bundle.replies import find_lacking  # noqa: PLC0415  (only for judges)

    return find_lacking(run, again, metric.spec)
