"""The same trace in every form that spans are exported in, and what is odd about some."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.core.columns.ids import is_spans
from karat.data.open import open_source
from karat.data.spans.source import Spans, parse_time
from karat.errors import ColumnError, DataError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

DOCUMENTS = [
    {"id": "d1", "content": "Paris is\nthe capital.", "score": 0.9},
    {"id": "d2", "content": "Lyon", "score": 0.5},
]
MESSAGES = [("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi"), ("user", "And France's capital?")]
TRACE = [  # span, parent, kind, seconds, attributes
    ("a", None, "CHAIN", 0, {"input": {"value": "Capital of France?"}, "output": {"value": "Paris."}}),
    ("b", "a", "RETRIEVER", 1, {"input": {"value": "France"}, "documents": DOCUMENTS}),
    ("c", "a", "LLM", 3, {"input": {"value": '{"x": 1}'}, "asked": MESSAGES, "said": [("assistant", "Paris!")]}),
    ("d", "a", "RETRIEVER", 2, {"input": {"value": "capital"}, "documents": [{"id": "d3", "content": "Nice"}]}),
    ("e", "a", "TOOL", 4, {"input": {"value": "1+1"}, "output": {"value": "2"}}),
]
EXPECTED = {
    "question": ["Capital of France?", "France", "And France's capital?", "capital", "1+1"],
    "prediction": ["Paris.", None, "Paris!", None, "2"],
    "contexts": [
        ["Paris is\nthe capital.", "Lyon", "Nice"], ["Paris is\nthe capital.", "Lyon"], None, ["Nice"], None,
    ],
    "retrieved": [["d1", "d2", "d3"], ["d1", "d2"], None, ["d3"], None],
    "retrieved_scores": [[0.9, 0.5, None], [0.9, 0.5], None, None, None],
    "context_spans": [["b", "b", "d"], ["b", "b"], None, ["d"], None],
    "context_positions": [[0, 1, 0], [0, 1], None, [0], None],
}  # fmt: skip


def nested():
    """As Phoenix keeps them: all attributes nested."""
    for span, parent, kind, seconds, given in TRACE:
        told = {key: given[key] for key in ("input", "output") if key in given}
        told["openinference"] = {"span": {"kind": kind}}
        if "documents" in given:
            told["retrieval"] = {"documents": [{"document": each} for each in given["documents"]]}
        if "asked" in given:
            told["llm"] = {
                f"{way}_messages": [{"message": {"role": role, "content": text}} for role, text in given[name]]
                for way, name in (("input", "asked"), ("output", "said"))
            }
        told["metadata"] = {"gold": "Paris" if kind == "CHAIN" else None, "n": 1.10}
        yield {
            "name": kind.lower(),
            "context": {"trace_id": "t1", "span_id": span},
            "parent_id": parent,
            "start_time": f"2026-01-01T00:00:0{seconds}+00:00",
            "attributes": told,
        }


def flat(value, path=""):
    """Every leaf by its dotted and numbered path."""
    if isinstance(value, dict):
        return {k: v for key, inner in value.items() for k, v in flat(inner, f"{path}.{key}" if path else key).items()}
    if isinstance(value, list):
        return {k: v for at, inner in enumerate(value) for k, v in flat(inner, f"{path}.{at}").items()}
    return {} if value is None else {path: value}


def dotted():
    """As Phoenix's server gives them: one object of flat attributes, with the kind beside it."""
    for row in nested():
        told = flat(row["attributes"])
        yield row | {"span_kind": told.pop("openinference.span.kind"), "attributes": told}


def columns():
    """As Phoenix's frames have them: a column an attribute, lists of objects with dotted keys."""
    for row in nested():
        told = {}
        for path, value in flat({k: v for k, v in row["attributes"].items() if k not in ("llm", "retrieval")}).items():
            told[f"attributes.{path}"] = value
        for path, items in (
            ("llm.input_messages", row["attributes"].get("llm", {}).get("input_messages")),
            ("llm.output_messages", row["attributes"].get("llm", {}).get("output_messages")),
            ("retrieval.documents", row["attributes"].get("retrieval", {}).get("documents")),
        ):
            told[f"attributes.{path}"] = items and [flat(item) for item in items]
        names = {f"context.{key}": value for key, value in row["context"].items()}
        yield {key: row[key] for key in ("name", "parent_id", "start_time")} | names | told


def numbered():
    """A column for each leaf, those of messages and documents too."""
    for row in nested():
        names = {f"context.{key}": value for key, value in row["context"].items()}
        told = {f"attributes.{key}": value for key, value in flat(row["attributes"]).items()}
        yield {key: row[key] for key in ("name", "parent_id", "start_time")} | names | told


