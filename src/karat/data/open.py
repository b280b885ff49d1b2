"""Open any source of rows by what it is: a path, a glob, standard input, a frame."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.errors import DataError
from karat.data.filter import filter_rows
from karat.data.formats.columnar import open_columnar
from karat.data.formats.csv import open_delimited
from karat.data.formats.documents import open_document
from karat.data.formats.frames import open_frame
from karat.data.formats.logs import open_inspect
from karat.data.formats.union import unite_sources
from karat.data.json.reader import open_json_rows
from karat.data.retrieval.trec import find_layout, lacks_header, open_trec
from karat.data.roles import Side, is_spans
from karat.data.source import Source
from karat.data.spans.otlp import is_otlp, open_otlp
from karat.data.spans.source import Spans, open_spans
from karat.data.storage.file_names import sniff, split_name
from karat.data.storage.files import find_file, read_head, spool_stdin
from karat.data.storage.validate import name_errors, validate_source


def open_source(data: Any, *, where: str | None = None, limit: int | None = None, role: Side = "prediction") -> Source:
    """Open rows from a file, several files or a frame.

    `data` is a path, `-` for standard input, a glob such as `runs/*.jsonl` (in sorted order, columns united), a
    list of dicts, a dict of columns, or a frame with `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow, Hugging
    Face datasets), or dicts in a dict: documents' scores or grades by query. Files: JSON Lines, JSON, CSV, TSV, Parquet
    and Arrow IPC by extension, each also `.gz` or `.zst`; where the extension tells nothing, by the first bytes, as are
    TREC's runs and qrels.

    `where` keeps the rows for which an SQL condition holds, `limit` the first rows of these. `role` says what the
    values of a `{id: answer}` document are.

    Text is never re-typed: in CSV every cell is text and an empty one is `""`; in JSON a string stays a string, and a
    column that holds several kinds of values comes as their JSON text (`RAW`).

    Raises `DataError` and its kinds, naming file, line and column.

    >>> source = open_source([{"id": "007", "answer": "1e3"}], where="id = '007'")
    >>> [batch.to_pylist() for batch in source.batches()]
    [[{'id': '007', 'answer': '1e3'}]]
    """
    source = _open(data, role)
    return source if where is None and limit is None else filter_rows(source, where, limit)


def spans(data: Any, kind: str | None = None, since: str | datetime | None = None) -> Spans:
    """Spans from a file or a frame: what was asked, said and retrieved in each, beside the columns they have.

    The columns `question`, `prediction`, `contexts` (texts), `retrieved` (ids), `retrieved_scores`, `span_id`,
    `trace_id`, `parent_id`, `span_kind` and `start_time` (UTC) are added; `karat.score` takes what comes, and as every
    frame does it has `__arrow_c_stream__`. Attributes are OpenInference's, OpenTelemetry's for GenAI or TruLens's,
    nested, as JSON text, or flat columns. `kind` keeps the spans of a kind (`LLM`, `RETRIEVER`, `CHAIN`, …), `since`
    those that started at or after a time (a `datetime` or ISO text, UTC where it names no zone) or so long ago (`30m`,
    `2h`, `3d`).

    An LLM span asks its last user message and says its last assistant message; other spans' input is what they ask and
    their output what they say. A retriever's documents are its contexts; a root that is a chain or an agent has those
    of the outermost retrievers below it, in the order in which these started.

    Raises `DataError` for what are no spans, for a kind that none of them is of, and for a time that is none.

    >>> from karat.data.open import spans
    >>> rows = [{"span_id": "a", "trace_id": "t", "span_kind": "LLM", "attributes.output.value": "Paris"}]
    >>> spans(rows, kind="LLM").kinds
    {'LLM': 1}
    """
    source = open_source(data)
    if not isinstance(source, Spans):
        raise DataError(
            f"{source.name}: no spans: ids of spans and traces (context.span_id, context.trace_id) and attributes are "
            f"expected, the columns are {', '.join(source.schema.names)}"
        )
    return source.only(kind, since)


def _open(data: Any, role: Side) -> Source:
    if isinstance(data, Source):
        return data
    source = _open_plain(data, role)
    return open_spans(source) if is_spans(source.schema.names) else source


def _open_plain(data: Any, role: Side) -> Source:
    if not isinstance(data, (str, PathLike)):
        return validate_source(open_frame(data), checked=False)
    if data == "-":
        file = spool_stdin()
        source = _open_file(Path(file.name), "standard input", role)

        def read(text: frozenset[str], _kept: Any = file) -> Iterator[pa.RecordBatch]:
            return source.read(text)

        return replace(source, read=read)
    path = Path(data)
    if glob.has_magic(str(path)) and not path.exists():
        found = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
        if not found:
            raise DataError(f"{path}: no file fits this pattern")
        return validate_source(
            unite_sources(str(path), [_open_file(Path(one), one, role) for one in found]), checked=True
        )
    return _open_file(path, str(path), role)


def _open_file(path: Path, name: str, role: Side) -> Source:
    find_file(path)
    head = read_head(path)
    if not head:
        raise DataError(f"{name} is empty; expected rows")
    kind = split_name(path)[0]
    if kind is None or (kind == "tsv" and lacks_header(head)):
        kind = find_layout(head) or sniff(head)
    with name_errors(name):  # whoever reads JSON or CSV decodes it
        return validate_source(_open_format(path, name, kind, role), checked=kind not in ("parquet", "arrow"))


def _open_format(path: Path, name: str, kind: str, role: Side) -> Source:
    if kind in ("jsonl", "json") and is_otlp(read_head(path)):
        return open_otlp(path, name)
    if kind == "jsonl":
        return open_json_rows(path, name, "newline_delimited")
    if kind == "json":
        return open_document(path, name, role)
    if kind in ("csv", "tsv"):
        return open_delimited(path, name, kind)
    if kind == "inspect":
        return replace(open_inspect(path, name), name=name)
    if kind in ("run", "qrels"):
        return open_trec(path, name, kind)
    return open_columnar(path, name, kind)
