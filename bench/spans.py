"""Spans read from files, each form in turn: spans a second, from opening the file to the last row.

    python bench/spans.py [spans ...]

The spans are as OpenInference makes them, some 2 kB each: traces of a chain, a retriever with five documents, a model's
call that holds these documents in its messages, and an embedding. The spans of a trace lie apart from one another.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from answers import make
from side_by_side import machine

from karat.data.open import open_source

APART = 200  # traces that are under way at a time
ROUNDS = 3


def make_spans(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Spans as Phoenix keeps them, with their attributes nested, in the order in which they end."""
    draw = random.Random(seed)
    texts = [text for row in make(5_000, seed).to_pylist() for text in (row["prediction"], *row["references"])]
    open_traces: list[list[dict[str, Any]]] = []
    number = 0
    while count > 0:
        while len(open_traces) < APART:
            number += 1
            open_traces.append(_trace(number, texts, draw))
        trace = draw.choice(open_traces)
        yield trace.pop()
        if not trace:
            open_traces.remove(trace)
        count -= 1


def _trace(number: int, texts: list[str], draw: random.Random) -> list[dict[str, Any]]:
    question, answer = " ".join(draw.choices(texts, k=2)), " ".join(draw.choices(texts, k=4))
    contents = [" ".join(draw.choices(texts, k=8)) for _ in range(5)]
    documents = [
        {
            "document": {
                "id": f"d{draw.randrange(10**6)}",
                "content": text,
                "score": draw.random(),
                "metadata": {"page": 3},
            }
        }
        for text in contents
    ]
    prompt = "Answer with the help of these passages.\n\n" + "\n\n".join(contents)
    asked = [{"role": "system", "content": prompt}, {"role": "user", "content": question}]
    model = {
        "model_name": "gpt-4o-mini",
        "provider": "openai",
        "invocation_parameters": json.dumps({"temperature": 0.1, "max_tokens": 512}),
        "input_messages": [{"message": message} for message in asked],
        "output_messages": [{"message": {"role": "assistant", "content": answer}}],
        "token_count": {"prompt": 512, "completion": 64, "total": 576},
    }
    metadata = {"gold": answer.upper(), "user": number % 100, "tags": ["beta", "en"]}
    said = {"input": {"value": question, "mime_type": "text/plain"}, "output": {"value": answer}, "metadata": metadata}
    given = {"input": {"value": json.dumps({"messages": asked}), "mime_type": "application/json"}}
    parts: list[tuple[str, dict[str, Any]]] = [
        ("CHAIN", said | {"session": {"id": f"s{number % 1000}"}}),
        ("LLM", given | {"output": {"value": answer}, "llm": model}),
        ("RETRIEVER", {"input": {"value": question}, "retrieval": {"documents": documents}}),
        ("EMBEDDING", {"embedding": {"model_name": "small", "embeddings": [{"embedding": {"text": question}}]}}),
    ]
    return [_span(number, place, kind, attributes) for place, (kind, attributes) in enumerate(parts)]


def _span(number: int, place: int, kind: str, attributes: dict[str, Any]) -> dict[str, Any]:
    start = f"2026-01-{1 + number % 28:02d}T10:{number % 60:02d}:{(number // 60) % 60:02d}.{9 - place}00000+00:00"
    return {
        "name": kind.lower(),
        "context": {"trace_id": f"{number:032x}", "span_id": f"{number:012x}{place:04x}"},
        "span_kind": kind,
        "parent_id": None if place == 0 else f"{number:012x}{0:04x}",
        "start_time": start,
        "end_time": start,
        "status_code": "OK",
        "attributes": attributes | {"openinference": {"span": {"kind": kind}}},
        "events": [],
    }


