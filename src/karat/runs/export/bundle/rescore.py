"""Scoring the rows of a stored run again, as they are stored, by `karat.score`; and which metrics cannot be."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import pyarrow as pa

from karat.core.context import change_context
from karat.core.errors import KaratError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse
from karat.data.source import Source
from karat.runs.columns.ids import id_columns, item_columns
from karat.runs.scoring.arguments import NONE
from karat.runs.scoring.pipeline import score
from karat.runs.scoring.provenance.own_code import digest_function
from karat.runs.scoring.tasks.progress import Progress
from karat.runs.store.manifest import CODE, ENDPOINTS, UNTIL
from karat.runs.store.run import Run, open_run
from karat.stats.sequential.until import Until

REPLIES, RUBRICS = "replies.parquet", "judges.json"
"""The files beside a run's in a bundle: requests with their replies, and the files of judges, by name."""
_UNICODE = re.compile(r"\|unicode=[\d.]+")


def rescore(
    run: Run,
    metrics: Sequence[Metric],
    folder: Path,
    columns: Sequence[str] = (),
    progress: Progress | None = None,
) -> Run:
    """Score the rows of a run again, and keep them as a run of the same name in a folder.

    `columns` are further ones that the new run has to have. Raises what `karat.score` raises.
    """
    settings, clusters = run.manifest.settings, run.values.get("clusters")
    read = {role for metric in metrics for role in metric.definition.columns}
    cluster = settings.get("cluster")
    if settings.get("on") and cluster is None:  # where gold was joined, other columns could say so than do now
        cluster = clusters["column"] if clusters else NONE
    with warnings.catch_warnings(), change_context(runs=str(folder), settings="", certificates={}):
        warnings.simplefilter("ignore", UserWarning)  # as in the first scoring
        score(
            _find_rows(run, columns),
            metrics,
            map={role: name for role, name in run.manifest.mapping.items() if role in read},
            by=settings.get("by"),
            cluster=cluster,
            confidence=settings.get("confidence", 0.95),
            seed=settings.get("seed", 0),
            run=run.name,
            until=_find_rule(run, metrics),
            progress=progress,
        )
        return open_run(folder / run.name)


def _find_rule(run: Run, metrics: Sequence[Metric]) -> Until | None:
    """The rule by which judges were asked, where the rows decide alone what it does."""
    rule = run.manifest.settings.get(UNTIL)
    if rule is None or not any(metric.judge is not None for metric in metrics):
        return None
    until = Until(**{each.name: rule[each.name] for each in fields(Until) if each.name in rule})
    if until.width is not None and all(stop.met == f"width {until.width:g}" for stop in run.stops.values()):
        until = replace(until, cost=None)  # the money was not spent
    return until if until.cost is None and not until.decisions else None


def _find_rows(run: Run, columns: Sequence[str]) -> Source:
    """The rows without what scoring has added, and of their columns those on which something rests."""
    manifest, schema = run.manifest, run.source.schema
    scores = {each.column for each in manifest.metrics}
    own = schema.names[: next((at for at, name in enumerate(schema.names) if name in scores), len(schema))]
    settings = manifest.settings
    used = {*manifest.mapping.values(), *manifest.clusters_in, settings.get("by"), settings.get("cluster"), *columns}
    for find in (id_columns, item_columns):
        used |= {*find(schema, manifest.mapping, run.joined_on)}
    used.add((run.values.get("clusters") or {}).get("column"))
    names = [name for name in own if name in used]
    source = run.source
    return Source(
        run.name, pa.schema([schema.field(name) for name in names]), source.rows, lambda: source.batches(names)
    )


def split_metrics(run: Run, *, replies: bool) -> tuple[list[Metric], dict[str, str]]:
    """The metrics of a run that can be computed here from its rows, and why the others cannot, by spec.

    `replies`: what judges replied is at hand.
    """
    metrics, reasons = list[Metric](), dict[str, str]()
    for each in run.manifest.metrics:
        try:
            metric = parse(each.spec)
        except KaratError as error:
            reasons[each.spec] = str(error)
            continue
        reason = _why_not(metric, each.signature, run.manifest.settings, run.manifest.versions.get("karat", ""))
        if not reason and metric.judge is not None and not (replies and run.manifest.settings.get(ENDPOINTS)):
            reason = "what its models replied is not in the bundle"
        if reason:
            reasons[each.spec] = reason
        else:
            metrics.append(metric)
    return metrics, reasons


def _why_not(metric: Metric, signature: str | None, settings: Mapping[str, object], version: str) -> str:
    """Why a metric cannot be computed as it was; empty where it can."""
    definition = metric.definition
    if signature is not None and _UNICODE.sub("", signature) != _UNICODE.sub("", metric.signature):
        return f"here it is {metric.signature}; the run was scored by karat {version}"
    own = settings.get(CODE + definition.name)
    if own is not None:
        with suppress(OSError, TypeError):
            if digest_function(definition.function) == own:
                return ""
        return "its code is not as it was, or not here"
    if definition.inputs.files:
        return "it reads files that are not in the bundle"
    if definition.remote is not None and metric.judge is None:
        return "it needs a model that is not in the bundle"
    return ""
