"""The models that metrics ask: at which endpoints, and what they used."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from time import monotonic
from typing import Any

from karat.core.context import change_context, current_context
from karat.core.errors import KaratError
from karat.core.metric.metric import Metric
from karat.core.progress import NarrowingLine
from karat.data.storage.addresses import hide_secrets
from karat.runs.store.folders import run_key
from karat.runs.store.unfinished import Started

PAUSE = 2.0  # seconds between two notes


@contextmanager
def count_usage(metrics: Iterable[Metric], started: Started) -> Iterator[None]:
    """Within the block a run counts what its metrics use of models since it began, in any process.

    Calls, tokens and USD are those that the governor's store has recorded, also of processes that were killed. All
    other counts, and these without a store, go on from what earlier processes have noted.
    """
    asking = [metric.judge or metric for metric in metrics if metric.asks_model]
    if not asking:
        yield
        return
    from karat.models.context import current_models  # noqa: PLC0415  (only for models)
    from karat.models.reply_cache import run_within  # noqa: PLC0415

    key, since = run_key(started.manifest.name), datetime.fromisoformat(started.manifest.created).timestamp()
    governors = dict.fromkeys(each.governor or current_models().governor for each in asking)
    before = {name: value for name, value in (started.manifest.models or {}).items() if name != "names"}
    at_start = {governor: asdict(governor.totals) for governor in governors}
    for governor in governors:
        if not started.resumed and (store := governor.local.store) and governor.local.run is None:
            store.forget_run(key)  # another run of this name

    def used() -> dict[str, Any]:
        totals: dict[str, Any] = {**before}
        recorded = Counter[str]()
        for governor in governors:
            for what, now in asdict(governor.totals).items():
                totals[what] = _add(totals.get(what), _add(now, at_start[governor][what], -1))
        stores = {(each.local.store, run_within(each.local.run, key)) for each in governors if each.local.store}
        for store, run in stores:
            recorded.update(store.usage(run or key, since))
        if recorded["calls"] >= totals["calls"]:
            totals |= {**recorded, "cost": recorded["cost"] or totals["cost"]}
        if changed := {each for governor in governors for each in governor.local.changed} | {
            *totals.pop("changed", ())
        }:
            totals["changed"] = sorted(changed)
        names = [name for each in asking for name in _model_names(each)]
        return {"names": list(dict.fromkeys(names)), **totals}

    started.usage = used
    started.capped = lambda: any(each.totals.capped > at_start[each]["capped"] for each in governors)
    with change_context(run=key):
        try:
            yield
        finally:
            started.note_usage()


@contextmanager
def note_narrowing(started: Started) -> Iterator[None]:
    """Within the block a run notes, every few seconds, how far a judge was asked where a rule says when to stop."""
    outer, written = current_context().narrowing, monotonic()

    def note(line: str, rows: int) -> None:
        nonlocal written
        started.asking = line
        if monotonic() - written >= PAUSE:
            started.note_usage()
            written = monotonic()
        if outer is not None:
            outer.line, outer.rows = line, rows

    with change_context(narrowing=NarrowingLine(then=note)):
        yield


def warn_capped(run: str) -> None:
    """Warn that a cap has ended a run, with the command that continues it."""
    problem = f"run {run} is not finished: a cap is reached, and the other rows were not asked"
    warnings.warn(f"{problem}; --resume (in Python, resume=True) with a higher cap asks them", stacklevel=4)


def _add(one: float | None, other: float | None, sign: int = 1) -> float | None:
    """The sum, or the difference, of two numbers of which either may not be known."""
    return one if other is None else sign * other if one is None else one + sign * other


def find_endpoints(metrics: Iterable[Metric]) -> list[str]:
    """The addresses of the endpoints that metrics ask, sorted, without keys; [] where no endpoint serves a model."""
    endpoints = set[object]()
    for metric in metrics:
        if not metric.asks_model:
            continue
        from karat.models.context import current_models  # noqa: PLC0415  (only for models)
        from karat.models.openai.client import find_endpoint  # noqa: PLC0415

        with suppress(KaratError):  # what is missing is said when the model is asked
            if metric.judge is None:
                endpoints.add(find_endpoint("embeddings", current_models().base_url).url)
                continue
            own = getattr(metric.judge.definition.function, "models", {})
            for name in _model_names(metric.judge):
                endpoints.add(getattr(own.get(name) or current_models().connect(name), "endpoint", None))
    return sorted(hide_secrets(each) for each in endpoints if isinstance(each, str) and each.startswith("http"))


def _model_names(metric: Metric) -> list[str]:
    named = metric.settings.get("model")
    return [named] if isinstance(named, str) else list(named or [])
