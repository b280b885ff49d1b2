"""Judges on the machines of a Ray cluster: one actor lends them the permits to call, and keeps their replies."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from karat.core import telemetry
from karat.core.context import current_context
from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.data.source import Part
from karat.engines.worker import score_packed_part
from karat.models.context import current_models, use_governor
from karat.models.event_loop import run_coroutine
from karat.models.governor.budget import Limits
from karat.models.governor.governor import Governor
from karat.models.governor.leases import LEASE, LeasedPermits, LeaseReply, LeaseRequest, Lender
from karat.models.reply_cache import run_within
from karat.runs.scoring.tasks.engine import Failed
from karat.runs.store.parts import Done

GRACE = 30.0  # seconds that running calls get to end when a run stops
WORKERS = 10_000  # that wait for the lender at the same time


@dataclass(frozen=True)
class Borrowing:
    """What a worker needs to ask models: the actor that lends permits, the limits, and what names of models mean."""

    lender: Any
    limits: Limits
    patience: Mapping[str, Any]
    caches: bool
    models: bytes


Lending: TypeAlias = AbstractContextManager[Borrowing | None]


@dataclass(frozen=True)
class _LenderLink:
    """The way to the actor."""

    lender: Any

    async def post(self, worker: str, messages: Sequence[LeaseRequest]) -> bool:
        return bool(await self.lender.post.remote(worker, messages))

    async def collect(self, worker: str) -> list[LeaseReply] | None:
        answers: list[LeaseReply] | None = await self.lender.collect.remote(worker)
        return answers


def score_judged_part(packed: bytes, borrowing: Borrowing | None, task: int, part: Part) -> Done | Failed:
    """`score_packed_part`; judges, if there are any, ask under the limits of all workers."""
    if borrowing is None:
        return score_packed_part(packed, task, part)
    governor = Governor(**asdict(borrowing.limits), **borrowing.patience)
    governor.permits = permits = LeasedPermits(_LenderLink(borrowing.lender), caches=borrowing.caches)
    try:
        with use_governor(governor, **pickle.loads(borrowing.models)):  # noqa: S301  (it comes from the driver)
            return score_packed_part(packed, task, part)
    finally:
        run_coroutine(permits.close(), drain=lambda: None)
        borrowing.lender.leave.remote(permits.worker)


def lend_permits(ray: Any, metrics: Sequence[Metric]) -> Lending:
    """Within the block workers ask the judges' models under the limits of their governor, which counts what they use.

    At the end no further call starts, and the running ones get `GRACE` seconds, so that their replies are kept.

    Raises `SpecError` for judges that other machines cannot score.
    """
    governor = _find_governor(metrics)
    return nullcontext() if governor is None else _lend(ray, governor)


@contextmanager
def _lend(ray: Any, governor: Governor) -> Iterator[Borrowing]:
    local = governor.local
    path = str(Path(local.store.path).absolute()) if local.store and local.caches else None
    if path is not None and ray.util.client.ray.is_connected():
        problem = "the cache of replies, with the caps, is a file of this machine, which a cluster at ray:// cannot see"
        raise SpecError(f"{problem}: start the run on a machine of the cluster, or without the cache (--no-cache)")
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    actor = ray.remote(num_cpus=0, max_concurrency=WORKERS, scheduling_strategy=here)(Lender)
    lender = actor.remote(
        governor.limits, path, run_within(local.run, current_context().run), (local.caps.calls, local.caps.spent), LEASE
    )
    models = ray.cloudpickle.dumps(current_models().elsewhere())
    try:
        yield Borrowing(lender, governor.limits, governor.patience, path is not None, models)
    finally:
        try:
            with suppress(ray.exceptions.RayError):  # the actor has died, which its workers say
                ray.get(lender.drain.remote(GRACE))
                totals, local.caps.calls, local.caps.spent = ray.get(lender.usage.remote())
                for each in fields(totals):
                    used = getattr(totals, each.name)
                    if used is not None:
                        setattr(local.totals, each.name, (getattr(local.totals, each.name) or 0) + used)
        finally:
            ray.kill(lender)


def _find_governor(metrics: Sequence[Metric]) -> Governor | None:
    """The governor of the judges among some metrics; None without a judge.

    Raises `SpecError` for what other machines cannot do.
    """
    judges = [metric.judge for metric in metrics if metric.judge is not None]
    if not judges:
        return None
    governors = {metric.governor or current_models().governor for metric in judges}
    governor = governors.pop()
    for judge in judges:
        if not _is_portable(judge):
            problem = f"{judge.spec} is defined in this process: other machines know it neither by name nor by path"
            raise SpecError(f"{problem}; name its model, and write its instructions as a TOML file")
    reasons = {
        "they have several governors: let them share one": bool(governors),
        "requests in files, and dry runs, belong to one process": type(governor) is not Governor,
        "traces (OpenTelemetry) are recorded in this process": telemetry.on(),
        "the cache of replies is in memory: give it a file": governor.local.store is not None
        and governor.local.store.path in ("", ":memory:"),
    }
    for reason, holds in reasons.items():
        if holds:
            raise SpecError(f"judges are not scored on a cluster where {reason}; or leave the engine out")
    return governor


def _is_portable(judge: Metric) -> bool:
    """Whether another process makes the same judge of its name."""
    function: Any = judge.definition.function
    if function.models:
        return False
    try:
        again: Metric = pickle.loads(pickle.dumps(judge))  # noqa: S301
    except Exception:  # noqa: BLE001  (reading a definition fails in many ways)
        return False
    return again.signature == judge.signature
