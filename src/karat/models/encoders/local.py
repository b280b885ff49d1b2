"""Encoders that run in this process: a tokenizer, batches of texts of similar length, and a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.models.encoders.encoder import Choice, EncoderOutput, Pair
from karat.models.encoders.files import ModelFiles

Feed: TypeAlias = dict[str, Array]
"""The input of a network: `input_ids`, `attention_mask` and `token_type_ids`, int64 of shape (batch, tokens)."""

FEED_NAMES = ("input_ids", "attention_mask", "token_type_ids")
TYPICAL_LENGTH = 64  # tokens; a batch holds fewer texts if they are longer


class Network(Protocol):
    """A model without its tokenizer."""

    batch_size: int
    """Texts of `TYPICAL_LENGTH` tokens in one batch."""
    block: int
    """How many texts to pass in one call for full speed."""

    def sentences(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        """The vectors of each batch, float32 of shape (batch, d)."""

    def tokens(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        """The vectors of the tokens of each batch, float32 of shape (batch, tokens, d)."""

    def labels(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        """The logits of each batch of pairs, float32 of shape (batch, labels)."""


@dataclass
class LocalEncoder:
    """A tokenizer and a network. Only one thread at a time can use it; the others wait."""

    network: Network
    tokenizer: Any
    max_length: int | None
    identity: str
    prompt: str
    padding: int
    """The id of the padding token."""
    cross: bool
    labels: tuple[str, ...] = ()
    """What the numbers that a cross-encoder returns for a pair stand for."""

    def __post_init__(self) -> None:
        self._lock = Lock()
        self.tokenizer.no_padding()
        if self.max_length is None:
            self.tokenizer.no_truncation()
        else:
            self.tokenizer.enable_truncation(self.max_length)

    @property
    def block(self) -> int:
        """How many items to pass in one call for full speed."""
        return self.network.block

    def encode(self, texts: Sequence[str]) -> EncoderOutput:
        """A vector for each text."""
        return self._run(self._add_prompt(texts), self.network.sentences)

    def score(self, pairs: Sequence[Pair]) -> EncoderOutput:
        """The logits of a cross-encoder for each pair. They do not depend on the other pairs."""
        return self._run(pairs, self.network.labels)

    def encode_tokens(self, texts: Sequence[str]) -> list[tuple[Array, Array, bool]]:
        """For each text: the vectors of its tokens, which of these are not special tokens, whether it was truncated."""
        with self._lock:
            encodings = self.tokenizer.encode_batch(self._add_prompt(texts))
            batches = list(self._batches([len(each.ids) for each in encodings]))
            results: list[Any] = [None] * len(texts)
            for places, vectors in zip(batches, self.network.tokens(self._feeds(encodings, batches)), strict=True):
                for place, padded in zip(places, vectors, strict=True):
                    own = np.array(encodings[place].special_tokens_mask) == 0
                    results[place] = padded[: len(own)].copy(), own, bool(encodings[place].overflowing)
            return results

    def token_ends(self, texts: Sequence[str]) -> list[list[int]]:
        """For each text, where each of its tokens ends in it; special tokens are not counted, and nothing is cut."""
        with self._lock:
            self.tokenizer.no_truncation()
            try:
                encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
            finally:
                if self.max_length is not None:
                    self.tokenizer.enable_truncation(self.max_length)
            return [[end for _, end in each.offsets] for each in encodings]

    def room(self, tokens: int) -> int | None:
        """How many tokens the model reads of a text beside one of so many tokens; None: not limited."""
        special = self.tokenizer.num_special_tokens_to_add(is_pair=True)
        return None if self.max_length is None else self.max_length - special - tokens

    def _add_prompt(self, texts: Sequence[str]) -> list[str]:
        return [self.prompt + text for text in texts] if self.prompt else list(texts)

    def _run(self, items: Sequence[Any], network: Callable[[Iterable[Feed]], Iterator[Array]]) -> EncoderOutput:
        with self._lock:
            encodings = self.tokenizer.encode_batch(list(items))
            batches = list(self._batches([len(each.ids) for each in encodings]))
            rows = np.empty((0, 0), np.float32)
            for places, output in zip(batches, network(self._feeds(encodings, batches)), strict=True):
                if not len(rows):
                    rows = np.empty((len(encodings), output.shape[1]), dtype=np.float32)
                rows[places] = output
            return EncoderOutput(rows, np.array([bool(each.overflowing) for each in encodings], dtype=bool))

    def _batches(self, lengths: Sequence[int]) -> Iterator[Array]:
        """The items of each batch: of similar length, as many as their tokens allow, the longest first."""
        order = np.argsort(-np.asarray(lengths), kind="stable")
        start, room = 0, self.network.batch_size * TYPICAL_LENGTH
        while start < len(order):
            size = min(self.network.batch_size, max(1, room // max(1, lengths[order[start]])))
            yield order[start : start + size]
            start += size

    def _feeds(self, encodings: Sequence[Any], batches: Iterable[Array]) -> Iterator[Feed]:
        for places in batches:
            longest = max(len(encodings[place].ids) for place in places)
            feed = {name: np.zeros((len(places), longest), dtype=np.int64) for name in FEED_NAMES}
            feed["input_ids"][:] = self.padding
            for row, place in enumerate(places):
                ids = encodings[place].ids
                feed["input_ids"][row, : len(ids)] = ids
                feed["attention_mask"][row, : len(ids)] = 1
                feed["token_type_ids"][row, : len(ids)] = encodings[place].type_ids
            yield feed


def local_encoder(
    network: Network, tokenizer: Any, padding: int, files: ModelFiles, choice: Choice, engine: str
) -> LocalEncoder:
    """The encoder of a loaded model; `engine` says what runs it. `SpecError` for settings that the model lacks."""
    max_length, prompt = files.max_length(choice.max_length), files.prompt(choice.prompt)
    identity = f"{files.identity}|{engine}|{max_length}|{prompt}"
    return LocalEncoder(network, tokenizer, max_length, identity, prompt, padding, files.cross, files.labels)
