"""Open any source of rows: a path, a glob pattern, standard input or a frame.

The reader of a format is imported when a file of that format is opened.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from karat.core.columns.ids import is_spans
from karat.core.errors import DataError
from karat.data.formats.validate import validate_source
from karat.data.roles import Side
from karat.data.source import Source
from karat.data.storage.addresses import hide_secrets, is_address
from karat.data.storage.file_names import check_form, sniff, split_name
from karat.data.storage.files import TemporaryFile, check_whole, find_file, read_head, spool, spool_stdin
from karat.data.storage.stores import name_errors

if TYPE_CHECKING:
    from karat.data.spans.source import Spans

_OF_LOGS = {"doc", "__doc__", "doc_id", "testCase", "info"}
"""Columns of which one is in each log that `complete_log` completes."""


def open_source(data: Any, *, where: str | None = None, limit: int | None = None, role: Side = "prediction") -> Source:
    """Open rows from a file, several files or a frame.

    `data` is a path, `-` for standard input, a glob pattern such as `runs/*.jsonl` (files in sorted order, with the
    columns of all), an address such as `s3://bucket/runs/*.parquet` (`gs://`, `az://`, `hf://`, `https://`; an address
    that ends in `/` is all data files of a folder), a list of dicts, a dict of columns, a frame with
    `__arrow_c_stream__` (pandas, polars, DuckDB, Arrow, Hugging Face datasets), or a dict of dicts: scores or grades of
    documents by query. The format of a file (JSON Lines, JSON, CSV, TSV, Parquet, Arrow IPC, each also `.gz` or `.zst`)
    follows from its extension, else from its first bytes, as for TREC's runs and qrels. Text is never re-typed: in CSV
    every cell is text; in JSON a column with values of several types comes as JSON text (`RAW`).

    `where` is an SQL condition that filters the rows, `limit` the largest number of rows. `role` says whether the
    values of an `{id: answer}` document are predictions or references.

    Raises `DataError` or a subclass, with file, line and column.

    >>> source = open_source([{"id": "007", "answer": "1e3"}], where="id = '007'")
    >>> [batch.to_pylist() for batch in source.batches()]
    [[{'id': '007', 'answer': '1e3'}]]
    """
    source = data if isinstance(data, Source) else _open_rows(data, role)
    if source is not data and is_spans(source.schema.names):
        from karat.data.spans.source import open_spans  # noqa: PLC0415

        source = open_spans(source)
    if not _OF_LOGS.isdisjoint(source.schema.names):
        from karat.data.formats.logs.complete import complete_log  # noqa: PLC0415

        source = complete_log(source)
    if where is None and limit is None:
        return source
    from karat.data.filter import filter_rows  # noqa: PLC0415

    return filter_rows(source, where, limit)


def spans(data: Any, kind: str | None = None, since: str | datetime | None = None) -> Spans:
    """Read spans from a file or a frame, with their questions, predictions and contexts as further columns.

    Adds the columns `question`, `prediction`, `contexts` (texts), `retrieved` (ids), `retrieved_scores`, `span_id`,
    `trace_id`, `parent_id`, `span_kind` and `start_time` (UTC). `karat.score` takes the result; as it has
    `__arrow_c_stream__`, so does any data frame library. Attributes follow OpenInference, OpenTelemetry's conventions
    for GenAI, or TruLens; they may be nested, JSON text, or flat columns. `kind` keeps the spans of one kind (`LLM`,
    `RETRIEVER`, `CHAIN`, …), `since` those that started at or after a time: a `datetime`, ISO text (UTC if it names no
    time zone), or a duration before now (`30m`, `2h`, `3d`).

    The question of an LLM span is its last user message, its prediction the last assistant message. For other spans
    these are the span's input and output. The contexts of a retriever are its documents. A root span that is a chain or
    an agent has the documents of the outermost retrievers below it, in the order in which these started.

    Raises `DataError` if the data are not spans, if no span is of the kind, or if `since` is not a time.

    >>> from karat.data.open import spans
    >>> rows = [{"span_id": "a", "trace_id": "t", "span_kind": "LLM", "attributes.output.value": "Paris"}]
    >>> spans(rows, kind="LLM").kinds
    {'LLM': 1}
    """
    from karat.data.spans.source import Spans  # noqa: PLC0415

    source = open_source(data)
    if not isinstance(source, Spans):
        raise DataError(
            f"{source.name} does not hold spans: expected ids of spans and traces (context.span_id, context.trace_id) "
            f"and attributes, found the columns {', '.join(source.schema.names)}"
        )
    return source.filter(kind, since)


def _open_rows(data: Any, role: Side) -> Source:
    if not isinstance(data, (str, PathLike)):
        from karat.data.formats.frames import open_frame  # noqa: PLC0415

        return validate_source(open_frame(data), checked=False)
    if data == "-":
        return _open_copy(spool_stdin(), "standard input", role)
    if is_address(data):
        return _open_addresses(str(data), role)
    path = Path(data)
    if glob.has_magic(str(path)) and not path.exists():
        if not (paths := sorted(glob.glob(str(path), recursive=True))):  # noqa: PTH207
            raise DataError(f"{path}: no file matches this pattern")
        return _unite(str(path), [_open_file(Path(one), one, role) for one in paths])
    return _open_file(path, str(path), role)


def _open_copy(copy: TemporaryFile, name: str, role: Side) -> Source:
    source = _open_file(Path(copy.name), name, role)

    def read(_kept: Any = copy) -> Iterator[pa.RecordBatch]:
        yield from source.read()

    return replace(source, read=read)


def _open_addresses(address: str, role: Side) -> Source:
    """Open the files at an address: Parquet is read by ranges, other formats from copies in temporary files."""
    from karat.data.storage.remote_files import REQUESTS, FileId, list_files, open_file  # noqa: PLC0415  (seldom)

    def fetch(file: FileId) -> Source | TemporaryFile:
        if not file.size:
            raise DataError(f"{file.name} is empty; expected rows")
        with name_errors(file.name), open_file(file.path) as stream:
            kind, compression = split_name(file.path)
            if not compression and (kind or sniff(stream.read(4))) == "parquet":
                from karat.data.formats.columnar import open_parquet  # noqa: PLC0415

                return validate_source(open_parquet(file.path, file.name), checked=False)
            stream.seek(0)
            return spool(stream, "".join(PurePosixPath(file.name).suffixes[-2:]), file.size)

    files = list_files(address)
    with ThreadPoolExecutor(REQUESTS) as pool:
        fetched = list(pool.map(fetch, files))
    sources = [
        each if isinstance(each, Source) else _open_copy(each, file.name, role)
        for file, each in zip(files, fetched, strict=True)
    ]
    return _unite(hide_secrets(address), sources)


def _unite(name: str, sources: list[Source]) -> Source:
    if len(sources) == 1:
        return sources[0]
    from karat.data.formats.union import unite_sources  # noqa: PLC0415

    return validate_source(unite_sources(name, sources), checked=True)


def _open_file(path: Path, name: str, role: Side) -> Source:
    find_file(path)
    head = read_head(path)
    if not head:
        raise DataError(f"{name} is empty; expected rows")
    check_form(name, kind := split_name(path)[0], head)
    if head.startswith(b"\0"):
        raise DataError(f"{name} starts with a zero byte, as no file of rows does; expected text, Parquet or Arrow")
    kind = kind or _guess(head)
    if kind == "tsv":
        from karat.data.retrieval.trec import lacks_header  # noqa: PLC0415

        kind = _guess(head) if lacks_header(head) else kind
    is_text = kind not in ("parquet", "arrow")
    with name_errors(name):
        if is_text and kind != "jsonl":  # which its reader checks
            check_whole(path, name, in_lines=kind in ("csv", "tsv", "run", "qrels"))
        return validate_source(_open_format(path, name, kind, role), checked=is_text)  # its readers check UTF-8


def _guess(head: bytes) -> str:
    """The format that the first bytes of a file show."""
    from karat.data.retrieval.trec import find_layout  # noqa: PLC0415

    return find_layout(head) or sniff(head)


def _open_format(path: Path, name: str, kind: str, role: Side) -> Source:
    if kind in ("jsonl", "json"):
        from karat.data.formats.logs.openai_evals import is_openai_evals, open_openai_evals  # noqa: PLC0415
        from karat.data.spans.otlp import is_otlp, open_otlp  # noqa: PLC0415

        head = read_head(path)
        if (otlp := is_otlp(head)) or is_openai_evals(head):
            check_whole(path, name, in_lines=kind == "jsonl")
            return open_otlp(path, name) if otlp else open_openai_evals(path, name)
    if kind == "jsonl":
        from karat.data.formats.json import open_json_rows  # noqa: PLC0415

        return open_json_rows(path, name, "newline_delimited")
    if kind == "json":
        from karat.data.formats.documents import open_document  # noqa: PLC0415

        return open_document(path, name, role)
    if kind in ("csv", "tsv"):
        from karat.data.formats.csv import open_delimited  # noqa: PLC0415
        from karat.data.formats.logs.promptfoo import is_promptfoo, open_promptfoo  # noqa: PLC0415

        if is_promptfoo(read_head(path)):
            return open_promptfoo(path, name)
        return open_delimited(path, name, kind)
    if kind == "inspect":
        from karat.data.formats.logs.inspect import open_inspect  # noqa: PLC0415

        return open_inspect(path, name)
    if kind in ("run", "qrels"):
        from karat.data.retrieval.trec import open_trec  # noqa: PLC0415

        return open_trec(path, name, kind)
    from karat.data.formats.columnar import open_columnar  # noqa: PLC0415

    return open_columnar(path, name, kind)
