"""Values inside objects and lists, of Arrow or in text, as columns named by their path."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import karat
from karat.core.columns.json_text import RAW, decode_text
from karat.data.formats.frames import open_frame
from karat.data.open import open_source
from karat.data.paths.nested import extract_nested
from karat.data.write import write

TIERS = [{"tier": "paid", "n": 10}, {"tier": "free", "n": 9}, None, {"tier": "paid", "n": 8}]


@pytest.mark.parametrize(
    "metadata",
    [TIERS, [json.dumps(each) for each in TIERS], [None if each is None else str(each) for each in TIERS]],
    ids=["struct", "JSON", "Python"],
)
def test_groups_and_conditions_take_paths_as_mappings_do(metadata):
    data = {"output": ["a"] * 4, "gold": ["a", "b", "a", "a"], "attributes.metadata": metadata}
    result = karat.score(data, "exact_match", by="attributes.metadata.tier")
    groups = {label: (group.value, group.n) for label, group in result.groups["exact_match"].items()}
    assert groups == {"paid": (1.0, 2), "free": (0.0, 1), "(null)": (1.0, 1)}
    both = karat.score(
        data, "exact_match", by="attributes.metadata.tier", map={"reference": "attributes.metadata.tier"}
    )
    assert list(both.groups["exact_match"]) == ["(null)", "free", "paid"]
    where = """ "attributes.metadata.tier" = 'paid' AND CAST("attributes.metadata.n" AS INT) > 9"""
    chosen = karat.score(data, "exact_match", where=where)
    assert chosen.n == 1
    assert chosen.table.column_names == ["output", "gold", "attributes.metadata", "exact_match", "reason"]


def test_a_condition_is_told_that_names_with_dots_stand_in_quotes():
    data = {"output": ["a"], "gold": ["a"], "attributes.metadata": [{"tier": "paid"}]}
    with pytest.raises(karat.errors.DataError, match=r'need double quotes: "attributes\.metadata\.tier"'):
        karat.score(data, "exact_match", where="attributes.metadata.tier = 'paid'")


REPLY = {"choices": [{"message": {"content": "Paris"}}, {"message": {"content": "Rome"}}]}
PAGES = [{"page_content": "one", "metadata": {"n": 1.10}}, {"page_content": "two", "metadata": {"n": 2}}]


@pytest.mark.parametrize("spell", [lambda value: value, json.dumps, str], ids=["Arrow", "JSON", "Python"])
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("reply.choices[0].message.content", "Paris"),
        ("reply.choices[-1].message.content", "Rome"),
        ("reply.choices[2].message.content", None),
        ("reply.choices[*].message.content", ["Paris", "Rome"]),
        ("pages[*].page_content", ["one", "two"]),
        ("pages[1].page_content", "two"),
        ("groups[*].texts[*]", ["a", "b", "c"]),
        ("answers.text", ["x"]),
        ("answers.text[0]", "x"),
        ("marks[name=f1].score", "0.5"),
        ("marks[name=em].score", None),
    ],
)
def test_paths_lead_into_lists_of_frames_json_and_python(path, expected, spell):
    row = {"reply": REPLY, "pages": PAGES, "groups": [{"texts": ["a", "b"]}, {"texts": []}, {"texts": ["c"]}]}
    row |= {"answers": {"text": ["x"]}, "marks": [{"name": "bleu", "score": "0.1"}, {"name": "f1", "score": "0.5"}]}
    rows = [{key: spell(value) for key, value in row.items()}, dict.fromkeys(row)]
    nested = extract_nested(open_frame(rows), [path])
    (column,) = [batch.column(path) for batch in nested.batches()] if path in nested.schema.names else [pa.nulls(2)]
    assert decode_text(column).to_pylist() == [expected, None]


def test_numbers_in_json_keep_their_spelling_behind_a_path_into_lists(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": [{"n": 1.10}, {"n": 1e3}], "b": "x"}\n{"a": "text", "b": "y"}\n{"a": []}\n')
    (batch,) = extract_nested(open_source(path), ["a[*].n", "a[1].n"]).batches()
    assert decode_text(batch.column("a[*].n")).to_pylist() == [["1.10", "1e3"], None, []]
    assert decode_text(batch.column("a[1].n")).to_pylist() == ["1e3", None, None]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.parquet"])
def test_metrics_groups_and_conditions_take_paths_into_lists(tmp_path, name):
    rows = [
        {"reply": {"choices": [{"text": text}]}, "answers": {"text": ["Paris", "paris"]}, "tags": [{"kind": kind}]}
        for text, kind in (("Paris", "city"), ("Rome", "city"), ("paris", "town"))
    ]
    table = pa.Table.from_pylist(rows)
    write(table.to_batches(), table.schema, tmp_path / name)
    roles = {"prediction": "reply.choices[0].text", "reference": "answers.text"}
    result = karat.score(tmp_path / name, "exact_match(normalize=none)", map=roles, by="tags[0].kind")
    (groups,) = result.groups.values()
    assert {label: group.value for label, group in groups.items()} == {"city": 0.5, "town": 1}
    where = """ "tags[0].kind" = 'town' """
    assert karat.score(tmp_path / name, "exact_match(normalize=none)", map=roles, where=where).n == 1


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("answers.text", r"'answers\.text' leads nowhere in column 'answers'.*all are answers\[\*\]"),
        ("answers[*].txt", r"'answers\[\*\]\.txt' leads nowhere in column 'answers'"),
        ("answr.text", r"no column 'answr\.text' for reference"),
    ],
)
def test_a_path_that_leads_nowhere_is_named_with_what_the_column_holds(path, problem):
    data = [{"prediction": "a", "answers": [{"text": "a"}]}]
    with pytest.raises(karat.errors.ColumnError, match=problem):
        karat.score(data, "exact_match", map={"reference": path})


@pytest.mark.parametrize("spell", [lambda value: value, json.dumps], ids=["Arrow", "JSON"])
@pytest.mark.parametrize("step", ["9" * 19, "-" + "9" * 19, "9" * 18, "-" + "9" * 18, "9" * 5000])
def test_no_item_is_at_a_place_beyond_every_list(step, spell):
    nested = extract_nested(open_frame([{"a": spell([{"n": "x"}])}]), [f"a[{step}].n"])
    assert [batch.to_pylist()[0].get(f"a[{step}].n") for batch in nested.batches()] == [None]


@pytest.mark.parametrize("spell", [lambda value: value, json.dumps], ids=["Arrow", "JSON"])
def test_a_key_that_no_item_has_leads_nowhere(spell):
    rows = [{"a": spell(cell)} for cell in ([{"n": "x"}, {"n": "y"}], [], None)]
    assert extract_nested(open_frame(rows), ["a[*].m"]).schema.names == ["a"]
    assert "a[*].n" in extract_nested(open_frame(rows), ["a[*].n"]).schema.names
    with pytest.raises(karat.errors.ColumnError, match=r"leads nowhere"):
        karat.score([{**row, "gold": "x", "output": "x"} for row in rows], "exact_match", map={"prediction": "a[*].m"})


INSIDE = [
    '{"x": "a", "list": [{"y": "1"}, {"y": null}]}',
    "plain",
    "{'x': 'b', 'list': [{'y': '2'}]}",
    None,
    '{"list": []}',
]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("refs[*].text.x", [["a", None], ["b", None, None], [], None]),
        ("refs[*].text.list[*].y", [["1", None], ["2"], [], None]),
        ("refs[0].text.list[*].y", [["1", None], ["2"], None, None]),
        ("refs[0].text.list[0].y", ["1", "2", None, None]),
    ],
)
def test_json_text_in_lists_of_arrow_is_read_as_in_json(path, expected, tmp_path):
    cells = [[{"text": text} for text in part] for part in (INSIDE[:2], INSIDE[2:], [])] + [None]
    kind = pa.list_(pa.struct({"text": pa.string()}))
    for source in (pa.table({"refs": pa.array(cells, kind)}), pa.table({"refs": [json.dumps(each) for each in cells]})):
        (batch,) = extract_nested(open_frame(source), [path]).batches()
        column = batch.column(path)
        found = (
            [each and json.loads(each) for each in column.storage.to_pylist()]
            if column.type == RAW
            else column.to_pylist()
        )
        assert found == expected


@pytest.mark.parametrize("path", ["refs[*].text.x", "refs[*].text[*].x", "refs[*].text.x[*]", "refs[0].text.x"])
def test_a_path_into_text_that_is_no_json_in_any_row_is_an_error(path):
    kind = pa.list_(pa.struct({"text": pa.string()}))
    refs = pa.array([[{"text": "plain"}], [], None, [{"text": "[1"}, {"text": None}]], kind)
    with pytest.raises(
        karat.errors.DataError, match=r"leads nowhere in column 'refs', which holds list<.*text: string"
    ):
        karat.score({"prediction": ["a"] * 4, "refs": refs}, "exact_match", map={"reference": path})
    late = pa.array([[{"text": "plain"}], [], None, [{"text": '{"x": "a"}'}]], kind)
    if path == "refs[*].text.x":
        result = karat.score({"prediction": ["a"] * 4, "refs": late}, "exact_match", map={"reference": path})
        assert result.table["exact_match"].to_pylist() == [None, None, None, 1.0]
        assert result.table["reason"].to_pylist()[0] == "reference is null"
