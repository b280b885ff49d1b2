"""Estimate the requests and the cost of a run without sending a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from karat.core.errors import SpecError
from karat.models.governor.budget import Price, estimate_prompt_tokens
from karat.models.governor.faults import NotSentError, RequestError
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import ReplyCache
from karat.models.request import Model, Reply, Request

LABEL_TOKENS = 80  # usual length of a label and its reason
SECOND_TOKENS = 100  # of what a second request says about the first reply


@dataclass
class RequestEstimate:
    """The requests of a run. The tokens are an estimate.

    `cached`: those with a reply in the cache. `repeated`: those that are the same as one before, whose reply will be
    there. Neither takes tokens. `again`: what second requests take where no first reply can be read; None where there
    are none.
    """

    calls: int = 0
    cached: int = 0
    repeated: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    again: RequestEstimate | None = None

    def cost(self, price: tuple[float, float]) -> float:
        """The cost in USD, at a price per million input and output tokens."""
        return Price(*price).cost(self.input_tokens, self.output_tokens)


def model_factory(base_url: str | None) -> Callable[[str], Model]:
    """From the name of a model to the model; without a key, to one without cached replies."""

    async def placeholder(*_: object) -> str:
        raise RequestError("no request is sent in a dry run")

    def connect(name: str) -> Model:
        try:
            return OpenAIModel(name, base_url=base_url)
        except SpecError:
            return placeholder

    return connect


class CountingGovernor(Governor):
    """A governor that counts requests and sends none."""

    def __init__(self, store: ReplyCache | None) -> None:
        super().__init__()
        self.estimate = RequestEstimate()
        self._cache, self._asked = store, set[str]()

    async def ask(self, model: Model, request: Request) -> Reply:
        """Count the request. A reply in the cache is returned, so that what depends on it is counted too.

        Raises `NotSentError` where there is none.
        """
        endpoint, name, cache = getattr(model, "endpoint", None), getattr(model, "name", None), self._cache
        key = request.key(endpoint, name) if endpoint and name and cache is not None else None
        self.estimate.calls += 1
        if key in self._asked:
            self.estimate.repeated += 1
        elif key is not None and cache is not None and (reply := cache.get(key)) is not None:
            self.estimate.cached += 1
            return reply
        else:
            self._asked |= set() if key is None else {key}
            self.count_new(model, request, key)
        raise NotSentError("not asked: this is a dry run")

    def count_new(self, _model: Model, request: Request, _key: str | None) -> None:
        """Count what a request takes that is neither in the cache nor the same as one before."""
        prompt = estimate_prompt_tokens(request)
        self.estimate.input_tokens += prompt
        parts = (request.schema or {}).get("properties", {})
        several = sum(part.get("type") in ("object", "array") for part in parts.values())  # criteria, sentences
        reply = request.settings.get("max_tokens", LABEL_TOKENS * max(several, 1))
        self.estimate.output_tokens += reply
        if request.schema is not None:  # a judge's
            self.estimate.again = again = self.estimate.again or RequestEstimate()
            again.calls += 1
            again.input_tokens += prompt + reply + SECOND_TOKENS  # with the first reply, and what is wrong with it
            again.output_tokens += reply
