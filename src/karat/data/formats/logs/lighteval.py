"""Details of lighteval: the golds, which are the choices at an index, and the most likely choice as the answer."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from karat.data.formats.logs.choices import choose, most_likely
from karat.data.formats.logs.rows import add_columns, records
from karat.data.source import Source

_DOCS = {"doc": "model_response", "__doc__": "__model_response__"}
"""The columns of samples and of answers, in both spellings of versions from 0.10."""


def is_lighteval(source: Source) -> bool:
    """Whether a table has the columns of lighteval's details, and not yet their golds."""
    doc = _find_doc(source.schema)
    if doc is None or "references" in source.schema.names:
        return False
    docs = [row[doc] for row in records(source.first, (doc,))]
    return any(isinstance(each, dict) and {"choices", "gold_index"} <= each.keys() for each in docs)


def _find_doc(schema: pa.Schema) -> str | None:
    return next((doc for doc, answer in _DOCS.items() if {doc, answer}.issubset(schema.names)), None)


def add_golds(source: Source) -> Source:
    """The source with a further column `references`: the choices at `gold_index`, which is a number or several.

    Where samples have no text but a likelihood for each choice, the most likely choice is a column `prediction`.

    >>> from karat.data.formats.frames import open_frame
    >>> doc = {"query": "2+2?", "choices": ["5", "4"], "gold_index": [1]}
    >>> [batch] = add_golds(open_frame([{"doc": doc, "model_response": {"text": ["4"]}}])).batches()
    >>> batch.column("references").to_pylist()
    [['4']]
    """
    doc = _find_doc(source.schema) or ""
    names = (doc, _DOCS[doc])
    types = {"references": pa.list_(pa.string())}
    if "prediction" not in source.schema.names and any(
        _most_likely(*row.values()) for row in records(source.first, names)
    ):
        types["prediction"] = pa.string()
    return add_columns(source, "lighteval", names, partial(_read_row, answers="prediction" in types), **types)


def _read_row(row: dict[str, Any], *, answers: bool) -> tuple[Any, ...]:
    doc, response = (each or {} for each in row.values())
    golds = choose(doc.get("choices"), doc.get("gold_index"))
    return (golds, _most_likely(doc, response) or _text(response)) if answers else (golds,)


def _most_likely(doc: dict[str, Any], response: dict[str, Any]) -> str | None:
    return None if _text(response) else most_likely(doc.get("choices") or (), response.get("logprobs"))


def _text(response: dict[str, Any]) -> str | None:
    texts: list[str | None] = response.get("text_post_processed") or response.get("text") or [None]
    return texts[0]
