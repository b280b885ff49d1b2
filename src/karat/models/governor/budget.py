"""The limits of a run, its hard caps on calls and cost, exact under concurrency, and the estimates they need."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from math import ceil, inf

from karat.core.errors import SpecError
from karat.models.governor.faults import NotSentError
from karat.models.request import Reply, Request

BYTES_PER_TOKEN = 3  # of UTF-8: too few for English, about right for other scripts
MESSAGE_TOKENS = 8  # roles and separators
DEFAULT_OUTPUT = 1024  # tokens, before the first reply
START, MOST = 8, 64  # calls at a time, at first and at most, where no number of them is asked for


@dataclass(frozen=True)
class Price:
    """USD per million input tokens and per million output tokens."""

    input: float
    output: float

    def __post_init__(self) -> None:
        if not all(0 <= each < inf for each in (self.input, self.output)):
            raise SpecError(f"price=({self.input}, {self.output}): expected USD per million tokens, at least 0")

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """The cost of these tokens in USD.

        >>> Price(0.5, 2.0).cost(1_000_000, 500_000)
        1.5
        """
        return (self.input * input_tokens + self.output * output_tokens) / 1_000_000


@dataclass(frozen=True)
class Limits:
    """What all calls of a run keep to: see `Governor`. Raises `SpecError` for numbers below 1 and negative prices."""

    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    budget: float | None = None
    max_calls: int | None = None
    price: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name, number in {"concurrency": self.concurrency, "rpm": self.rpm, "tpm": self.tpm}.items():
            if number is not None and number < 1:
                raise SpecError(f"{name}={number!r}: expected a whole number from 1")
        if self.budget is not None and not self.budget >= 0:
            raise SpecError(f"budget={self.budget!r}: expected USD, at least 0")
        if self.price is not None:
            Price(*self.price)

    @property
    def most(self) -> int:
        """The most calls at a time."""
        return self.concurrency or MOST

    @property
    def start(self) -> int:
        """The most calls at a time before the first reply."""
        return self.concurrency or START

    @property
    def measured(self) -> bool:
        """Whether the tokens of a call matter."""
        return self.tpm is not None or self.budget is not None or self.price is not None


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, rather too many than too few.

    >>> estimate_tokens("Is 7 a prime number?")
    7
    """
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def estimate_prompt_tokens(request: Request) -> int:
    """About how many tokens a request has, including its schema.

    >>> estimate_prompt_tokens(Request([{"role": "user", "content": "Is 7 a prime number?"}]))
    15
    """
    schema = estimate_tokens(json.dumps(request.schema)) if request.schema else 0
    return schema + sum(estimate_tokens(_text(each["content"])) + MESSAGE_TOKENS for each in request.messages)


def _text(content: object) -> str:
    """A message's content; one of several parts as JSON."""
    return content if isinstance(content, str) else json.dumps(content)


def output_limit(request: Request) -> int | None:
    """The most tokens of a reply, None where the request does not say.

    >>> output_limit(Request([], settings={"max_tokens": 5}))
    5
    """
    limit: int | None = request.settings.get("max_completion_tokens", request.settings.get("max_tokens"))
    return limit


@dataclass
class Usage:
    """What the replies of one model have taken so far. The next request is estimated from it."""

    longest_output: int = 0  # tokens
    input_factor: float = 1.0  # the greatest ratio of the endpoint's count of input tokens to our estimate
    highest_rate: float = 0.0  # USD a token, where the endpoint reports the cost

    def estimate(self, estimated: int, limit: int | None, price: Price | None) -> tuple[int, float]:
        """Tokens and USD that a request may take: `estimated` input, and its `limit` or the longest reply so far."""
        prompt = ceil(estimated * self.input_factor)
        output = (self.longest_output or DEFAULT_OUTPUT) if limit is None else limit
        return prompt + output, price.cost(prompt, output) if price else self.highest_rate * (prompt + output)

    def measure(self, reply: Reply, estimated: int, price: Price | None) -> tuple[int, float | None]:
        """Tokens and USD that a reply took, as reported, else as estimated; later estimates learn from it."""
        prompt = estimated if reply.input_tokens is None else reply.input_tokens
        output = estimate_tokens(reply.text) if reply.output_tokens is None else reply.output_tokens
        cost = price.cost(prompt, output) if price and reply.cost is None else reply.cost
        self.longest_output = max(self.longest_output, output)
        self.input_factor = max(self.input_factor, prompt / max(1, estimated))
        self.highest_rate = max(self.highest_rate, (cost or 0.0) / max(1, prompt + output))
        return prompt + output, cost


@dataclass
class CallCounts:
    """Counts of a governor so far: calls - retries = replies + failed.

    `cached` are replies from the cache; `failed` requests got no reply after all attempts, `capped` ones were not sent
    because of a cap. `cost` is in USD, None where it is not known. `seconds` is the sum over all calls, which overlap.
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
        """Add the tokens and the cost of a new reply."""
        self.input_tokens += reply.input_tokens or 0
        self.output_tokens += reply.output_tokens or 0
        if reply.cost is not None:
            self.cost = (self.cost or 0.0) + reply.cost


class Caps:
    """At most `max_calls` calls, including retries, and `budget` USD; `calls` and `spent` are used up already.

    A call is counted at its estimate before it starts, and corrected when it ends. Near the end of the budget calls
    wait for the running ones, whose estimates are usually too high.
    """

    def __init__(self, max_calls: int | None, budget: float | None, *, calls: int = 0, spent: float = 0.0) -> None:
        self.max_calls, self.budget, self.calls, self.spent = max_calls, budget, calls, spent
        self._reserved, self._running = 0.0, 0
        self._waiting: list[asyncio.Future[None]] = []

    async def reserve(self, estimate: float) -> None:
        """Count a call with this estimated cost, or raise NotSentError if a cap forbids it."""
        while True:
            if self.max_calls is not None and self.calls >= self.max_calls:
                raise NotSentError(f"not asked: the cap of {self.max_calls} calls is reached")
            if self.budget is None or self.spent + self._reserved + estimate <= self.budget:
                break
            if self.spent + estimate > self.budget or not self._running:
                spent = f"${self.spent:.4g} of the budget of ${self.budget:.4g} is spent"
                raise NotSentError(f"not asked: it may cost ${estimate:.2g}, and {spent}")
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]
        self.calls += 1
        self._running += 1
        self._reserved += estimate

    def settle(self, estimate: float, cost: float) -> None:
        """Correct a call that was reserved at `estimate` and did cost `cost`."""
        self.spent += cost
        self._running -= 1
        self._reserved = self._reserved - estimate if self._running else 0.0  # drops rounding errors
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
