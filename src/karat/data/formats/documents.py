"""Whole JSON documents: arrays of rows, SQuAD's layout, logs of other tools, answers by id, columns."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from karat.core.columns.json_text import value_at
from karat.core.errors import DataError, RowError
from karat.data.formats.frames import is_by_column, is_by_query, open_frame
from karat.data.formats.json import open_json_rows
from karat.data.formats.logs.helm import helm_rows, is_helm
from karat.data.formats.logs.inspect import inspect_document, is_inspect
from karat.data.formats.logs.mlflow import find_traces, read_trace
from karat.data.formats.logs.ragas import is_ragas, ragas_rows
from karat.data.formats.logs.rows import check_rows
from karat.data.json.explain import explain_errors, reject_duplicates
from karat.data.roles import Side, find_layout, is_known_name, read_tools
from karat.data.source import Source
from karat.data.storage.file_names import BOM
from karat.data.storage.files import open_bytes, read_head

_LARGEST = 256 << 20
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_LAYOUTS = (
    "an array of objects, JSON Lines, SQuAD's {data: [{paragraphs: [{qas: …}]}]}, {id: answer}, {id: [answers]}, "
    "{id: {column: value}}, {column: [values]}, {column: {number: value}}, "
    "{columns: […], data: [[…]]}, {query: {document: number}} or an object "
    "with one list of rows in it"
)


def open_document(path: Path, name: str, role: Side) -> Source:
    """Open a `.json` file by its layout.

    An array of objects, and JSON Lines, are rows. An object is SQuAD's layout, a log of another tool (Inspect, HELM,
    promptfoo, DeepEval, Every Eval Ever, annotations of ragas), a table of pandas or MLflow, columns or a single row
    (if a key is a known column name), numbers of documents by query, answers or rows by id, or holds one list of rows.
    Raises `DataError`, with the layouts, for any other object.
    """
    head = read_head(path).removeprefix(BOM).lstrip()
    if head.startswith(b"["):
        return open_json_rows(path, name, "array")
    if _is_lines(path):
        return open_json_rows(path, name, "newline_delimited")
    with open_bytes(path) as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        remedy = "write its rows as JSON Lines, one object a line"
        raise DataError(f"{name}: a JSON document of more than {_LARGEST >> 20} MB, which is held in memory; {remedy}")
    with explain_errors(path, name, "array"):
        document = json.loads(content.decode("utf-8-sig"), object_pairs_hook=reject_duplicates)
    if _is_row(document):
        return open_json_rows(path, name, "unstructured")
    return replace(_read_object(document, name, role), name=name)


def _is_lines(path: Path) -> bool:
    """Whether the first line is complete JSON and more lines follow: JSON Lines."""
    with open_bytes(path) as stream:
        first, _, second = bytes(stream.read(1 << 20)).decode("utf-8-sig", "replace").lstrip().partition("\n")
    with suppress(ValueError, RecursionError):
        json.loads(first)
        return bool(second.strip())
    return False


def _is_row(document: Any) -> bool:
    """Whether an object is a single row: a tool's, or one with a known column name whose values are not all lists."""
    return (
        isinstance(document, dict)
        and _names_roles(document)
        and not all(isinstance(value, list) for value in document.values())
        and not is_by_column(document)
        and not is_inspect(document)
        and not any(_rows_at(document, path) for path in _places())
    )


def _names_roles(row: dict[str, Any]) -> bool:
    """Whether an object has a known column name, or the columns of a known tool."""
    return any(map(is_known_name, row)) or find_layout(row) is not None


def _places() -> dict[str, str]:
    """Where documents of other tools have their rows, and which tools."""
    return {path: tool["tool"] for tool in read_tools().values() for path in tool.get("rows_at", ())}


def _rows_at(document: Any, path: str) -> list[dict[str, Any]]:
    """The rows at a path in a document: a list of objects, or the rows of all members (`*`); [] if there are none."""
    value = value_at(document, path.removesuffix(".*"))
    if path.endswith(".*") and isinstance(value, dict):
        value = list(chain.from_iterable(each for each in value.values() if isinstance(each, list)))
    is_rows = isinstance(value, list) and all(isinstance(row, dict) for row in value)
    return value if is_rows else []


