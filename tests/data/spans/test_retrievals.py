"""Which retrievers give their documents to which root."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import karat
from karat.data.open import open_source


def chain(*spans):
    """Spans of traces from (trace, span, parent, kind, text)."""
    return [
        {
            "trace_id": trace,
            "span_id": span,
            "parent_id": parent,
            "start_time": f"2026-01-01T00:00:{at:02d}Z",
            "attributes": {
                "openinference": {"span": {"kind": kind}},
                "retrieval": {"documents": [{"document": {"content": text}}]} if text else None,
            },
        }
        for at, (trace, span, parent, kind, text) in enumerate(spans)
    ]


@pytest.mark.parametrize(
    ("spans", "contexts"),
    [
        ([("t", "a", None, "CHAIN", 0), ("t", "b", "a", "CHAIN", 0), ("t", "c", "b", "RETRIEVER", "x")], {"a": ["x"]}),
        # a retriever within a retriever is the same retrieval
        (
            [("t", "a", None, "AGENT", 0), ("t", "b", "a", "RETRIEVER", "x"), ("t", "c", "b", "RETRIEVER", "x")],
            {"a": ["x"]},
        ),
        # the export lost the parent: there is one root
        ([("t", "a", None, "CHAIN", 0), ("t", "c", "gone", "RETRIEVER", "x")], {"a": ["x"]}),
        # there are two: whose it is is not known
        ([("t", "a", None, "CHAIN", 0), ("t", "b", None, "CHAIN", 0), ("t", "c", "gone", "RETRIEVER", "x")], {}),
        ([("t", "a", None, "CHAIN", 0), ("t", "b", None, "CHAIN", 0), ("t", "c", "b", "RETRIEVER", "x")], {"b": ["x"]}),
        # ids need only be unique within their trace
        (
            [("t", "a", None, "CHAIN", 0), ("u", "a", None, "CHAIN", 0), ("u", "b", "a", "RETRIEVER", "x")],
            {"a'": ["x"]},
        ),
        ([("t", "a", None, "LLM", 0), ("t", "b", "a", "RETRIEVER", "x")], {}),
        # a circle
        ([("t", "a", "b", "CHAIN", 0), ("t", "b", "a", "RETRIEVER", "x")], {}),
    ],
)  # fmt: skip
def test_a_root_has_the_contexts_of_the_retrievers_below_it(spans, contexts):
    found = [row for batch in open_source(chain(*spans)).batches() for row in batch.to_pylist()]
    named = {row["span_id"] + "'" * (row["trace_id"] == "u"): row for row in found}
    roots = {name: row["contexts"] for name, row in named.items() if row["span_kind"] != "RETRIEVER"}
    assert {name: each for name, each in roots.items() if each is not None} == contexts


def test_contexts_come_from_far_away_spans(tmp_path):
    many = [("t", "a", None, "CHAIN", 0)]
    many += [(f"o{at}", "r", None, "RETRIEVER", f"text {at}") for at in range(40_000)]
    many += [("t", "b", "a", "RETRIEVER", "far")]
    rows = chain(*many)
    for at, row in enumerate(rows):
        row["start_time"] = at
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first = next(iter(open_source(path).batches()))
    assert first.column("contexts")[0].as_py() == ["far"]


@pytest.mark.parametrize(
    ("kind", "attributes", "contexts"),
    [
        ("RETRIEVER", {}, []),
        ("RETRIEVER", {"output": {"value": '{"documents": []}'}}, []),
        ("RETRIEVER", {"output": {"value": " [] "}}, []),
        ("RETRIEVER", {"output": {"value": '[{"text": "in another convention"}]'}}, None),
        ("LLM", {}, None),
    ],
)
def test_a_retriever_that_found_nothing_has_an_empty_list(kind, attributes, contexts):
    row = {"span_id": "a", "trace_id": "t", "span_kind": kind, "attributes": {"input": {"value": "q"}} | attributes}
    table = pa.table(karat.spans([row]))
    assert [table[name].to_pylist() for name in ("contexts", "retrieved", "retrieved_scores")] == [[contexts]] * 3


def test_a_retriever_that_found_nothing_counts_in_recall():
    found = {"retrieval": {"documents": [{"document": {"id": "d1", "content": "x"}}]}}
    rows = [
        {"span_id": f"{n}", "trace_id": f"{n}", "span_kind": "RETRIEVER", "attributes": attributes, "gold": ["d1"]}
        for n, attributes in enumerate([found, {"input": {"value": "q"}}])
    ]
    assert karat.score(rows, "recall@5", map={"relevant": "gold"}).values["recall@5"].value == 0.5
