"""Vectors from an OpenAI-compatible endpoint, through the governor."""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import SpecError
from karat.models.context import current_models
from karat.models.encoders.encoder import Choice, EncoderOutput
from karat.models.governor.faults import NotSentError, RequestError
from karat.models.governor.governor import Governor
from karat.models.openai.client import REPLY_BYTES, Endpoint, find_endpoint, post
from karat.models.openai.remedies import remedies
from karat.models.request import ChatMessage, Reply, Request, Schema

BATCH = 128  # texts a request
REQUESTS = 16  # a block
VECTOR_BYTES = 200_000  # of a text: 16,384 numbers, each with 12 digits


class EndpointEncoder:
    """An embedding model at the endpoint of `use_governor`, else `$OPENAI_BASE_URL`, else OpenAI's.

    Requests go through the current governor. A request that fails is repeated in halves: one text may be the cause.
    """

    max_length = None
    cross = False

    def __init__(self, choice: Choice) -> None:
        for name in ("revision", "max_length"):
            if getattr(choice, name) is not None:
                raise SpecError(f"{name} is not a setting of endpoint=True")
        endpoint = find_endpoint(str(choice.model), current_models().base_url)
        self._model, self._prompt = EmbeddingModel(endpoint, str(choice.model)), choice.prompt or ""
        self.identity = f"{endpoint.url}|{choice.model}|{self._prompt}"
        self._batch = choice.machine.batch_size or BATCH
        self.block = self._batch * REQUESTS

    def encode(self, texts: Sequence[str]) -> EncoderOutput:
        """A vector for each text, NaN where the endpoint returns none."""
        governor = current_models().governor
        parts = [texts[start : start + self._batch] for start in range(0, len(texts), self._batch)]
        results = [row for rows in governor.map(partial(self._encode_part, governor), parts) for row in rows]
        width = next((len(row) for row in results if not isinstance(row, RequestError)), 0)
        if problems := [row for row in results if isinstance(row, RequestError)]:
            warnings.warn(f"{len(problems)} texts got no vector; the first: {problems[0]}", stacklevel=2)
        missing = np.full(width, np.nan, dtype=np.float32)
        rows = np.stack([missing if isinstance(row, RequestError) else row for row in results])
        return EncoderOutput(rows, np.zeros(len(texts), dtype=bool))

    async def _encode_part(self, governor: Governor, texts: Sequence[str]) -> list[Array | RequestError]:
        messages = [{"role": "user", "content": self._prompt + text} for text in texts]
        try:
            reply = await governor.ask(self._model, Request(messages, settings={"max_tokens": 0}))
        except NotSentError as error:
            return [error] * len(texts)
        except RequestError as error:
            if len(texts) == 1:
                return [error]
            half = len(texts) // 2
            return [part for each in (texts[:half], texts[half:]) for part in await self._encode_part(governor, each)]
        return [np.frombuffer(base64.b64decode(each), dtype="<f4") for each in json.loads(reply.text)]


class EmbeddingModel:
    """A model for the governor: each message is a text; the reply is a JSON list of vectors as base64 of float32.

    It has no `endpoint`, so that replies are not cached: the vector cache holds the vectors.
    """

    def __init__(self, endpoint: Endpoint, name: str) -> None:
        self._endpoint, self._name = endpoint, name
        self.__name__ = f"{name} at {endpoint.url}"

    async def __call__(self, messages: Sequence[ChatMessage], _: Schema | None, __: Mapping[str, Any]) -> Reply:
        """Send one request."""
        texts = [message["content"] for message in messages]
        body = {"model": self._name, "input": texts, "encoding_format": "base64"}
        async with remedies(self._endpoint, self._name, embeds=True):
            parse, most = partial(_parse_vectors, len(texts)), REPLY_BYTES + VECTOR_BYTES * len(texts)
            return await post(self._endpoint, "/embeddings", body, parse, most)


def _parse_vectors(count: int, text: str) -> Reply:
    result = json.loads(text)
    rows = sorted(result["data"], key=lambda row: row["index"])
    if [row["index"] for row in rows] != list(range(count)):
        raise ValueError(f"{len(rows)} vectors for {count} texts")
    vectors = json.dumps([_base64(row["embedding"]) for row in rows])
    return Reply(vectors, (result.get("usage") or {}).get("prompt_tokens"), 0)


def _base64(vector: str | list[float]) -> str:
    """Servers that do not support base64 return lists of floats."""
    return vector if isinstance(vector, str) else base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