def _read_object(document: Any, name: str, role: str) -> Source:
    if not isinstance(document, dict) or not document:
        raise DataError(f"{name}: expected {_LAYOUTS}")
    if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
        return _open_frame(name, list(_split_rows(document["columns"], document["data"], name)))
    if any("paragraphs" in article for article in _rows_at(document, "data")):
        return _open_frame(name, list(_squad(document["data"], name)))
    if is_by_query(document) or is_by_column(document):
        return _open_frame(name, document)
    if (log := _read_log(document, name)) is not None:
        return log
    if all(isinstance(row, dict) and _names_roles(row) for row in document.values()):
        return _open_frame(name, [{"id": key, **row} for key, row in document.items()])
    lists = [isinstance(value, list) for value in document.values()]
    if all(lists) and _names_roles(document):
        return _open_frame(name, document)
    if all(isinstance(value, str) for value in document.values()):
        return _by_id(document, pa.string(), role, name)
    if all(lists) and all(isinstance(item, str) for value in document.values() for item in value):
        return _by_id(document, pa.list_(pa.string()), "references", name)
    tables = [rows for key in document if (rows := _rows_at(document, key))]
    if len(tables) == 1:
        return _open_frame(name, tables[0])
    key, value = next((key, value) for key, value in document.items() if not isinstance(value, str))
    raise DataError(f"{name}: expected {_LAYOUTS}, but {key!r} holds {type(value).__name__}")


def _read_log(document: dict[str, Any], name: str) -> Source | None:
    """The rows of another tool's document, None if it is not such a document."""
    logs = (
        ("Inspect", is_inspect, partial(inspect_document, name=name)),
        ("HELM", is_helm, partial(helm_rows, name=name)),
        ("ragas", is_ragas, ragas_rows),
        ("MLflow", find_traces, lambda document: map(read_trace, find_traces(document))),
    )
    for tool, is_log, rows in logs:
        if is_log(document):
            return replace(_open_frame(name, list(check_rows(rows(document), name, tool))), tool=tool)
    tables = ((tool, _rows_at(document, path)) for path, tool in _places().items())
    return next((replace(_open_frame(name, rows), tool=tool) for tool, rows in tables if rows), None)


def _open_frame(name: str, rows: Any) -> Source:
    """Rows of a file as a source; an error names the file."""
    try:
        return open_frame(rows)
    except DataError as error:
        raise type(error)(f"{name}, {error}") from error


def _by_id(answers: dict[str, Any], kind: pa.DataType, column: str, name: str) -> Source:
    return _open_frame(name, {"id": pa.array(answers, pa.string()), column: pa.array(answers.values(), kind)})


def _split_rows(columns: list[Any], data: list[Any], name: str) -> Iterator[dict[str, Any]]:
    """The rows of a table with its columns apart, as pandas (`orient="split"`) and MLflow write it."""
    for number, cells in enumerate(data, 1):
        if not isinstance(cells, list) or len(cells) != len(columns):
            raise RowError(f"{name}, row {number}: expected {len(columns)} values, one for each of `columns`")
        yield dict(zip(map(str, columns), cells, strict=True))


def _squad(articles: list[Any], name: str) -> Iterator[dict[str, Any]]:
    """The questions of SQuAD's layout, with the answers that the official script of that version accepts."""
    number = 0
    try:
        for article in articles:
            for paragraph in article["paragraphs"]:
                for qa in paragraph["qas"]:
                    number += 1
                    row = {"id": qa["id"], "title": article.get("title"), "context": paragraph.get("context")}
                    answers = [answer["text"] for answer in qa["answers"]]
                    row |= {"question": qa["question"], "references": answers}
                    if "is_impossible" in qa:  # SQuAD 2.0, whose script drops answers of articles and punctuation only
                        row["references"] = list(filter(_has_words, answers)) or [""]
                        row["is_impossible"] = qa["is_impossible"]
                    yield row
    except (KeyError, TypeError, AttributeError) as error:
        raise RowError(f"{name}, question {number}: not SQuAD's layout: {error!r}") from error


def _has_words(answer: str) -> bool:
    return bool(_ARTICLE.sub(" ", answer.lower().translate(_NO_PUNCTUATION)).strip())
