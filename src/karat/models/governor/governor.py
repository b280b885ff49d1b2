"""Sends every request to a model: within limits and caps, retried, cached and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TypeVar

from karat.core.errors import KaratError, SpecError
from karat.models.event_loop import run_coroutine
from karat.models.governor.budget import Caps, Price, Totals, Usage, estimate_prompt_tokens
from karat.models.governor.call_spans import count_cached, record_outcome, trace_call
from karat.models.governor.faults import Fault, ModelError, RequestError, classify
from karat.models.governor.rate_limiter import RateLimiter
from karat.models.governor.retry import RetryPolicy, retry
from karat.models.governor.task_group import TaskGroup
from karat.models.reply_cache import ReplyCache
from karat.models.request import Model, Reply, Request

In = TypeVar("In")
Out = TypeVar("Out")

GIVE_UP = 100  # consecutive requests without a reply, each after all its attempts


@dataclass
class EndpointState:
    """One model of one endpoint: its limits, and what its replies have taken."""

    name: str
    model: Model  # kept so that no other callable gets its identity
    limiter: RateLimiter
    usage: Usage = field(default_factory=Usage)


@dataclass
class PendingRequest:
    """A request that has no reply yet: what its next call may take, and how the previous ones ended."""

    model: Model
    request: Request
    endpoint: EndpointState
    group: TaskGroup
    key: str | None
    input_tokens: int  # as estimated from the text
    seconds_left: float
    tokens: int = 0
    cost: float = 0.0
    tokens_used: int | None = None
    attempts: int = 0
    fault: Fault | None = None


def _own_limit(model: Model, name: str) -> float | None:
    """A limit that is an attribute of the model itself."""
    limit = getattr(model, name, None)
    return limit if isinstance(limit, int | float) and limit > 0 else None


class Governor:
    """Sends requests to models: as many at a time as an endpoint accepts, each until it is answered, within hard caps.

    `concurrency` is the most calls at a time to one model of one endpoint, and the most rows in progress; `rpm` and
    `tpm` its requests and tokens a minute. A request with transient errors is sent up to `attempts` times; three times
    if there never was a connection, and then the run stops. Each call may take `timeout` seconds, a request with its
    pauses `row_timeout` (without waiting for the rate limit). A model may have a `timeout` and an `rpm` of its own.

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
        concurrency: int = 64,
        rpm: int | None = None,
        tpm: int | None = None,
        attempts: int = 6,
        timeout: float = 60.0,
        row_timeout: float = 600.0,
        budget: float | None = None,
        max_calls: int | None = None,
        price: tuple[float, float] | None = None,
        store: ReplyCache | None = None,
        run: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        for name, number in {"concurrency": concurrency, "rpm": rpm, "tpm": tpm, "attempts": attempts}.items():
            if number is not None and number < 1:
                raise SpecError(f"{name}={number!r}: expected a whole number from 1")
        for name, seconds in {"timeout": timeout, "row_timeout": row_timeout}.items():
            if seconds <= 0:
                raise SpecError(f"{name}={seconds!r}: expected seconds above 0")
        self.totals = Totals()
        self._concurrency, self._rpm, self._tpm = concurrency, rpm, tpm
        self._retries = RetryPolicy(attempts, unreachable_attempts=3)
        self._timeout, self._row_timeout = timeout, row_timeout
        self._price = None if price is None else Price(*price)
        self._measured = tpm is not None or budget is not None or price is not None
        self._store, self._run, self._progress = store, run, progress
        calls, spent = store.spent(run) if store and run else (0, 0.0)
        self._caps = Caps(max_calls, budget, calls=calls, spent=spent)
        self._endpoints: dict[Hashable, EndpointState] = {}
        self._in_progress: dict[str, asyncio.Future[None]] = {}

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
        if self._store is None or endpoint is None or name is None:
            return await self._request(model, request, None)
        key = request.key(endpoint, name)
        while (same := self._in_progress.get(key)) is not None:
            await asyncio.wait([same])
        if (cached := self._store.get(key)) is not None:
            self.totals.cached += 1
            count_cached()
            return cached
        done = self._in_progress[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._request(model, request, key)
        finally:
            del self._in_progress[key]
            done.cancel()

    def _endpoint(self, model: Model) -> EndpointState:
        url, name = getattr(model, "endpoint", None), getattr(model, "name", None)
        key = id(model) if url is None or name is None else (url, name)
        if (endpoint := self._endpoints.get(key)) is None:
            label = " at ".join(filter(None, [name, url])) or getattr(model, "__name__", type(model).__name__)
            rpm = min((int(each) for each in (self._rpm, _own_limit(model, "rpm")) if each), default=None)
            limiter = RateLimiter(self._concurrency, rpm, self._tpm)
            endpoint = self._endpoints[key] = EndpointState(label, model, limiter)
            if self._caps.budget is not None and self._price is None:
                limiter.limit = 1  # the first reply shows what a call costs
        return endpoint

    async def _request(self, model: Model, request: Request, key: str | None) -> Reply:
        endpoint, group = self._endpoint(model), TaskGroup.current()
        tokens = estimate_prompt_tokens(request) if self._measured else 0
        pending = PendingRequest(model, request, endpoint, group, key, tokens, self._row_timeout)
        try:
            outcome = await retry(partial(self._attempt, pending), self._retries, partial(self._sleep, pending))
            if isinstance(outcome, Fault):
                raise self._give_up(pending)
            if outcome.cost is None and self._caps.budget is not None:
                price = "price=(USD per million input tokens, USD per million output tokens)"
                raise SpecError(f"{endpoint.name} does not report what a call costs: a budget needs {price}")
        except KaratError as error:
            self.totals.failed += pending.attempts > 0
            self.totals.capped += pending.attempts == 0
            if not isinstance(error, RequestError):
                group.stop(error)
            raise
        return outcome

    async def _attempt(self, pending: PendingRequest) -> Reply | Fault:
        """One call when the rate limiter allows it. Raises what a retry cannot mend."""
        limiter, now = pending.endpoint.limiter, asyncio.get_running_loop().time
        self._estimate(pending)
        with pending.group.waiting():
            slot = await limiter.acquire(pending.tokens)
        start = now()
        try:
            with trace_call(pending.model, pending.request) as span:
                timeout = _own_limit(pending.model, "timeout") or self._timeout
                outcome = await self._call(pending, min(timeout, pending.seconds_left))
                record_outcome(span, outcome)
            if isinstance(outcome, Reply):
                limiter.record_reply(slot)
                return outcome
            pending.fault = outcome
            if outcome.kind == "overload":
                limiter.record_refusal(slot, outcome.retry_after)
            await self._raise_if_final(pending, outcome)
            return outcome
        finally:
            limiter.release(slot, pending.tokens_used)
            pending.seconds_left -= now() - start

    async def _sleep(self, pending: PendingRequest, seconds: float) -> None:
        fault = pending.fault
        if fault and fault.kind == "overload" and fault.retry_after is not None:
            seconds = 0.0  # the rate limiter delays all calls to the endpoint
        pending.seconds_left -= seconds
        if pending.seconds_left <= 0:
            raise self._give_up(pending)
        with pending.group.waiting():
            await asyncio.sleep(seconds)

    async def _call(self, pending: PendingRequest, seconds: float) -> Reply | Fault:
        """One call. Its reply is in the cache before the caller gets it."""
        endpoint, request, store = pending.endpoint, pending.request, self._store
        with pending.group.calling():
            await self._reserve(pending)
            attempt = store.begin_attempt(self._run, pending.cost) if store and self._run else None
            spent, start = pending.cost, perf_counter()  # a call without a reply counts as estimated
            try:
                async with asyncio.timeout(seconds) as timeout:
                    awaitable = pending.model(request.messages, request.schema, request.settings)
                    if not hasattr(awaitable, "__await__"):
                        problem = f"expected an async callable, but it returned {type(awaitable).__name__}"
                        raise SpecError(f"{endpoint.name} is not a model: {problem}")
                    reply = Reply.from_value(await awaitable)
            except Exception as error:
                if isinstance(error, KaratError) and not isinstance(error, RequestError):
                    raise
                cause = TimeoutError(f"no reply within {seconds:g} s") if timeout.expired() else error
                fault = classify(cause, proven=endpoint.limiter.proven)
                if fault.status is not None:
                    spent = 0.0  # refused
                if store and attempt:
                    store.end_attempt(attempt, spent)
                return fault
            else:
                took, cost = perf_counter() - start if reply.seconds is None else reply.seconds, reply.cost
                if self._measured:
                    pending.tokens_used, cost = endpoint.usage.measure(reply, pending.input_tokens, self._price)
                reply, spent = replace(reply, cost=cost, seconds=took), cost or 0.0
                self.totals.add(reply)
                if store and (pending.key or attempt):
                    reply = store.put(pending.key, reply, attempt, spent)
                return reply
            finally:
                self.totals.seconds += perf_counter() - start
                self._caps.settle(pending.cost, spent)

    def _estimate(self, pending: PendingRequest) -> None:
        if self._measured:
            usage = pending.endpoint.usage
            pending.tokens, pending.cost = usage.estimate(pending.request, pending.input_tokens, self._price)

    async def _reserve(self, pending: PendingRequest) -> None:
        self._estimate(pending)  # again, since other replies have arrived meanwhile
        try:
            with pending.group.waiting():
                await self._caps.reserve(pending.cost)
        except RequestError as error:
            raise type(error)(f"{pending.fault.message}; {error}" if pending.fault else str(error)) from None
        self.totals.calls += 1
        self.totals.retries += pending.attempts > 0
        pending.attempts += 1

    async def _raise_if_final(self, pending: PendingRequest, fault: Fault) -> None:
        """Raise a fault that a retry cannot mend."""
        endpoint, error = pending.endpoint, fault.error
        if fault.kind == "fatal" and error and classify(error, proven=True).kind == "row":
            with pending.group.waiting():
                fault = classify(error, proven=await endpoint.limiter.wait_for_proof())
        if fault.kind == "row":
            raise RequestError(fault.message) from error
        if fault.kind == "fatal":
            raise ModelError(f"{endpoint.name}: {fault.message}") from error
        if fault.retry_after and fault.retry_after > self._row_timeout:
            raise ModelError(f"{endpoint.name} asks to wait {fault.retry_after:.0f} s: {fault.message}") from error

    def _give_up(self, pending: PendingRequest) -> KaratError:
        """The error for a request that got no reply in time."""
        limiter, fault = pending.endpoint.limiter, pending.fault
        reason = f"{fault.message if fault else 'not sent'} (attempts: {pending.attempts})"
        limiter.failed += 1
        if fault and fault.unreachable:
            return ModelError(f"{pending.endpoint.name} cannot be reached; is it running? {reason}")
        if limiter.failed < GIVE_UP:
            return RequestError(reason)
        count = f"{limiter.failed} requests in a row got no reply"
        return ModelError(f"{pending.endpoint.name}: {count}; the last error: {reason}")
