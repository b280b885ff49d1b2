"""The model of a classifier: at an OpenAI-compatible endpoint, a callable, or an `LLM` of Phoenix's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karat.core.errors import SpecError, did_you_mean
from karat.models.context import current_models
from karat.models.openai.model import OpenAIModel
from karat.models.request import Message, Model, Schema

_CLIENT_KEYWORDS = ("api_key", "base_url")


def LLM(  # noqa: N802  (it reads as the value that it makes)
    *,
    provider: str | None = None,
    model: str | None = None,
    client: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    sync_client_kwargs: Mapping[str, Any] | None = None,
    async_client_kwargs: Mapping[str, Any] | None = None,
) -> OpenAIModel:
    """A model at an OpenAI-compatible endpoint.

    `base_url`: by default `OPENAI_BASE_URL`, else OpenAI's. `api_key`: by default `OPENAI_API_KEY`. Both may also be
    among the client's keywords, as in Phoenix. For any other provider, use its own OpenAI-compatible endpoint, or give
    the classifier an async callable `(messages, schema, settings) -> reply` or Phoenix's own `LLM`.

    Raises `karat.SpecError` for another provider or client, and for other keywords of the client.

    >>> LLM(provider="openai", model="small", base_url="http://localhost:8000/v1")
    OpenAIModel('small', base_url='http://localhost:8000/v1')
    >>> LLM(provider="litellm", model="small")
    Traceback (most recent call last):
        ...
    karat.core.errors.SpecError: LLM(provider='litellm'): an OpenAI-compatible endpoint is expected. Give its base_url=
        with provider='openai'; or give the classifier llm=an async callable (messages, schema, settings) -> text, or an
        LLM of phoenix.evals
    """
    for key, value in {"provider": provider, "client": client}.items():
        if value not in (None, "openai"):
            raise SpecError(
                f"LLM({key}={value!r}): an OpenAI-compatible endpoint is expected. Give its base_url= with "
                "provider='openai'; or give the classifier llm=an async callable (messages, schema, settings) -> text, "
                "or an LLM of phoenix.evals"
            )
    if not model:
        raise SpecError("LLM(model=…): the name of a model is expected")
    keywords = {**(sync_client_kwargs or {}), **(async_client_kwargs or {})}
    for key in keywords:
        if key not in _CLIENT_KEYWORDS:
            raise SpecError(f"LLM: the client's keyword {key!r} is not supported{did_you_mean(key, _CLIENT_KEYWORDS)}")
    return OpenAIModel(model, base_url=base_url or keywords.get("base_url"), api_key=api_key or keywords.get("api_key"))


class _PhoenixModel:
    """Phoenix's own `LLM` as a model. Its tokens are not known, and its replies are not cached."""

    def __init__(self, llm: Any) -> None:
        self.name, self._llm = str(getattr(llm, "model", type(llm).__name__)), llm

    async def __call__(
        self, messages: Sequence[Message], schema: Schema | None, settings: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = await self._llm.async_generate_object(prompt=messages, schema=schema, **settings)
        return reply


def to_model(llm: Any) -> Model:
    """A classifier's argument `llm` as a model; a name means a model at the endpoint that judges use."""
    if isinstance(llm, str):
        return current_models().connect(llm)
    if hasattr(llm, "async_generate_object"):
        return _PhoenixModel(llm)
    if callable(llm):
        return llm  # type: ignore[no-any-return]
    raise SpecError(
        f"llm={llm!r:.60}: the name of a model, LLM(…), or an async callable (messages, schema, settings) is expected"
    )
