"""Traces of MLflow, as it writes each as JSON: the columns of its frame of traces, and a column for each assessment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from karat.data.formats.logs.rows import open_rows, records
from karat.data.source import Source


def is_traces(source: Source) -> bool:
    """Whether each row of a source is a trace of MLflow."""
    if not {"info", "data"} <= {*source.schema.names}:
        return False
    rows = records(source.first, ("info", "data"))
    return bool(rows) and all(map(is_trace, rows))


def is_trace(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is a trace of MLflow."""
    info, data = document.get("info"), document.get("data")
    has_id = isinstance(info, dict) and not {"trace_id", "request_id"}.isdisjoint(info)
    return has_id and isinstance(data, dict) and "spans" in data


def find_traces(document: Mapping[str, Any]) -> list[Any]:
    """The traces in a JSON document, which is one itself or holds a list `traces`; none in another."""
    traces = [document] if is_trace(document) else document.get("traces")
    return (
        traces if isinstance(traces, list) and all(isinstance(each, dict) and is_trace(each) for each in traces) else []
    )


def open_traces(source: Source) -> Source:
    """Open traces as rows, which `read_trace` gives."""
    names = ("info", "data")
    traces = (trace for batch in source.batches(names) for trace in records(batch, names))
    return open_rows(map(read_trace, traces), source.name, "MLflow")


def read_trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    """A row for a trace: the input of its root as `request`, its output as `response`, `NAME/value` of each assessment.

    `contexts` are the texts that retrievers found, `trace` is all of it as JSON. Of several assessments with one name
    that are valid, the last counts.

    >>> span = {"attributes": {"mlflow.spanInputs": '{"q": "2+2?"}', "mlflow.spanOutputs": '"4"'}}
    >>> em = {"assessment_name": "em", "feedback": {"value": 1.0}}
    >>> gold = {"assessment_name": "expected_response", "expectation": {"value": "4"}}
    >>> row = read_trace({"info": {"trace_id": "t", "assessments": [em, gold]}, "data": {"spans": [span]}})
    >>> row["request"], row["response"], row["em/value"], row["expected_response/value"]
    ({'q': '2+2?'}, '4', 1.0, '4')
    """
    info, data = trace["info"], trace["data"]
    spans = data["spans"] or []
    roots = (span for span in spans if not (span.get("parent_span_id") or span.get("parent_id")))
    root: dict[str, Any] = next(roots, {})
    documents = [document for span in spans for document in _documents(span)]
    return {
        "trace_id": info.get("trace_id") or info.get("request_id"),
        "state": info.get("state") or info.get("status"),
        "request": _attribute(root, "mlflow.spanInputs", _parse(data.get("request"))),
        "response": _attribute(root, "mlflow.spanOutputs", _parse(data.get("response"))),
        **({"contexts": documents} if documents else {}),
        **dict(_assessments(info.get("assessments") or [])),
        "trace": json.dumps(dict(trace), ensure_ascii=False),
    }


def _attribute(span: dict[str, Any], name: str, default: Any = None) -> Any:
    attributes = span.get("attributes") or {}
    return _parse(attributes[name]) if name in attributes else default


def _parse(value: Any) -> Any:
    """The value of an attribute, which MLflow writes as JSON text."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _documents(span: dict[str, Any]) -> Iterator[str]:
    """The texts that a retriever found."""
    output = _attribute(span, "mlflow.spanOutputs") if _attribute(span, "mlflow.spanType") == "RETRIEVER" else None
    for document in output if isinstance(output, list) else ():
        if isinstance(document, dict) and isinstance(text := document.get("page_content"), str):
            yield text


def _assessments(assessments: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    for each in assessments:
        held = each.get("feedback") or each.get("expectation") or {}
        value = held.get("value", _parse((held.get("serialized_value") or {}).get("value")))
        if each.get("valid", True):
            yield f"{each['assessment_name']}/value", value
