"""What a run would ask and what that would cost, without asking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from karat.core.errors import MissingExtra, SpecError
from karat.models.governor.budget import Price, prompt_tokens
from karat.models.governor.faults import AskError, NotAsked
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.reply_cache import Store
from karat.models.request import Model, Reply, Request

LABEL_TOKENS, LIST_TOKENS = 80, 400  # of a reply with a label and its reason, of one with a list of statements


@dataclass
class Quote:
    """Calls that would be made, of which `kept` have their replies in the cache; tokens are of the others, roughly."""

    calls: int = 0
    kept: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def cost(self, price: tuple[float, float]) -> float:
        """USD, at a price per million input and output tokens."""
        return Price(*price).of(self.input_tokens, self.output_tokens)


def connector(base_url: str | None) -> Callable[[str], Model]:
    """Models as they would be asked; one that could not be, for want of a key, as one of which no reply is kept."""

    async def nobody(*_: object) -> str:
        raise AskError("a stand-in is not asked")

    def connect(name: str) -> Model:
        try:
            return OpenAIModel(name, base_url=base_url)
        except (SpecError, MissingExtra):
            return nobody

    return connect


class Quoting(Governor):
    """A governor that only counts: every question is refused."""

    def __init__(self, store: Store | None) -> None:
        super().__init__()
        self.quote = Quote()
        self._kept = store

    async def ask(self, model: Model, request: Request) -> Reply:
        """Count the question; raises AskError."""
        endpoint, name = getattr(model, "endpoint", None), getattr(model, "name", None)
        known = endpoint is not None and name is not None and self._kept is not None
        self.quote.calls += 1
        if known and self._kept is not None and self._kept.get(request.key(str(endpoint), str(name))) is not None:
            self.quote.kept += 1
        else:
            self.quote.input_tokens += prompt_tokens(request)
            usual = LIST_TOKENS if "statements" in str(request.schema) else LABEL_TOKENS
            self.quote.output_tokens += request.settings.get("max_tokens", usual)
        raise NotAsked("not asked: this is a dry run")
