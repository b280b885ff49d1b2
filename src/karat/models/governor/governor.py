"""Sends every request to a model: within limits and caps, retried, cached and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TypeVar

from karat.core.context import current_context
from karat.core.errors import KaratError, SpecError
from karat.models.event_loop import run_coroutine
from karat.models.governor.budget import Limits, estimate_prompt_tokens, output_limit
from karat.models.governor.call_spans import count_cached, record_outcome, trace_call
from karat.models.governor.faults import MORE_TIME, Fault, ModelError, RequestError, classify
from karat.models.governor.permits import Call, LocalPermits, Permit, Permits
from karat.models.governor.readings import Readings, describe_unread
from karat.models.governor.retry import RetryPolicy, retry
from karat.models.governor.silence import Silence
from karat.models.governor.task_group import TaskGroup
from karat.models.reply_cache import ReplyCache
from karat.models.request import Model, Reply, Request

In = TypeVar("In")
Out = TypeVar("Out")

TIMEOUT = 60.0  # seconds that a call may take where nobody says otherwise
GIVE_UP = 100  # consecutive requests without a reply, each after all its attempts
FIRST = 10  # the same, of an endpoint that has never replied


@dataclass
class EndpointState:
    """One model of one endpoint: a call to it, its name in messages, and how it replied to this process.

    `proven`: whether it ever has; `failed`: requests given up since the last reply; `silence`: the time since then.
    `readings`: whether its replies could be read.
    """

    call: Call
    name: str
    model: Model  # kept so that no other callable gets its identity
    silence: Silence
    proven: bool = False
    failed: int = 0
    readings: Readings = field(default_factory=Readings)


@dataclass
class PendingRequest:
    """A request that has no reply yet: its next call, and how the previous ones ended."""

    model: Model
    request: Request
    endpoint: EndpointState
    group: TaskGroup
    call: Call
    seconds_left: float
    attempts: int = 0
    fault: Fault | None = None


def _own_limit(model: Model, name: str) -> float | None:
    """A limit that is an attribute of the model itself."""
    limit = getattr(model, name, None)
    return limit if isinstance(limit, int | float) and limit > 0 else None


class Governor:
    """Sends requests to models: as many at a time as an endpoint accepts, each until it is answered, within hard caps.

    `concurrency` calls are sent at a time to one model of one endpoint, fewer after it refused some; by default 8, and
    up to 64 while the latency holds. As many rows are in progress. `rpm` and `tpm` are requests and tokens a minute. A
    request with transient errors is sent up to `attempts` times; three times if there never was a connection, and then
    the run stops. Each call may take `timeout` seconds (60), a request with its pauses `row_timeout` (without waiting
    for the rate limit). A model may have a `timeout` and `rpm` of its own. A run stops where no request gets a reply
    for `row_timeout`, or two minutes of status 429 if none ever did; after ten seconds `report` gets a line about it.

    `max_calls` and `budget` (USD) are never exceeded, including retries and running calls. The cost of a call is what
    the endpoint reports, or follows from `price`: USD per million input and output tokens. Before the call it is
    estimated, exactly for the output if the request sets `max_tokens`. With a `store` no request is sent twice, and the
    caps hold over all processes of one `run`. `progress` is called with a number of finished rows.

    >>> from karat.models.request import Request
    >>> async def model(messages, schema, settings):
    ...     return messages[-1]["content"].upper()
    >>> governor = Governor(concurrency=4)
    >>> async def shout(text):
    ...     return (await governor.ask(model, Request([{"role": "user", "content": text}]))).text
    >>> governor.map(shout, ["a", "b"]), governor.totals.calls
    (['A', 'B'], 2)
    """

    def __init__(
        self,
        *,
        concurrency: int | None = None,
        rpm: int | None = None,
        tpm: int | None = None,
        attempts: int = 6,
        timeout: float | None = None,
        row_timeout: float = 600.0,
        budget: float | None = None,
        max_calls: int | None = None,
        price: tuple[float, float] | None = None,
        store: ReplyCache | None = None,
        run: str | None = None,
        progress: Callable[[int], None] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        if attempts < 1:
            raise SpecError(f"attempts={attempts!r}: expected a whole number from 1")
        for name, seconds in {"timeout": timeout, "row_timeout": row_timeout}.items():
            if seconds is not None and not seconds > 0:
                raise SpecError(f"{name}={seconds!r}: expected seconds above 0")
        self.limits = Limits(concurrency, rpm, tpm, budget, max_calls, price)
        self.patience = {"attempts": attempts, "timeout": timeout, "row_timeout": row_timeout}
        self.permits: Permits
        self.permits = self.local = LocalPermits(self.limits, store, run)
        self.totals = self.local.totals
        self._concurrency, self._progress, self._report = self.limits.most, progress, report
        self._retries = RetryPolicy(attempts, unreachable_attempts=3)
        self._timeout, self._row_timeout = timeout, max(row_timeout, timeout or 0.0)
        self._endpoints: dict[Hashable, EndpointState] = {}

    def map(self, work: Callable[[In], Awaitable[Out]], items: Iterable[In]) -> list[Out]:
        """The results of `await work(item)` in the items' order, for synchronous code.

        It may be called while an event loop runs. The first error of `work` stops the rest and is raised. On Ctrl-C no
        further call starts, the running calls end, their replies are cached, and KeyboardInterrupt is raised.
        """
        group = TaskGroup()
        rows = group.run(work, items, concurrency=self._concurrency, progress=self._progress)
        return run_coroutine(rows, drain=group.drain)

    async def gather(self, work: Callable[[In], Awaitable[Out]], items: Iterable[In]) -> list[Out]:
        """`map` for asynchronous code, in the running event loop."""
        return await TaskGroup().run(work, items, concurrency=self._concurrency, progress=self._progress)

    async def ask(self, model: Model, request: Request) -> Reply:
        """The model's reply, from the cache or from the model.

        Raises RequestError if this request gets no reply, ModelError if no request to this model will get one.
        """
        endpoint, name = getattr(model, "endpoint", None), getattr(model, "name", None)
        if not self.permits.caches or endpoint is None or name is None:
            return await self._request(model, request, None)
        key = request.key(endpoint, name)
        if (cached := await self.permits.claim(key)) is not None:
            count_cached()
            return cached
        try:
            return await self._request(model, request, key)
        finally:
            self.permits.drop(key)

    def count_reading(self, model: Model, request: Request, reply: Reply, problem: str | None = None) -> None:
        """Count a reply, which could not be read if it has a `problem`; `ModelError` if none of the first could."""
        endpoint = self._endpoint(model)
        if requests := endpoint.readings.add(request, reply, read=problem is None):
            self.reject(model, requests, kept=False)
            raise ModelError(describe_unread(endpoint.name, len(requests), reply, problem or ""))

    def reject(self, model: Model, requests: Iterable[Request], *, kept: bool = True) -> None:
        """Let later runs ask these requests anew, whose replies gave no verdict; where not `kept`, this one too."""
        url, name = getattr(model, "endpoint", None), getattr(model, "name", None)
        if self.permits.caches and url is not None and name is not None:
            self.permits.reject([each.key(url, name) for each in requests], kept=kept)

    def _endpoint(self, model: Model) -> EndpointState:
        url, name = getattr(model, "endpoint", None), getattr(model, "name", None)
        key = id(model) if url is None or name is None else (url, name)
        if (endpoint := self._endpoints.get(key)) is None:
            label = " at ".join(filter(None, [name, url])) or getattr(model, "__name__", type(model).__name__)
            rpm = _own_limit(model, "rpm")
            call = Call(key, None if rpm is None else int(rpm))
            silence = Silence(label, self._row_timeout, self._report)
            endpoint = self._endpoints[key] = EndpointState(call, label, model, silence)
        return endpoint

    def _prepare(self, model: Model, request: Request, key: str | None) -> PendingRequest:
        endpoint = self._endpoint(model)
        tokens = estimate_prompt_tokens(request) if self.limits.measured else 0
        limit, run = output_limit(request), current_context().run
        call = Call(endpoint.call.endpoint, endpoint.call.rpm, key, tokens, limit, run=run)
        patience = max(self._row_timeout, request.timeout or 0.0)
        return PendingRequest(model, request, endpoint, TaskGroup.current(), call, patience)

    async def _request(self, model: Model, request: Request, key: str | None) -> Reply:
        pending = self._prepare(model, request, key)
        try:
            with pending.endpoint.silence.asking():
                outcome = await retry(partial(self._attempt, pending), self._retries, partial(self._sleep, pending))
            if isinstance(outcome, Fault):
                raise self._give_up(pending)
            if outcome.cost is None and self.limits.budget is not None:
                problem = f"{pending.endpoint.name} does not report what a call costs"
                price = "the USD per million tokens in and out, --price IN,OUT (in Python, price=(IN, OUT))"
                raise SpecError(f"{problem}: a budget needs {price}; a limit of calls, --max-calls N, needs none")
        except KaratError as error:
            self.permits.fail(sent=pending.attempts > 0)
            if not isinstance(error, RequestError):
                pending.group.stop(error)
            raise
        return outcome

    async def _attempt(self, pending: PendingRequest) -> Reply | Fault:
        """One call when it may start. Raises what a retry cannot mend."""
        now = asyncio.get_running_loop().time
        permit = await self._acquire(pending)
        start = now()
        try:
            with trace_call(pending.model, pending.request) as span:
                timeout = _own_limit(pending.model, "timeout") or self._timeout or pending.request.timeout or TIMEOUT
                outcome = await self._call(pending, permit, min(timeout, pending.seconds_left))
                record_outcome(span, outcome)
            if isinstance(outcome, Reply):
                pending.endpoint.proven, pending.endpoint.failed = True, 0
                pending.endpoint.silence.end()
                return outcome
            pending.fault = outcome
            await self._raise_if_final(pending, permit, outcome)
            pending.endpoint.silence.go_on(outcome)
            return outcome
        finally:
            self.permits.release(permit)
            pending.seconds_left -= now() - start

    async def _acquire(self, pending: PendingRequest) -> Permit:
        """The permit for the next call of a request."""
        try:
            with pending.group.waiting():
                call = replace(pending.call, retry=True) if pending.attempts else pending.call
                permit = await self.permits.acquire(call)
        except RequestError as error:
            raise type(error)(f"{pending.fault.message}; {error}" if pending.fault else str(error)) from None
        pending.attempts += 1
        return permit

    async def _sleep(self, pending: PendingRequest, seconds: float) -> None:
        fault = pending.fault
        if fault and fault.kind == "overload" and fault.retry_after is not None:
            seconds = 0.0  # the rate limiter delays all calls to the endpoint
        pending.seconds_left -= seconds
        if pending.seconds_left <= 0:
            raise self._give_up(pending)
        with pending.group.waiting():
            await asyncio.sleep(seconds)

    async def _call(self, pending: PendingRequest, permit: Permit, seconds: float) -> Reply | Fault:
        """One call. Its reply is in the cache before the caller gets it."""
        with pending.group.calling():
            start = perf_counter()
            try:
                async with asyncio.timeout(seconds) as timeout:
                    awaitable = pending.model(
                        pending.request.messages, pending.request.schema, pending.request.settings
                    )
                    if not hasattr(awaitable, "__await__"):
                        problem = f"expected an async callable, but it returned {type(awaitable).__name__}"
                        raise SpecError(f"{pending.endpoint.name} is not a model: {problem}")
                    reply = Reply.from_value(await awaitable)
            except Exception as error:
                if isinstance(error, KaratError) and not isinstance(error, RequestError):
                    raise
                cause = TimeoutError(f"no reply within {seconds:g} s{MORE_TIME}") if timeout.expired() else error
                fault = classify(cause, proven=pending.endpoint.proven)
                return await self.permits.settle(permit, fault, perf_counter() - start)
            took = perf_counter() - start
            reply = replace(reply, seconds=took) if reply.seconds is None else reply
            return await self.permits.settle(permit, reply, took)

    async def _raise_if_final(self, pending: PendingRequest, permit: Permit, fault: Fault) -> None:
        """Raise a fault that a retry cannot mend."""
        endpoint, error = pending.endpoint, fault.error
        if fault.kind == "fatal" and error and classify(error, proven=True).kind == "row":
            with pending.group.waiting():
                fault = classify(error, proven=await self.permits.wait_for_proof(permit))
        if fault.kind == "row":
            raise RequestError(fault.message) from error
        if fault.kind == "fatal":
            raise ModelError(f"{endpoint.name}: {fault.message}") from error
        if fault.retry_after and fault.retry_after > self._row_timeout:
            raise ModelError(f"{endpoint.name} asks to wait {fault.retry_after:.0f} s: {fault.message}") from error

    def _give_up(self, pending: PendingRequest) -> KaratError:
        """The error for a request that got no reply in time."""
        endpoint, fault = pending.endpoint, pending.fault
        reason = f"{fault.message if fault else 'not sent'} (attempts: {pending.attempts})"
        endpoint.failed += 1
        if fault and fault.unreachable:
            what = ":" if getattr(fault.error, "remedy", "") else " cannot be reached; is it running?"
            return ModelError(f"{endpoint.name}{what} {reason}")
        if endpoint.failed < (GIVE_UP if endpoint.proven else FIRST):
            return RequestError(reason)
        count = f"{endpoint.failed} requests in a row got no reply"
        return ModelError(f"{endpoint.name}: {count}; the last error: {reason}")
