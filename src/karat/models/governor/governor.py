"""The only way out of the process: every call to a model, within its limits, and none of them lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TypeVar

from karat.core.errors import KaratError, SpecError
from karat.models import event_loop as loop
from karat.models.governor.budget import Caps, Price, Totals, Usage, prompt_tokens
from karat.models.governor.call_spans import note_kept, tell, traced
from karat.models.governor.faults import AskError, Fault, ModelError, classify
from karat.models.governor.rate_limiter import Lane
from karat.models.governor.task_group import Batch
from karat.models.reply_cache import Store
from karat.models.request import Model, Reply, Request

In = TypeVar("In")
Out = TypeVar("Out")

FIRST_PAUSE = 0.5  # seconds before the second attempt, doubled for each one after it
LONGEST_PAUSE = 30.0
GIVE_UP = 100  # questions in a row that got no answer, each after all its attempts


@dataclass
class _Way:
    """The way to one model of one endpoint: its limits, and what its replies have taken."""

    name: str
    first: Model
    """Kept, so that no other callable takes its identity."""
    lane: Lane
    usage: Usage = field(default_factory=Usage)


@dataclass
class _Question:
    """A request on its way: what a call may take, how often it was asked, and what came of the last time."""

    model: Model
    request: Request
    way: _Way
    batch: Batch
    key: str | None
    counted: int
    """Tokens of the request by our own count."""
    tokens: int = 0
    cost: float = 0.0
    used: int | None = None
    attempts: int = 0
    fault: Fault | None = None


class Governor:
    """Asks models: as many calls at a time as an endpoint bears, each until it is answered, within hard caps.

    `concurrency` is the most calls at a time to one model of one endpoint, and the most rows under way; `rpm` and
    `tpm` are its requests and tokens a minute. A question is asked up to `attempts` times where asking again can
    help; each call may take `timeout` seconds, all of them and the pauses after faults `row_timeout` (waiting for a
    turn does not count).

    `max_calls` and `budget` (USD) are never passed, retries and calls under way included. What a call costs is told by
    the endpoint, or by `price`: USD per million input tokens and per million output tokens; before the call it is
    estimated, exactly in its output where the request says `max_tokens`. With a `store` no question is asked twice,
    and caps go on counting over all processes of one `run`. `progress` is called with the number of rows done.

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
        store: Store | None = None,
        run: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        for name, number in {"concurrency": concurrency, "rpm": rpm, "tpm": tpm, "attempts": attempts}.items():
            if number is not None and number < 1:
                raise SpecError(f"{name}={number!r}: a whole number from 1 is expected")
        for name, seconds in {"timeout": timeout, "row_timeout": row_timeout}.items():
            if seconds <= 0:
                raise SpecError(f"{name}={seconds!r}: seconds above 0 are expected")
        self.totals = Totals()
        self._concurrency, self._rpm, self._tpm = concurrency, rpm, tpm
        self._attempts, self._timeout, self._row_timeout = attempts, timeout, row_timeout
        self._price = None if price is None else Price(*price)
        self._measured = tpm is not None or budget is not None or price is not None
        self._store, self._run, self._progress = store, run, progress
        calls, spent = store.spent(run) if store and run else (0, 0.0)
        self._caps = Caps(max_calls, budget, calls=calls, spent=spent)
        self._ways: dict[Hashable, _Way] = {}
        self._asking: dict[str, asyncio.Future[None]] = {}

    def map(self, work: Callable[[In], Awaitable[Out]], items: Iterable[In]) -> list[Out]:
        """`await work(item)` of every item, in the items' order, for code that is not async itself.

        Works inside a running event loop. The first error of `work` stops the rest and is raised. On Ctrl-C nothing
        more is asked, the calls under way end and are kept, and KeyboardInterrupt is raised.
        """
        batch = Batch()
        return loop.run(
            batch.run(work, items, concurrency=self._concurrency, progress=self._progress), drain=batch.drain
        )

    async def gather(self, work: Callable[[In], Awaitable[Out]], items: Iterable[In]) -> list[Out]:
        """`map` in the event loop that awaits it."""
        return await Batch().run(work, items, concurrency=self._concurrency, progress=self._progress)

    async def ask(self, model: Model, request: Request) -> Reply:
        """The model's reply: the one kept from before, else a new one.

        Raises AskError where this question gets no answer, ModelError where no question will.
        """
        endpoint, name = getattr(model, "endpoint", None), getattr(model, "name", None)
        if self._store is None or endpoint is None or name is None:
            return await self._answer(model, request, None)
        key = request.key(endpoint, name)
        while (asked := self._asking.get(key)) is not None:
            await asyncio.wait([asked])  # the same question is under way
        if (kept := self._store.get(key)) is not None:
            self.totals.cached += 1
            note_kept()
            return kept
        asked = self._asking[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._answer(model, request, key)
        finally:
            del self._asking[key]
            asked.cancel()

    def _way(self, model: Model) -> _Way:
        endpoint, name = getattr(model, "endpoint", None), getattr(model, "name", None)
        known = id(model) if endpoint is None or name is None else (endpoint, name)
        way = self._ways.get(known)
        if way is None:
            label = " at ".join(filter(None, [name, endpoint])) or getattr(model, "__name__", type(model).__name__)
            way = self._ways[known] = _Way(label, model, Lane(self._concurrency, self._rpm, self._tpm))
            if self._caps.budget is not None and self._price is None:
                way.lane.limit = 1  # the first reply tells what a call costs
        return way

    async def _answer(self, model: Model, request: Request, key: str | None) -> Reply:
        way, batch = self._way(model), Batch.current()
        question = _Question(model, request, way, batch, key, prompt_tokens(request) if self._measured else 0)
        try:
            reply = await self._until_answered(question)
            if reply.cost is None and self._caps.budget is not None:
                raise SpecError(
                    f"{way.name} does not tell what a call costs: a budget needs price=(USD per million input tokens, "
                    "USD per million output tokens)"
                )
        except KaratError as error:
            if question.attempts:
                self.totals.failed += 1
            else:
                self.totals.capped += 1
            if not isinstance(error, AskError):
                batch.stop(error)
            raise
        return reply

    async def _until_answered(self, question: _Question) -> Reply:
        lane, now = question.way.lane, asyncio.get_running_loop().time
        left = self._row_timeout
        while question.attempts < self._attempts and left > 0:
            self._estimate(question)
            with question.batch.wait():
                slot = await lane.enter(question.tokens)
            began = now()
            try:
                with traced(question.model, question.request) as span:
                    outcome = await self._call(question, min(self._timeout, left))
                    tell(span, outcome)
                if isinstance(outcome, Reply):
                    lane.answered(slot)
                    return outcome
                question.fault = outcome
                if outcome.kind == "overload":
                    lane.refused(slot, outcome.retry_after)
                await self._check(question, outcome)
            finally:
                lane.leave(slot, question.used)
            pause = self._pause(question.attempts, outcome)
            left -= now() - began + pause
            if left > 0:
                with question.batch.wait():
                    await asyncio.sleep(pause)
        raise self._given_up(question)

    async def _call(self, question: _Question, seconds: float) -> Reply | Fault:
        """One attempt. A reply is kept before anyone sees it."""
        way, request, store = question.way, question.request, self._store
        with question.batch.call():
            await self._reserve(question)
            attempt = store.begin(self._run, question.cost) if store and self._run else None
            spent, began = question.cost, perf_counter()  # a call of which nothing is heard counts as estimated
            try:
                async with asyncio.timeout(seconds) as limit:
                    given = question.model(request.messages, request.schema, request.settings)
                    if not hasattr(given, "__await__"):
                        raise SpecError(f"{way.name} is no model: it gave {type(given).__name__}, and is to be async")
                    reply = Reply.of(await given)
            except Exception as error:
                if isinstance(error, KaratError) and not isinstance(error, AskError):
                    raise
                late = TimeoutError(f"no reply within {seconds:g} s") if limit.expired() else error
                fault = classify(late, proven=way.lane.proven)
                if fault.status is not None:
                    spent = 0.0  # refused
                if store and attempt:
                    store.end(attempt, spent)
                return fault
            else:
                took, cost = perf_counter() - began if reply.seconds is None else reply.seconds, reply.cost
                if self._measured:
                    question.used, cost = way.usage.measure(reply, question.counted, self._price)
                reply, spent = replace(reply, cost=cost, seconds=took), cost or 0.0
                self.totals.add(reply)
                if store and (question.key or attempt):
                    reply = store.keep(question.key, reply, attempt, spent)
                return reply
            finally:
                self.totals.seconds += perf_counter() - began
                self._caps.settle(question.cost, spent)

    def _estimate(self, question: _Question) -> None:
        if self._measured:
            usage = question.way.usage
            question.tokens, question.cost = usage.estimate(question.request, question.counted, self._price)

    async def _reserve(self, question: _Question) -> None:
        self._estimate(question)  # again, for others have been answered meanwhile
        try:
            with question.batch.wait():
                await self._caps.reserve(question.cost)
        except AskError as error:
            raise type(error)(f"{question.fault.message}; {error}" if question.fault else str(error)) from None
        self.totals.calls += 1
        self.totals.retries += question.attempts > 0
        question.attempts += 1

    async def _check(self, question: _Question, fault: Fault) -> None:
        """Raise what asking again would not mend."""
        way, error = question.way, fault.error
        if fault.kind == "fatal" and error and classify(error, proven=True).kind == "row":
            with question.batch.wait():
                fault = classify(error, proven=await way.lane.vouched())
        if fault.kind == "row":
            raise AskError(fault.message) from error
        if fault.kind == "fatal":
            raise ModelError(f"{way.name}: {fault.message}") from error
        if fault.retry_after and fault.retry_after > self._row_timeout:
            raise ModelError(f"{way.name} asks to wait {fault.retry_after:.0f} s: {fault.message}") from error

    def _pause(self, attempts: int, fault: Fault) -> float:
        """Seconds before the next attempt."""
        if attempts == self._attempts or (fault.kind == "overload" and fault.retry_after is not None):
            return 0.0  # it is the lane that waits
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempts - 1)) * random.uniform(0.5, 1)  # noqa: S311
        return float(max(pause, fault.retry_after or 0.0))

    def _given_up(self, question: _Question) -> KaratError:
        lane, fault = question.way.lane, question.fault
        why = f"{fault.message if fault else 'never asked'} (attempts: {question.attempts})"
        lane.lost += 1
        if lane.lost >= GIVE_UP:
            return ModelError(f"{question.way.name}: {lane.lost} questions in a row got no answer, the last one: {why}")
        return AskError(why)
