"""OpenTelemetry's JSON for spans (OTLP): one document, or one per line, as collectors write them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.columns.json_text import RAW
from karat.core.errors import RowError
from karat.data.source import Source
from karat.data.storage.batches import BATCH_ROWS
from karat.data.storage.files import BatchFile, open_bytes

_HEAD = re.compile(rb'\s*\{\s*"resource_?[sS]pans"\s*:')
_TEXTS = (
    *("traceId", "spanId", "parentSpanId", "traceState", "flags", "name", "kind", "startTimeUnixNano"),
    *("endTimeUnixNano", "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"),
)
_OBJECTS = ("attributes", "events", "links", "status", "resource", "scope")
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), *((name, RAW) for name in _OBJECTS)])


def is_otlp(head: bytes) -> bool:
    """Whether a file is OTLP's JSON, by its first bytes.

    >>> is_otlp(b'{"resourceSpans": [{"resource": '), is_otlp(b'{"spans": []}')
    (True, False)
    """
    return _HEAD.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def open_otlp(path: Path, name: str) -> Source:
    """Open a file of spans in OTLP's JSON; the spans go through a temporary file.

    Attributes of spans, resources and scopes become one object each. One document at a time is in memory, so a file
    with one per line takes little. Raises `RowError`, with the line, for a document in another format.
    """
    file = BatchFile(_SCHEMA, _batches(_spans(path, name)))
    return Source(name, _SCHEMA, None, file.read)


def _batches(rows: Iterator[dict[str, str | None]]) -> Iterator[pa.RecordBatch]:
    while some := list(islice(rows, BATCH_ROWS // 4)):
        columns = [pa.array([row.get(each) for row in some], pa.string()) for each in _SCHEMA.names]
        fitted = [column.cast(kind) for column, kind in zip(columns, _SCHEMA.types, strict=True)]
        yield pa.RecordBatch.from_arrays(fitted, schema=_SCHEMA)


def _spans(path: Path, name: str) -> Iterator[dict[str, str | None]]:
    for line, document in _documents(path, name):
        try:
            for of_resource in _member(document, "resourceSpans"):
                resource = _spell(_object(of_resource.get("resource", {})))
                for of_scope in _member(of_resource, "scopeSpans"):
                    scope = _spell(_object(of_scope.get("scope", {})))
                    for span in _member(of_scope, "spans"):
                        yield _row(span) | {"resource": resource, "scope": scope}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RowError(f"{name}, line {line}: not OpenTelemetry's JSON for spans: {error!r}") from error


def _documents(path: Path, name: str) -> Iterator[tuple[int, Any]]:
    """The documents of a file and their line numbers: one per line, or the whole file."""
    with open_bytes(path) as stream:
        lines = enumerate(io.BufferedReader(stream), 1)
        for line, text in lines:
            try:
                if text.strip():
                    yield line, json.loads(text)
            except ValueError as error:
                if line > 1:
                    raise RowError(f"{name}, line {line}: {error}") from error
                break
        else:
            return
        rest = b"".join([text, *(more for _, more in lines)])
    try:
        yield 1, json.loads(rest)
    except ValueError as error:
        raise RowError(f"{name}: {error}") from error


def _member(of: dict[str, Any], name: str) -> list[Any]:
    """A list by its name in camel case, or in snake case, which some exporters write."""
    items: list[Any] = of.get(name) or of.get(re.sub("([A-Z])", r"_\1", name).lower()) or []
    return items


def _row(span: dict[str, Any]) -> dict[str, str | None]:
    fields = {_camel(key) if "_" in key else key: value for key, value in span.items()}
    events = [_object(event) for event in fields.get("events") or ()]
    links = [_object(link) for link in fields.get("links") or ()]
    texts = {name: str(fields[name]) for name in _TEXTS if fields.get(name) not in (None, "")}
    objects = {"attributes": _object(fields)["attributes"], "events": events, "links": links}
    return {**texts, **{name: _spell(held) for name, held in objects.items()}, "status": _spell(fields.get("status"))}


def _camel(key: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), key)


def _object(of: dict[str, Any]) -> dict[str, Any]:
    return of | {"attributes": {each["key"]: _value(each.get("value") or {}) for each in of.get("attributes") or ()}}


def _value(value: dict[str, Any]) -> Any:
    """The JSON value of an OTLP value, which names its type; whole numbers may come as text."""
    for kind, held in value.items():
        if kind in ("arrayValue", "array_value"):
            return [_value(each) for each in held.get("values") or ()]
        if kind in ("kvlistValue", "kvlist_value"):
            return {each["key"]: _value(each.get("value") or {}) for each in held.get("values") or ()}
        return int(held) if kind in ("intValue", "int_value") else held
    return None


def _spell(value: Any) -> str | None:
    return None if value is None else _ENCODER.encode(value)
