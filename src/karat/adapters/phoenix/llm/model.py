"""The model that a classifier asks: an OpenAI-compatible endpoint, a callable, or an `LLM` of Phoenix's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karat.core.errors import SpecError, did_you_mean
from karat.models.context import current
from karat.models.openai.model import OpenAIModel
from karat.models.request import Message, Model, Schema

_TAKEN = ("api_key", "base_url")


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
    """A model of an OpenAI-compatible endpoint: `base_url` (`OPENAI_BASE_URL`, else OpenAI's), `api_key` (…_API_KEY).

    Both may also stand in the client's keywords, as Phoenix has them. Any other provider is reached by its own
    OpenAI-compatible endpoint, by an async callable `(messages, schema, settings) -> reply`, or by Phoenix's own `LLM`:
    a classifier takes each of these.

    Raises `karat.SpecError` for what cannot be asked so.

    >>> LLM(provider="openai", model="small", base_url="http://localhost:8000/v1")
    OpenAIModel('small', base_url='http://localhost:8000/v1')
    >>> LLM(provider="litellm", model="small")
    Traceback (most recent call last):
        ...
    karat.core.errors.SpecError: LLM(provider='litellm'): OpenAI-compatible endpoints are asked here. Give its base_url=
        with provider='openai'; or give the classifier llm=an async callable (messages, schema, settings) -> text, or an
        LLM of phoenix.evals
    """
    for key, value in {"provider": provider, "client": client}.items():
        if value not in (None, "openai"):
            raise SpecError(
                f"LLM({key}={value!r}): OpenAI-compatible endpoints are asked here. Give its base_url= with "
                "provider='openai'; or give the classifier llm=an async callable (messages, schema, settings) -> text, "
                "or an LLM of phoenix.evals"
            )
    if not model:
        raise SpecError("LLM(model=…): the name of a model is expected")
    given = {**(sync_client_kwargs or {}), **(async_client_kwargs or {})}
    for key in given:
        if key not in _TAKEN:
            raise SpecError(f"LLM: a client's {key!r} is not taken{did_you_mean(key, _TAKEN)}")
    return OpenAIModel(model, base_url=base_url or given.get("base_url"), api_key=api_key or given.get("api_key"))


class _OfPhoenix:
    """An `LLM` of Phoenix's as a model. It tells no tokens, and its replies are kept nowhere."""

    def __init__(self, llm: Any) -> None:
        self.name, self._llm = str(getattr(llm, "model", type(llm).__name__)), llm

    async def __call__(
        self, messages: Sequence[Message], schema: Schema | None, settings: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        given: Mapping[str, Any] = await self._llm.async_generate_object(prompt=messages, schema=schema, **settings)
        return given


def to_model(llm: Any) -> Model:
    """What a classifier was given, as a model: a name is one of the endpoint that judges ask too."""
    if isinstance(llm, str):
        return current().connect(llm)
    if hasattr(llm, "async_generate_object"):
        return _OfPhoenix(llm)
    if callable(llm):
        return llm  # type: ignore[no-any-return]
    raise SpecError(
        f"llm={llm!r:.60}: the name of a model, LLM(…), or an async callable (messages, schema, settings) is expected"
    )
