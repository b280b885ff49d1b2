"""Hard caps on what a run may ask and spend, exact under concurrency."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from math import ceil

from karat.core.errors import SpecError
from karat.models.governor.faults import NotAsked
from karat.models.request import Reply, Request

BYTES_A_TOKEN = 3  # of UTF-8: more than English takes, and about what other scripts take
MESSAGE_TOKENS = 8  # roles and separators
UNSEEN_OUTPUT = 1024  # tokens, before anything was answered


@dataclass(frozen=True)
class Price:
    """USD per million input tokens and per million output tokens."""

    input: float
    output: float

    def __post_init__(self) -> None:
        if min(self.input, self.output) < 0:
            raise SpecError(f"price=({self.input}, {self.output}): USD per million tokens, at least 0, are expected")

    def of(self, input_tokens: float, output_tokens: float) -> float:
        """What so many tokens cost, in USD.

        >>> Price(0.5, 2.0).of(1_000_000, 500_000)
        1.5
        """
        return (self.input * input_tokens + self.output * output_tokens) / 1_000_000


def text_tokens(text: str) -> int:
    """About how many tokens a text has, rather too many than too few.

    >>> text_tokens("Is 7 a prime number?")
    7
    """
    return -(-len(text.encode()) // BYTES_A_TOKEN)


def prompt_tokens(request: Request) -> int:
    """About how many tokens a request has, its schema included.

    >>> prompt_tokens(Request([{"role": "user", "content": "Is 7 a prime number?"}]))
    15
    """
    schema = text_tokens(json.dumps(request.schema)) if request.schema else 0
    return schema + sum(text_tokens(each["content"]) + MESSAGE_TOKENS for each in request.messages)


@dataclass
class Usage:
    """What the replies of one model have taken so far, from which the next is estimated."""

    longest: int = 0
    """Output tokens."""
    heavier: float = 1.0
    """How many times our own count of input tokens the endpoint's is."""
    dearest: float = 0.0
    """USD a token, where the endpoint tells its own cost."""

    def estimate(self, request: Request, counted: int, price: Price | None) -> tuple[int, float]:
        """Tokens and USD that a request may take: `counted` and its `max_tokens`, else the longest reply so far."""
        given = request.settings.get("max_completion_tokens", request.settings.get("max_tokens"))
        prompt = ceil(counted * self.heavier)
        output = (self.longest or UNSEEN_OUTPUT) if given is None else given
        return prompt + output, price.of(prompt, output) if price else self.dearest * (prompt + output)

    def measure(self, reply: Reply, counted: int, price: Price | None) -> tuple[int, float | None]:
        """Tokens and USD that a reply did take, as the endpoint tells, else by our own count; learns from them."""
        prompt = counted if reply.input_tokens is None else reply.input_tokens
        output = text_tokens(reply.text) if reply.output_tokens is None else reply.output_tokens
        cost = price.of(prompt, output) if price and reply.cost is None else reply.cost
        self.longest = max(self.longest, output)
        self.heavier = max(self.heavier, prompt / max(1, counted))
        self.dearest = max(self.dearest, (cost or 0.0) / max(1, prompt + output))
        return prompt + output, cost


@dataclass
class Totals:
    """What was asked so far: `calls` counts retries, `failed` the questions asked in vain, `capped` those never asked.

    calls - retries = answers + failed. `cost` is in USD, None where nobody told; `seconds` are those of all calls,
    which overlap.
    """

    calls: int = 0
    retries: int = 0
    cached: int = 0
    failed: int = 0
    capped: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    def add(self, reply: Reply) -> None:
        """Add what a new reply took."""
        self.input_tokens += reply.input_tokens or 0
        self.output_tokens += reply.output_tokens or 0
        if reply.cost is not None:
            self.cost = (self.cost or 0.0) + reply.cost


class Caps:
    """At most `max_calls` calls, retries included, and `budget` USD, of which `calls` and `spent` are gone.

    A call is counted before it is made, at its estimate, and corrected after. Near the end of the budget calls wait
    for those under way, whose estimates are usually too high.
    """

    def __init__(self, max_calls: int | None, budget: float | None, *, calls: int = 0, spent: float = 0.0) -> None:
        self.max_calls = max_calls
        self.budget = budget
        self.calls = calls
        self.spent = spent
        self._reserved = 0.0
        self._under_way = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def reserve(self, estimate: float) -> None:
        """Count a call that may cost so much, or raise NotAsked where it must not be made."""
        while True:
            if self.max_calls is not None and self.calls >= self.max_calls:
                raise NotAsked(f"not asked: the cap of {self.max_calls} calls is reached")
            if self.budget is None or self.spent + self._reserved + estimate <= self.budget:
                break
            if self.spent + estimate > self.budget or not self._under_way:
                raise NotAsked(
                    f"not asked: it may cost ${estimate:.2g}, and ${self.spent:.4g} of the budget of "
                    f"${self.budget:.4g} is spent"
                )
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        self.calls += 1
        self._under_way += 1
        self._reserved += estimate

    def settle(self, estimate: float, cost: float) -> None:
        """A call that was reserved at `estimate` has ended and did cost `cost`."""
        self.spent += cost
        self._under_way -= 1
        self._reserved = self._reserved - estimate if self._under_way else 0.0  # without what rounding leaves
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