def write(folder: Path, count: int) -> dict[str, Path]:
    """The same spans in each form that is measured."""
    rows = list(make_spans(count))
    paths = {name: folder / name for name in ("nested.jsonl", "flat.jsonl", "nested.parquet", "columns.parquet")}
    paths |= {name: folder / name for name in ("columns.csv", "nested.csv", "python.csv", "otlp.jsonl", "nested.json")}
    _write_lines(paths["nested.jsonl"], rows)
    paths["nested.json"].write_text(json.dumps(rows), "utf-8")
    _write_lines(paths["flat.jsonl"], (row | {"attributes": _flat(row["attributes"])} for row in rows))
    _write_lines(paths["otlp.jsonl"], map(_otlp, rows))
    pq.write_table(pa.Table.from_pylist(rows), paths["nested.parquet"])
    columns = [_columns(row) for row in rows]
    names = list(dict.fromkeys(name for row in columns for name in row))
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in columns])
    pq.write_table(table, paths["columns.parquet"])
    pc.write_csv(_as_text(columns, names, json.dumps), paths["columns.csv"])
    nested = [row | {f"context.{key}": value for key, value in row["context"].items()} for row in rows]
    names = [name for name in nested[0] if name != "context"]
    pc.write_csv(_as_text(nested, names, json.dumps), paths["nested.csv"])
    pc.write_csv(_as_text(nested, names, repr), paths["python.csv"])
    return paths


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    """Every leaf by its dotted and numbered path, as OpenTelemetry has them."""
    if isinstance(value, dict):
        return {k: v for key, inner in value.items() for k, v in _flat(inner, f"{path}.{key}" if path else key).items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {k: v for at, inner in enumerate(value) for k, v in _flat(inner, f"{path}.{at}").items()}
    return {path: value}


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    """A column an attribute, and lists of objects with dotted keys, as in Phoenix's frames."""
    told = dict(row["attributes"])
    lists = {"attributes.retrieval.documents": told.pop("retrieval", {}).get("documents")}
    model = told.pop("llm", {})
    lists |= {f"attributes.llm.{way}": model.pop(way, None) for way in ("input_messages", "output_messages")}
    told.pop("embedding", None)
    metadata = told.pop("metadata", None)
    flat = {f"attributes.{name}": value for name, value in _flat(told | {"llm": model}).items() if name != "llm"}
    dotted = {name: items and [_flat(item) for item in items] for name, items in lists.items()}
    plain = {name: value for name, value in row.items() if name not in ("attributes", "context", "events")}
    ids = {f"context.{key}": value for key, value in row["context"].items()}
    return plain | ids | flat | dotted | {"attributes.metadata": metadata}


def _as_text(rows: list[dict[str, Any]], names: list[str], spell: Callable[[Any], str]) -> pa.Table:
    """Rows as CSV holds them: lists and objects as JSON or as Python prints them."""
    cells = {name: [row.get(name) for row in rows] for name in names}
    return pa.table(
        {
            name: [spell(cell) if isinstance(cell, (dict, list)) else cell for cell in column]
            for name, column in cells.items()
        }
    )


def _otlp(row: dict[str, Any]) -> dict[str, Any]:
    """A line as OpenTelemetry's collector writes them."""
    kinds = {str: "stringValue", float: "doubleValue", int: "intValue"}
    attributes = [
        {"key": key, "value": {kinds[type(value)]: value}}
        for key, value in _flat(row["attributes"]).items()
        if type(value) in kinds
    ]
    ids = {"traceId": row["context"]["trace_id"], "spanId": row["context"]["span_id"]}
    span = {**ids, "parentSpanId": row["parent_id"] or "", "name": row["name"], "attributes": attributes}
    return {"resourceSpans": [{"scopeSpans": [{"scope": {}, "spans": [span]}]}]}


def measure(path: Path) -> tuple[int, float]:
    """The spans of a file, and the seconds until the last was read."""
    start = time.perf_counter()
    count = sum(batch.num_rows for batch in open_source(path).batches())
    return count, time.perf_counter() - start


if __name__ == "__main__":
    print(machine())
    for count in [int(each) for each in sys.argv[1:]] or [100_000]:
        with tempfile.TemporaryDirectory() as folder:
            for name, path in write(Path(folder), count).items():
                rounds = 1 if name in ("python.csv", "otlp.jsonl") else ROUNDS
                seconds = median(measure(path)[1] for _ in range(rounds))
                size = path.stat().st_size
                print(f"{name:16} {count:,} spans, {size / count / 1000:.1f} kB each: {count / seconds:,.0f} spans/s")
