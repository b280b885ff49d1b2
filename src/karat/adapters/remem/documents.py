"""REMem's metrics of retrieved documents and chunks."""

from __future__ import annotations

import json
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import log2
from typing import Any, ClassVar

import regex

from karat.adapters.remem.answers import BaseMetric, PerExample, Pooled
from karat.core.errors import RowError, SpecError

_WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")


class _RetrievalMetric(BaseMetric, ABC):
    """The common part of the metrics of documents: a score of each row at each k."""

    key: ClassVar[str]

    def calculate_metric_scores(
        self,
        gold_docs: Sequence[Sequence[str]],
        retrieved_docs: Sequence[Sequence[str]] | None = None,
        k_list: Sequence[int] = (1, 5, 10, 20),
        *,
        retrieved_chunks: Sequence[Sequence[str]] = (),
        **_: Any,
    ) -> tuple[Pooled, PerExample]:
        """The mean over all rows, rounded to four decimals, and the score of each row, at every k.

        A row without gold documents scores 0, as in REMem, and so does a table without rows. `retrieved_chunks` is
        REMem's name for `retrieved_docs`.

        Raises `RowError` for lists of unequal length, `SpecError` if `k_list` is empty or below 1.
        """
        retrieved = retrieved_chunks if retrieved_docs is None else retrieved_docs
        if len(gold_docs) != len(retrieved):
            raise RowError(f"gold_docs has {len(gold_docs)} rows, retrieved_docs has {len(retrieved)} rows")
        if not k_list or min(k_list) < 1:
            raise SpecError(f"k_list={k_list!r}: whole numbers from 1 are expected")
        keys = {k: f"{self.key}@{k}" for k in sorted(set(k_list))}
        rows = [
            dict(zip(keys.values(), self._scores(set(gold), documents, keys), strict=True))
            for gold, documents in zip(gold_docs, retrieved, strict=True)
        ]
        return {key: round(sum(row[key] for row in rows) / max(len(rows), 1), 4) for key in keys.values()}, rows

    @abstractmethod
    def _scores(self, gold: set[str], retrieved: Sequence[str], cutoffs: Iterable[int]) -> list[float]:
        """The score of one row at each k."""


class RetrievalRecall(_RetrievalMetric):
    """The share of the gold documents among the first k retrieved, as sets: a duplicate counts once.

    >>> RetrievalRecall().calculate_metric_scores([["a", "b"]], [["a", "c", "b"]], k_list=[1, 5])
    ({'Recall@1': 0.5, 'Recall@5': 1.0}, [{'Recall@1': 0.5, 'Recall@5': 1.0}])
    """

    metric_name = "retrieval_recall"
    key = "Recall"

    def _scores(self, gold: set[str], retrieved: Sequence[str], cutoffs: Iterable[int]) -> list[float]:
        return [len(gold.intersection(retrieved[:k])) / max(len(gold), 1) for k in cutoffs]


class RetrievalRecallAll(_RetrievalMetric):
    """1 if every gold document has a part among the first k retrieved chunks, else 0.

    A chunk is a part of a document whose text contains it, as it is or as JSON; a first line with `Date:` does not
    count, and of a chunk that begins with `user:` or `assistant:` only what follows it, up to the next colon with a
    space. A gold document that is listed twice counts once; in REMem its row can never score 1.

    >>> gold = [["the cat sat", "a dog ran"]]
    >>> RetrievalRecallAll().calculate_metric_scores(gold, [["user: the cat", "dog ran"]], k_list=[1, 2])[0]
    {'Recall_all@1': 0.0, 'Recall_all@2': 1.0}
    """

    metric_name = "retrieval_recall_all"
    key = "Recall_all"

    def _scores(self, gold: set[str], retrieved: Sequence[str], cutoffs: Iterable[int]) -> list[float]:
        def holds_all(chunks: Sequence[str]) -> bool:
            return bool(gold) and all(any(_is_part(chunk, document) for chunk in chunks) for document in gold)

        return [float(holds_all(retrieved[:k])) for k in cutoffs]


class RetrievalRecallLocomo(_RetrievalMetric):
    """1 if one of the first k retrieved chunks contains the text of a gold message, word for word, else 0.

    A gold document is JSON text with `messages`, of which the first one's `content` counts. Words are runs of letters,
    marks and digits, and every other visible character, in lower case after NFD, as in DPR. The keys are those of
    `RetrievalRecall`, as in REMem: a result that holds both keeps the last.

    >>> gold = [['{"messages": [{"content": "I adopted a dog!"}]}']]
    >>> RetrievalRecallLocomo().calculate_metric_scores(gold, [["Hi.", "yes, I adopted a Dog !"]], k_list=[1, 2])[0]
    {'Recall@1': 0.0, 'Recall@2': 1.0}
    """

    metric_name = "retrieval_recall_locomo"
    key = "Recall"

    def _scores(self, gold: set[str], retrieved: Sequence[str], cutoffs: Iterable[int]) -> list[float]:
        wanted = [words for document in gold if (words := _words(_first_message(document))).strip()]
        hits = [any(words in chunk for words in wanted) for chunk in map(_words, retrieved)]
        return [float(any(hits[:k])) for k in cutoffs]


def _first_message(document: str) -> str:
    try:
        text: str = json.loads(document)["messages"][0]["content"]
    except (ValueError, LookupError, TypeError):
        expected = 'JSON text such as {"messages": [{"content": "…"}]} is expected'
        raise RowError(f"a gold document is {document!r:.80}; {expected}") from None
    return text


def _words(text: str) -> str:
    """The words of a text, each between spaces."""
    matches = _WORD.finditer(unicodedata.normalize("NFD", text))
    return f" {' '.join(match.group().lower() for match in matches)} "


class RetrievalNDCGAny(_RetrievalMetric):
    """NDCG of the first k retrieved chunks; a chunk is relevant if it is a part of any gold document.

    As in REMem, ranks 1 and 2 weigh the same, and the best order is of the retrieved chunks alone: a gold document
    that was not retrieved costs nothing. `karat.metrics.ndcg` is the usual definition.

    >>> RetrievalNDCGAny().calculate_metric_scores([["the cat sat"]], [["dog", "bird", "cat"]], k_list=[2, 3])[0]
    {'NDCG_any@2': 0.0, 'NDCG_any@3': 0.6309}
    """

    metric_name = "retrieval_ndcg_any"
    key = "NDCG_any"

    def _scores(self, gold: set[str], retrieved: Sequence[str], cutoffs: Iterable[int]) -> list[float]:
        relevant = [any(_is_part(chunk, document) for document in gold) for chunk in retrieved]
        actual, ideal = (_gains(order) for order in (relevant, sorted(relevant, reverse=True)))
        return [actual[min(k, len(retrieved))] / (ideal[min(k, len(retrieved))] or 1.0) for k in cutoffs]


def _gains(relevant: Sequence[bool]) -> list[float]:
    """The discounted cumulative gain of the first 0, 1, 2, … documents."""
    gains = (hit / log2(max(rank, 2)) for rank, hit in enumerate(relevant, 1))
    return list(accumulate(gains, initial=0.0))


def _is_part(chunk: str, document: str) -> bool:
    if chunk.startswith("Date: "):
        chunk = chunk.partition("\n")[2]
    spoken = chunk.startswith(("user: ", "assistant: "))
    spellings = (text.split(": ")[1] if spoken else text for text in (chunk, json.dumps(chunk)))
    return any(text in document for text in spellings)
