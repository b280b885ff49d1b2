"""Details of lighteval: the golds of a sample, which are the choices that an index names, as a column `references`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from karat.data.source import Source

_DOCS = {"doc": "model_response", "__doc__": "__model_response__"}
"""The columns of samples and of answers, in both spellings of versions from 0.10."""


def is_lighteval(schema: pa.Schema) -> bool:
    """Whether a table has the columns of lighteval's details, and not yet their golds."""
    return _find_doc(schema) is not None and "references" not in schema.names


def _find_doc(schema: pa.Schema) -> str | None:
    docs = (doc for doc, answer in _DOCS.items() if {doc, answer}.issubset(schema.names))
    fields = ((doc, schema.field(doc).type) for doc in docs)
    needed = {"choices", "gold_index"}
    return next((doc for doc, kind in fields if pa.types.is_struct(kind) and needed <= {f.name for f in kind}), None)


def add_golds(source: Source) -> Source:
    """The source with a further column `references`: the choices at `gold_index`, which is a number or several.

    >>> from karat.data.formats.frames import open_frame
    >>> doc = {"query": "2+2?", "choices": ["5", "4"], "gold_index": [1]}
    >>> [batch] = add_golds(open_frame([{"doc": doc, "model_response": {"text": ["4"]}}])).batches()
    >>> batch.column("references").to_pylist()
    [['4']]
    """
    doc = _find_doc(source.schema) or ""
    schema = source.schema.append(pa.field("references", pa.list_(pa.string())))

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        for batch in source.read(text):
            choices, golds = (batch.column(doc).field(name).to_pylist() for name in ("choices", "gold_index"))
            cells = [_choose(each, gold) for each, gold in zip(choices, golds, strict=True)]
            yield pa.RecordBatch.from_arrays([*batch.columns, pa.array(cells, schema.types[-1])], schema=schema)

    return replace(source, schema=schema, read=read, parts=(), tool="lighteval")


def _choose(choices: list[str] | None, gold: int | list[int] | None) -> list[str] | None:
    golds = gold if isinstance(gold, list) else [gold]
    if not choices or any(at is None or not -len(choices) <= at < len(choices) for at in golds):
        return None
    return [choices[at] for at in golds if at is not None]
