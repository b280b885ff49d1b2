"""`LLM`: a model at an OpenAI-compatible endpoint; and any other model as a classifier takes it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from math import ceil, inf
from typing import Any, TypeAlias

from karat.adapters.phoenix.llm.prompts import PromptLike, to_plain
from karat.core.errors import SpecError, did_you_mean
from karat.judges.replies.forms import Label
from karat.judges.replies.parser import check, read_json
from karat.models.context import current_models
from karat.models.event_loop import await_coroutine, run_coroutine
from karat.models.openai.model import OpenAIModel
from karat.models.request import ChatMessage, Model, Reply, Request, Schema

Labels: TypeAlias = Sequence[str] | Mapping[str, str]
"""Labels, or the meaning of each."""

_METHODS = ("generate_classification", "async_generate_classification")
_CLIENT_KEYWORDS = ("api_key", "base_url", "timeout")


class LLM(OpenAIModel):
    """A model at an OpenAI-compatible endpoint.

    `base_url`: by default `OPENAI_BASE_URL`, else OpenAI's. `api_key`: by default `OPENAI_API_KEY`. `timeout`: seconds
    for one request (default: 60). All three may also be among the client's keywords, as in Phoenix.
    `initial_per_second_request_rate`: the most requests a second; without it, the endpoint's refusals alone set the
    pace. For any other provider, use its own OpenAI-compatible endpoint, or give the classifier an async callable
    `(messages, schema, settings) -> reply` or Phoenix's own `LLM`. A subclass may define `generate_classification`.

    Raises `SpecError` for another provider or client, and for other keywords of the client.

    >>> LLM(provider="openai", model="small", base_url="http://localhost:8000/v1")
    LLM('small', base_url='http://localhost:8000/v1')
    >>> LLM(provider="litellm", model="small")
    Traceback (most recent call last):
        ...
    karat.core.errors.SpecError: LLM(provider='litellm'): an OpenAI-compatible endpoint is expected. Give its base_url=
        with provider='openai'; or give the classifier llm=an async callable (messages, schema, settings) -> text, or an
        LLM of phoenix.evals
    """

    def __init__(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        client: str | None = None,
        initial_per_second_request_rate: float | None = None,
        sync_client_kwargs: Mapping[str, Any] | None = None,
        async_client_kwargs: Mapping[str, Any] | None = None,
        **client_keywords: Any,
    ) -> None:
        for key, value in {"provider": provider, "client": client}.items():
            if value not in (None, "openai"):
                raise SpecError(
                    f"LLM({key}={value!r}): an OpenAI-compatible endpoint is expected. Give its base_url= with "
                    "provider='openai'; or give the classifier llm=an async callable (messages, schema, settings) -> "
                    "text, or an LLM of phoenix.evals"
                )
        if not model:
            raise SpecError("LLM(model=…): the name of a model is expected")
        keywords = {**client_keywords, **(sync_client_kwargs or {}), **(async_client_kwargs or {})}
        for key in keywords:
            if key not in _CLIENT_KEYWORDS:
                hint = did_you_mean(key, _CLIENT_KEYWORDS)
                raise SpecError(f"LLM: the client's keyword {key!r} is not supported{hint}")
        super().__init__(model, base_url=keywords.get("base_url"), api_key=keywords.get("api_key"))
        self.provider, self.model = provider or "openai", model
        self.timeout: float | None = keywords.get("timeout")
        rate = initial_per_second_request_rate
        if rate is not None and not rate > 0:
            raise SpecError(f"initial_per_second_request_rate={rate!r}: a number above 0 is expected")
        self.rpm = None if rate is None else ceil(rate * 60)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={getattr(self, 'endpoint', None)!r})"

    def generate_text(self, prompt: PromptLike, **settings: Any) -> str:
        """The text of the reply to a text or messages. `settings` (temperature, …) are sent with the request."""
        return _wait(self._ask(prompt, None, settings)).text

    async def async_generate_text(self, prompt: PromptLike, **settings: Any) -> str:
        """The same, awaited."""
        return (await await_coroutine(self._ask(prompt, None, settings))).text

    def generate_object(self, prompt: PromptLike, schema: Schema, method: Any = None, **settings: Any) -> Any:
        """The JSON value of the reply, asked for with a JSON Schema. `method` has no effect: the endpoint decides."""
        del method
        return read_json(_wait(self._ask(prompt, schema, settings)).text)

    async def async_generate_object(
        self, prompt: PromptLike, schema: Schema, method: Any = None, **settings: Any
    ) -> Any:
        """The same, awaited."""
        del method
        return read_json((await await_coroutine(self._ask(prompt, schema, settings))).text)

    def generate_classification(
        self,
        prompt: PromptLike,
        labels: Labels,
        include_explanation: bool = True,
        description: str | None = None,
        **settings: Any,
    ) -> dict[str, Any]:
        """A dict with the `label` that the model chooses, and its `explanation` if included.

        `description`: what the label says. Raises `DataError` for a reply that is none of the labels.
        """
        schema = _label_schema(labels, include_explanation, description)
        return dict(_check(self.generate_object(prompt, schema, **settings), schema))

    async def async_generate_classification(
        self,
        prompt: PromptLike,
        labels: Labels,
        include_explanation: bool = True,
        description: str | None = None,
        **settings: Any,
    ) -> dict[str, Any]:
        """The same, awaited."""
        schema = _label_schema(labels, include_explanation, description)
        return dict(_check(await self.async_generate_object(prompt, schema, **settings), schema))

    async def _ask(self, prompt: PromptLike, schema: Schema | None, settings: Mapping[str, Any]) -> Reply:
        return await current_models().governor.ask(self, Request(to_plain(prompt), schema, settings))


def _wait(work: Coroutine[Any, Any, Reply]) -> Reply:
    return run_coroutine(work, drain=lambda: None)


def _label_schema(labels: Labels, include_explanation: bool, description: str | None) -> Schema:
    schema = Label(choices=dict.fromkeys(labels, 0.0), explanation=include_explanation).schema
    meanings = labels.items() if isinstance(labels, Mapping) else ()
    about = [description, *(f"{label}: {text}" for label, text in meanings if text)]
    if texts := list(filter(None, about)):
        schema["properties"]["label"]["description"] = "\n".join(texts)
    return schema


def _check(reply: Any, schema: Schema) -> Any:
    check(reply, schema)
    return reply


class _ObjectModel:
    """An object with `async_generate_object` as a model. Its tokens are not known, and its replies are not cached."""

    def __init__(self, llm: Any) -> None:
        self.name, self._llm = str(getattr(llm, "model", type(llm).__name__)), llm

    async def __call__(
        self, messages: Sequence[ChatMessage], schema: Schema | None, settings: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = await self._llm.async_generate_object(prompt=messages, schema=schema, **settings)
        return reply


def to_model(llm: Any) -> Model:
    """A classifier's argument `llm` as a model; a name means a model at the endpoint that judges use."""
    if isinstance(llm, str):
        return current_models().connect(llm)
    if hasattr(llm, "async_generate_object") and not isinstance(llm, LLM):
        return _ObjectModel(llm)
    if callable(llm):
        return llm  # type: ignore[no-any-return]
    raise SpecError(
        f"llm={llm!r:.60}: the name of a model, LLM(…), an object with generate_classification, or an async callable "
        "(messages, schema, settings) is expected"
    )


def classifies(llm: Any) -> bool:
    """Whether an object classifies by a method of its own: Phoenix's `LLM`, a stub, or a subclass of `LLM`."""
    return any(
        callable(method := getattr(llm, name, None)) and getattr(method, "__func__", None) is not vars(LLM)[name]
        for name in _METHODS
    )


def own_method(llm: Any, *, waits: bool) -> Callable[..., Any]:
    """The method by which an object classifies: the synchronous one if it `waits`, else preferably the other.

    If a more special class, or the object itself, defines only the synchronous one, that one counts in both cases.
    """
    sync, awaited = _METHODS
    names = _METHODS if waits or _home(llm, sync) < _home(llm, awaited) else (awaited, sync)
    methods: list[Callable[..., Any]] = [getattr(llm, name) for name in names if hasattr(llm, name)]
    return methods[0]


def _home(llm: Any, name: str) -> float:
    """How far up the classes of an object an attribute is defined; 0 if the object itself has it."""
    homes = (llm, *type(llm).__mro__)
    return next((distance for distance, each in enumerate(homes) if name in getattr(each, "__dict__", ())), inf)