def genai():
    """OpenTelemetry's conventions: messages as JSON text."""
    operations = {"LLM": "chat", "RETRIEVER": "retrieval", "TOOL": "execute_tool", "CHAIN": "invoke_workflow"}
    for span, parent, kind, seconds, given in TRACE:
        told = {"gen_ai.operation.name": operations[kind], "gen_ai.request.model": "m"}
        if "documents" in given:
            told["gen_ai.retrieval.documents"] = json.dumps(given["documents"])
            told["gen_ai.retrieval.query.text"] = given["input"]["value"]
        elif "asked" in given:
            for way, name in (("input", "asked"), ("output", "said")):
                parts = [{"role": r, "parts": [{"type": "text", "content": text}]} for r, text in given[name]]
                told[f"gen_ai.{way}.messages"] = json.dumps(parts)
        else:
            told |= {f"{way}.value": given[way]["value"] for way in ("input", "output")}
        row = {"trace_id": "t1", "span_id": span, "parent_span_id": parent, "attributes": told}
        yield row | {"start_time": f"2026-01-01 00:00:0{seconds}"}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def otlp(rows):
    def value(each):
        kind = {str: "stringValue", float: "doubleValue", int: "intValue"}[type(each)]
        return {kind: str(each) if kind == "intValue" else each}

    spans = [
        {
            "traceId": "t1",
            "spanId": row["context"]["span_id"],
            "parentSpanId": row["parent_id"] or "",
            "name": row["name"],
            "kind": 1,
            "startTimeUnixNano": str(int(datetime.fromisoformat(row["start_time"]).timestamp()) * 10**9),
            "attributes": [{"key": k, "value": value(v)} for k, v in flat(row["attributes"]).items()],
        }
        for row in rows
    ]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "rag"}}]}
    return [{"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}]


def write_csv(path, rows, spell=json.dumps):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(names)
        for row in rows:
            cells = [row.get(name) for name in names]
            out.writerow([spell(cell) if isinstance(cell, dict | list) else cell for cell in cells])
    return path


def write(path, text):
    path.write_text(text)
    return path


def to_parquet(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    pq.write_table(pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows]), path)
    return path


def with_text(rows):
    return [row | {"attributes": json.dumps(row["attributes"]), "context": json.dumps(row["context"])} for row in rows]


FORMS = {
    "JSON Lines": lambda at: write(at / "a.jsonl", lines(nested())),
    "JSON": lambda at: write(at / "a.json", json.dumps(list(nested()))),
    "JSON Lines, flat attributes": lambda at: write(at / "a.jsonl", lines(dotted())),
    "JSON Lines, columns": lambda at: write(at / "a.jsonl", lines(columns())),
    "JSON Lines, numbered columns": lambda at: write(at / "a.jsonl", lines(numbered())),
    "JSON Lines, attributes as text": lambda at: write(at / "a.jsonl", lines(with_text(nested()))),
    "JSON Lines, GenAI": lambda at: write(at / "a.jsonl", lines(genai())),
    "Parquet, structs": lambda at: to_parquet(at / "a.parquet", list(nested())),
    "Parquet, columns": lambda at: to_parquet(at / "a.parquet", list(columns())),
    "Parquet, numbered columns": lambda at: to_parquet(at / "a.parquet", list(numbered())),
    "CSV, JSON": lambda at: write_csv(at / "a.csv", list(nested())),
    "CSV, Python's text": lambda at: write_csv(at / "a.csv", list(nested()), repr),
    "CSV, columns": lambda at: write_csv(at / "a.csv", list(columns())),
    "CSV, columns in Python's text": lambda at: write_csv(at / "a.csv", list(columns()), repr),
    "CSV, numbered columns": lambda at: write_csv(at / "a.csv", list(numbered())),
    "OTLP, a document": lambda at: write(at / "a.json", json.dumps(otlp(nested())[0], indent=1)),
    "OTLP, lines": lambda at: write(at / "a.jsonl", lines(otlp(nested()))),
    "list": lambda at: list(nested()),
    "list, flat attributes": lambda at: list(dotted()),
    "pandas": lambda at: pd.DataFrame(list(columns())).set_index("context.span_id", drop=False),
    "pandas, by id": lambda at: pd.DataFrame(list(columns())).set_index("context.span_id"),
    "polars": lambda at: pl.DataFrame(list(columns()), infer_schema_length=None),
    "Arrow": lambda at: pa.Table.from_pylist(list(genai())),
}


def rows_of(source):
    return [row for batch in source.batches() for row in batch.to_pylist()]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_columns(form, tmp_path):
    source = open_source(FORMS[form](tmp_path))
    assert isinstance(source, Spans)
    found = rows_of(source)
    assert {name: [row[name] for row in found] for name in EXPECTED} == EXPECTED
    key = "span_id" if "context.span_id" not in found[0] else "context.span_id"
    assert [row[key] for row in found] == list("abcde")
    assert source.kinds == {"RETRIEVER": 2, "CHAIN": 1, "LLM": 1, "TOOL": 1}
    assert source.rows == 5


@pytest.mark.parametrize(
    "form", ["JSON Lines", "JSON Lines, flat attributes", "JSON Lines, GenAI", "CSV, Python's text"]
)
def test_without_a_compiler_the_columns_are_the_same(form, tmp_path, monkeypatch):
    monkeypatch.setattr("karat.data.json.members.COMPILED", False)
    found = rows_of(open_source(FORMS[form](tmp_path)))
    assert {name: [row[name] for row in found] for name in EXPECTED} == EXPECTED


@pytest.mark.parametrize("form", ["JSON Lines", "CSV, columns", "Parquet, structs", "pandas"])
def test_the_columns_of_the_spans_stay_as_they_are(form, tmp_path, monkeypatch):
    data = FORMS[form](tmp_path)
    found = open_source(data)
    monkeypatch.setattr("karat.data.open.is_spans", lambda _: False)
    plain = open_source(data)
    assert found.schema.names[: len(plain.schema)] == plain.schema.names
    expected = [row | {"parent_id": row["parent_id"] or None} for row in rows_of(plain)]
    assert [{name: row[name] for name in plain.schema.names} for row in rows_of(found)] == expected


def test_attributes_in_json_keep_their_spelling(tmp_path):
    path = write(tmp_path / "a.jsonl", lines(nested()).replace('"n": 1.1', '"n": 1.10'))
    (batch,) = open_source(path).batches()
    assert '"n": 1.10' in batch.column("attributes").storage[0].as_py()


@pytest.mark.parametrize(
    ("kind", "since", "left"),
    [
        ("llm", None, ["c"]),
        ("RETRIEVER", None, ["b", "d"]),
        (None, "2026-01-01T00:00:02Z", ["c", "d", "e"]),
        (None, datetime(2026, 1, 1, 1, 0, 3, tzinfo=UTC) - timedelta(hours=1), ["c", "e"]),
        ("RETRIEVER", "2026-01-01T00:00:02", ["d"]),
        (None, "2h", []),
        ("CHAIN", None, ["a"]),
    ],
)
def test_kind_and_since_keep_spans(kind, since, left, tmp_path):
    for form in ("JSON Lines", "Parquet, structs"):
        source = karat.spans(FORMS[form](tmp_path), kind=kind, since=since)
        found = rows_of(source)
        assert [row["span_id"] for row in found] == left
        assert source.rows == len(left)
        if kind == "CHAIN":
            assert found[0]["contexts"] == EXPECTED["contexts"][0]


def test_a_kind_that_is_not_there_is_an_error_that_names_those_there(tmp_path):
    with pytest.raises(DataError, match=r"no span is of kind 'AGENT'; its kinds are: RETRIEVER \(2\), CHAIN"):
        karat.spans(list(nested()), kind="AGENT")


@pytest.mark.parametrize("since", ["yesterday", "2 hours", "3y"])
def test_a_time_that_is_none_is_an_error(since):
    with pytest.raises(DataError, match="or a duration such as 30m, 2h, 3d"):
        parse_time(since)


def test_what_is_no_span_is_said_to_be_none():
    with pytest.raises(DataError, match="does not hold spans: expected ids of spans and traces"):
        karat.spans([{"question": "a", "attributes": "b"}])


@pytest.mark.parametrize(
    "names",
    [
        ["question", "context", "attributes", "answer"],
        ["span_id", "trace_id", "answer"],
        ["id", "input.value", "output.value"],
        ["context", "parent_id", "attributes"],
        ["trace", "record_attributes"],
    ],
)
def test_an_ordinary_file_is_not_taken_for_spans(names):
    assert not is_spans(names)


def test_scores_of_spans_and_of_a_value_within_their_attributes(tmp_path):
    for form in (
        "JSON Lines",
        "Parquet, structs",
        "CSV, JSON",
        "CSV, Python's text",
        "list, flat attributes",
        "pandas",
    ):
        spans = karat.spans(FORMS[form](tmp_path), kind="CHAIN")
        result = karat.score(spans, "exact_match(normalize=squad)", map={"reference": "attributes.metadata.gold"})
        assert result.values["exact_match(normalize=squad)"].value == 1.0
    assert pa.table(spans).num_rows == 1  # as every library takes it that speaks Arrow


def test_numbers_within_attributes_are_compared_as_they_are_spelled(tmp_path):
    path = write(tmp_path / "a.jsonl", lines(nested()).replace('"n": 1.1', '"n": 1.10').replace('"Paris."', '"1.10"'))
    result = karat.score(karat.spans(path, kind="CHAIN"), "exact_match", map={"reference": "attributes.metadata.n"})
    assert result.values["exact_match"].value == 1.0


def test_a_path_leads_through_text_that_holds_json():
    """As OpenInference writes metadata."""
    rows = [row | {"attributes": flat(row["attributes"]) | {"metadata": '{"gold": "PARIS"}'}} for row in nested()]
    result = karat.score(
        karat.spans(rows, "CHAIN"), "exact_match(normalize=squad)", map={"reference": "attributes.metadata.gold"}
    )
    assert result.values["exact_match(normalize=squad)"].value == 1.0


def test_a_path_that_leads_nowhere_is_an_error(tmp_path):
    with pytest.raises(ColumnError, match=r"'attributes\.metadata\.golden' leads nowhere in column 'attributes'"):
        karat.score(FORMS["JSON Lines"](tmp_path), "exact_match", map={"reference": "attributes.metadata.golden"})


def test_columns_of_the_user_are_kept_and_it_is_said():
    rows = [row | {"prediction": "mine"} for row in nested()]
    with pytest.warns(UserWarning, match="list: its own columns .prediction. are kept"):
        found = rows_of(open_source(rows))
    assert {row["prediction"] for row in found} == {"mine"}
    assert found[0]["question"] == "Capital of France?"


def test_the_last_user_message_may_have_parts():
    parts = [{"message_content": {"type": "text", "text": text}} for text in ("Look", "at this")]
    image = {"message_content": {"type": "image", "image": {"image": {"url": "x"}}}}
    told = {"llm": {"input_messages": [{"message": {"role": "user", "contents": [*parts, image]}}]}}
    rows = [row | {"attributes": told, "span_kind": "LLM"} for row in list(nested())[:1]]
    assert rows_of(open_source(rows))[0]["question"] == "Look\nat this"
    assert rows_of(open_source([row | {"attributes": flat(told)} for row in rows]))[0]["question"] == "Look\nat this"


@pytest.mark.parametrize(
    ("told", "question", "contexts"),
    [
        (None, None, None),
        ({"llm": {"input_messages": [None]}}, None, None),
        ({"llm": {"input_messages": "hello"}}, None, None),
        ({"input": "text"}, None, None),
        ({"input": {"value": {"a": 1}}}, '{"a":1}', None),
        ({"input": {"value": 'with "quotes" \\ and \n'}}, 'with "quotes" \\ and \n', None),
        ({"input.value": "dotted"}, "dotted", None),
        ({'a"b': 1, "input": {"value": "a key with a quote"}}, "a key with a quote", None),
        ({"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "older names"}, "older names", None),
        ({"retrieval": {"documents": [None, {"document": None}]}}, None, None),
        ({"retrieval": {"documents": []}}, None, []),
        ({"retrieval": {"documents": [{"document": {"content": "x"}}, {"document": {"id": "y"}}]}}, None, ["x", None]),
    ],
)
def test_what_attributes_may_hold(told, question, contexts, tmp_path):
    spans = [
        {"span_id": "a", "trace_id": "t", "span_kind": "LLM", "attributes": told},
        {"span_id": "b", "trace_id": "t", "span_kind": "TOOL", "attributes": {"output": {"value": "x"}}},
    ]
    for data in (spans, write(tmp_path / "a.jsonl", lines(spans))):
        first, second = rows_of(open_source(data))
        assert (first["question"], first["contexts"], second["prediction"]) == (question, contexts, "x")


def test_cells_that_cannot_be_read_are_counted_and_the_rest_is_kept(tmp_path):
    rows = with_text(nested())
    rows[1]["attributes"] = rows[1]["attributes"][:50]
    with pytest.warns(UserWarning, match="1 cells of attributes are neither JSON"):
        found = rows_of(open_source(write(tmp_path / "a.jsonl", lines(rows))))
    assert [row["question"] for row in found] == ["Capital of France?", None, *EXPECTED["question"][2:]]
    assert found[0]["contexts"] == ["Nice"]


@pytest.mark.parametrize("none", ["None", "", "null", "nan"])
def test_parents_that_are_none_in_words_make_roots(none):
    rows = [row | {"parent_id": row["parent_id"] or none} for row in nested()]
    assert rows_of(open_source(rows))[0]["contexts"] == EXPECTED["contexts"][0]


@pytest.mark.parametrize("none", ["None", "", "null", "nan"])
def test_a_column_of_parents_is_null_where_they_are_none_in_words(none, tmp_path):
    rows = [
        {"parent_id": row["parent_id"] or none, "attributes.input.value": "x", **row["context"]} for row in nested()
    ]
    pd.DataFrame(rows).to_csv(path := tmp_path / "a.csv", index=False)
    for data in (pa.Table.from_pylist(rows), pd.DataFrame(rows), pl.DataFrame(rows), path):
        assert [row["parent_id"] for row in rows_of(open_source(data))] == [None, "a", "a", "a", "a"]
