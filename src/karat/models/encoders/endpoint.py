"""Vectors from an OpenAI-compatible endpoint, through the governor."""

from __future__ import annotations

import base64
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.errors import MissingExtra, SpecError
from karat.models.context import current
from karat.models.encoders.base import Choice, EncoderOutput
from karat.models.governor.faults import AskError, NotAsked
from karat.models.governor.governor import Governor
from karat.models.openai.clients import connect
from karat.models.request import Message, Reply, Request, Schema

BATCH = 128  # texts a request
REQUESTS = 16  # a block


class EndpointEncoder:
    """An embedding model at the endpoint of `asking`, else `OPENAI_BASE_URL`, else OpenAI's; with `OPENAI_API_KEY`.

    It asks through the governor of `asking`. Requests that fail for one of their texts are asked again in halves: the
    others get their vectors.
    """

    max_length = None
    cross = False

    def __init__(self, choice: Choice) -> None:
        if find_spec("openai") is None:
            raise MissingExtra("openai", extra="judge", need="backend='endpoint'")
        for name in ("revision", "device", "max_length"):
            if getattr(choice, name) is not None:
                raise SpecError(f"{name} is not a setting of backend='endpoint'")
        url, key = current().base_url or os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY") or ""
        if not url and not key:
            raise SpecError(
                f"the model {choice.model!r}: set OPENAI_API_KEY, or OPENAI_BASE_URL to ask another endpoint"
            )
        url = (url or "https://api.openai.com/v1").rstrip("/")
        self.identity = f"{url}|{choice.model}|{choice.prompt or ''}"
        self._batch, self.block = choice.batch_size or BATCH, (choice.batch_size or BATCH) * REQUESTS
        self._model, self._prompt = Embeddings(url, key, str(choice.model)), choice.prompt or ""

    def encode(self, texts: Sequence[str]) -> EncoderOutput:
        """A vector for each text, NaN where the endpoint returns none."""
        governor = current().governor
        parts = [texts[start : start + self._batch] for start in range(0, len(texts), self._batch)]
        found = [row for rows in governor.map(partial(self._part, governor), parts) for row in rows]
        width = next((len(row) for row in found if not isinstance(row, AskError)), None)
        problems = [row for row in found if isinstance(row, AskError)]
        if problems:
            warnings.warn(f"{len(problems)} texts got no vector; the first: {problems[0]}", stacklevel=2)
        nothing = np.full(width or 0, np.nan, dtype=np.float32)
        rows = np.stack([nothing if isinstance(row, AskError) else row for row in found])
        return EncoderOutput(rows, np.zeros(len(texts), dtype=bool))

    async def _part(self, governor: Governor, texts: Sequence[str]) -> list[Array | AskError]:
        messages = [{"role": "user", "content": self._prompt + text} for text in texts]
        try:
            reply = await governor.ask(self._model, Request(messages, settings={"max_tokens": 0}))
        except NotAsked as error:
            return [error] * len(texts)
        except AskError as error:
            if len(texts) == 1:
                return [error]
            half = len(texts) // 2
            return [*await self._part(governor, texts[:half]), *await self._part(governor, texts[half:])]
        return [np.frombuffer(base64.b64decode(each), dtype="<f4") for each in json.loads(reply.text)]


class Embeddings:
    """The governor's model: one message a text; a reply's text is a JSON list of vectors, each the base64 of float32.

    It has no `endpoint`, by which replies would be kept: the vectors are, elsewhere.
    """

    def __init__(self, url: str, key: str, name: str) -> None:
        self._url, self._key, self._name = url, key, name
        self.__name__ = f"{name} at {url}"

    async def __call__(self, messages: Sequence[Message], _: Schema | None, __: Mapping[str, Any]) -> Reply:
        """One request."""
        client = await connect(self._url, self._key)
        texts = [message["content"] for message in messages]
        body = {"model": self._name, "input": texts, "encoding_format": "base64"}
        said = await client.post("/embeddings", cast_to=str, body=body)
        whole = json.loads(said)
        rows = sorted(whole["data"], key=lambda row: row["index"])
        if [row["index"] for row in rows] != list(range(len(texts))):
            raise UnreadableVectors(f"{len(rows)} vectors for {len(texts)} texts")
        vectors = json.dumps([_base64(row["embedding"]) for row in rows])
        return Reply(vectors, (whole.get("usage") or {}).get("prompt_tokens"), 0)


class UnreadableVectors(Exception):
    """A reply of status 200 that does not hold a vector for each text."""

    status_code = 200


def _base64(vector: str | list[float]) -> str:
    """Servers give lists of floats where they do not know the shorter form."""
    return vector if isinstance(vector, str) else base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
