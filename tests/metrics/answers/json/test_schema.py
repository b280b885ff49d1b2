"""JSON follows a schema where jsonschema says so, and the first violation is named."""

import json
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.errors import MissingExtra, SpecError
from karat.metrics import json_schema

jsonschema = pytest.importorskip("jsonschema")

INVOICE = {
    "type": "object",
    "properties": {
        "total": {"type": "number", "minimum": 0},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}, "minItems": 1},
    },
    "required": ["total", "lines"],
    "additionalProperties": False,
    "$defs": {"line": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
}
NUMBERS = st.integers(-3, 3) | st.floats(-3, 3) | st.sampled_from([2.0, 10**30])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "n"]), inner, max_size=3),
    max_leaves=6,
)
SCHEMAS = st.recursive(
    st.sampled_from([True, {"type": "integer"}, {"type": ["number", "null"]}, {"maxLength": 1}, {"multipleOf": 2}]),
    lambda inner: (
        st.fixed_dictionaries({"properties": st.fixed_dictionaries({"a": inner}), "required": st.just(["n"])})
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner, "uniqueItems": st.booleans()})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)})
    ),
    max_leaves=4,
)  # fmt: skip


def violations(texts, schema):
    table = karat.score({"prediction": texts}, json_schema.using(schema=schema)).table
    return table.column(2).to_pylist()


@given(schema=SCHEMAS, values=st.lists(VALUES, min_size=1, max_size=4))
def test_what_is_valid_is_what_jsonschema_says(schema, values):
    validator = jsonschema.Draft202012Validator(schema)
    texts = [json.dumps(value) for value in values]
    scores = json_schema(texts, schema=schema).to_pylist()
    assert scores == [float(validator.is_valid(value)) for value in values]
    for value, found in zip(values, violations(texts, schema), strict=True):
        errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
        assert found in errors if errors else found is None


def test_the_first_violation_has_its_path():
    values = [{"total": 1, "lines": [{"n": 1}, {"n": "x"}, {}]}, {"total": -1, "lines": []}, {"lines": [{"n": 1.0}]}]
    texts = [*map(json.dumps, values), "{", '{"total": 0, "lines": [{"n": 2}]}']
    found = violations(texts, INVOICE)
    assert found[1] in ("$.lines: [] should be non-empty", "$.lines: [] is too short")  # since jsonschema 4.21, before
    assert found == [
        "$.lines[1].n: 'x' is not of type 'integer'",
        found[1],
        "$: 'total' is a required property",
        "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        None,
    ]


def test_a_schema_in_a_file(tmp_path):
    path = tmp_path / "invoice.json"
    path.write_text(json.dumps(INVOICE))
    metric = json_schema.using(schema=str(path))
    assert metric.spec == f"json_schema(schema={str(path)!r})"
    assert pickle.loads(pickle.dumps(metric)).signature == metric.signature  # noqa: S301
    before = metric.signature
    path.write_text("true")
    assert metric(["1"]).to_pylist() == [1]
    assert json_schema.using(schema=str(path)).signature != before


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("", r"json_schema needs a schema: json_schema\(schema='schema.json'\)"),
        ("nowhere.json", "nowhere.json: No such file"),
        ({"type": "nubmer"}, r"not valid at \$.type: 'nubmer' is not valid"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_at_once(schema, message):
    with pytest.raises(SpecError, match=message):
        json_schema.using(schema=schema)


def test_a_file_without_a_schema(tmp_path):
    for text, message in (("{", "Expecting"), ("[]", "an object, or true or false")):
        path = tmp_path / "bad.json"
        path.write_text(text)
        with pytest.raises(SpecError, match=message):
            json_schema.using(schema=str(path))


def test_a_reference_to_another_document_is_not_fetched():
    metric = json_schema.using(schema={"$ref": "http://127.0.0.1:1/schema.json"})
    with pytest.raises(SpecError, match=r"refers to http://127\.0\.0\.1:1/schema\.json, which is not in it"):
        metric(["1"])


def test_what_to_install_is_said(monkeypatch):
    from karat.metrics.answers.json import schema

    schema._validator.cache_clear()
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(MissingExtra, match=r"json_schema needs jsonschema: pip install 'karat\[json\]'"):
        json_schema.using(schema=True)
