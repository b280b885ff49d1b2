"""A model that runs here: texts become tokens, tokens of like length become batches, and a network reads these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.models.encoders.open import Made, Pair

Feed: TypeAlias = dict[str, Array]
"""What a network reads: `input_ids`, `attention_mask` and `token_type_ids`, int64 of shape (batch, tokens)."""

USUAL = 64  # tokens; of longer texts a batch holds fewer


class Network(Protocol):
    """A model without its tokenizer."""

    batch_size: int
    """Texts of `USUAL` tokens that it reads at a time."""
    block: int

    def sentences(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        """The vectors of each batch, float32 of shape (batch, d)."""

    def tokens(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        """The vectors of the tokens of each batch, float32 of shape (batch, tokens, d)."""

    def labels(self, feeds: Iterable[Feed]) -> Iterator[Array]:
        """What the model says of each pair of each batch, float32 of shape (batch, labels), before any activation."""


@dataclass
class LocalEncoder:
    """A tokenizer and a network. One thread at a time uses it; the others wait."""

    network: Network
    tokenizer: Any
    limit: int | None
    identity: str
    prompt: str
    padding: int
    """The id that fills a batch where its texts are shorter."""
    cross: bool

    def __post_init__(self) -> None:
        self._lock = Lock()
        self.tokenizer.no_padding()
        if self.limit is None:
            self.tokenizer.no_truncation()
        else:
            self.tokenizer.enable_truncation(self.limit)

    @property
    def block(self) -> int:
        """Items that it takes well at a time."""
        return self.network.block

    def encode(self, texts: Sequence[str]) -> Made:
        """A vector for each text."""
        return self._run(self._prompted(texts), self.network.sentences)

    def score(self, pairs: Sequence[Pair]) -> Made:
        """What a cross-encoder says of each pair, which does not depend on the other pairs: its logits."""
        return self._run(pairs, self.network.labels)

    def encode_tokens(self, texts: Sequence[str]) -> list[tuple[Array, Array, bool]]:
        """For each text the vectors of its tokens, which of these are the text's own, and whether it was cut."""
        with self._lock:
            read = self.tokenizer.encode_batch(self._prompted(texts))
            batches = list(self._batches([len(each.ids) for each in read]))
            found: list[Any] = [None] * len(texts)
            for places, vectors in zip(batches, self.network.tokens(self._feeds(read, batches)), strict=True):
                for place, whole in zip(places, vectors, strict=True):
                    own = np.array(read[place].special_tokens_mask) == 0
                    found[place] = whole[: len(own)].copy(), own, bool(read[place].overflowing)
            return found

    def _prompted(self, texts: Sequence[str]) -> list[str]:
        return [self.prompt + text for text in texts] if self.prompt else list(texts)

    def _run(self, items: Sequence[Any], network: Callable[[Iterable[Feed]], Iterator[Array]]) -> Made:
        with self._lock:
            read = self.tokenizer.encode_batch(list(items))
            batches = list(self._batches([len(each.ids) for each in read]))
            rows: Array | None = None
            for places, made in zip(batches, network(self._feeds(read, batches)), strict=True):
                if rows is None:
                    rows = np.empty((len(read), made.shape[1]), dtype=np.float32)
                rows[places] = made
            cut = np.fromiter((bool(each.overflowing) for each in read), dtype=bool, count=len(read))
            return Made(np.empty((0, 0), np.float32) if rows is None else rows, cut)

    def _batches(self, lengths: Sequence[int]) -> Iterator[Array]:
        """Which items go together: those of like length, as many as their tokens allow; the longest first."""
        order = np.argsort(-np.asarray(lengths), kind="stable")
        start, room = 0, self.network.batch_size * USUAL
        while start < len(order):
            fits = min(self.network.batch_size, max(1, room // max(1, lengths[order[start]])))
            yield order[start : start + fits]
            start += fits

    def _feeds(self, read: Sequence[Any], batches: Iterable[Array]) -> Iterator[Feed]:
        for places in batches:
            longest = max(len(read[place].ids) for place in places)
            feed = {
                "input_ids": np.full((len(places), longest), self.padding, dtype=np.int64),
                "attention_mask": np.zeros((len(places), longest), dtype=np.int64),
                "token_type_ids": np.zeros((len(places), longest), dtype=np.int64),
            }
            for row, place in enumerate(places):
                ids = read[place].ids
                feed["input_ids"][row, : len(ids)] = ids
                feed["attention_mask"][row, : len(ids)] = 1
                feed["token_type_ids"][row, : len(ids)] = read[place].type_ids
            yield feed
