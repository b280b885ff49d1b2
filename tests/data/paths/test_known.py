"""Where roles are in objects, by their keys, and what is refused because its keys do not tell."""

from __future__ import annotations

import csv
import json

import pyarrow as pa
import pytest

import karat
from karat.data.formats.frames import open_frame
from karat.data.paths.known import find_inside, find_layout_paths
from karat.data.paths.listed import find_listed
from karat.data.roles import read_layouts


@pytest.mark.parametrize(
    ("output", "path"),
    [
        ({"answer": "Paris", "sources": []}, "outputs.answer"),
        ({"only": "Paris"}, "outputs.only"),
        ({"output": {"content": "Paris", "role": "assistant"}}, "outputs.output.content"),
        ({"choices": [{"message": {"content": "Paris"}}], "usage": {}}, "outputs.choices[0].message.content"),
        ({"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "Paris"}]}, None),
        ([{"role": "user", "content": "Q"}, {"role": "assistant", "content": "Paris"}], "outputs[-1].content"),
    ],
)
@pytest.mark.parametrize("form", ["frame", "csv", "jsonl"])
def test_the_text_of_an_answer_is_found_in_objects(tmp_path, form, output, path):
    rows = [{"inputs": {"q": "Q"}, "outputs": output, "reference_outputs": {"answer": "Paris"}}] * 2
    source = rows
    if form == "csv":
        source = tmp_path / "a.csv"
        with source.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerows([rows[0], *([json.dumps(cell) for cell in row.values()] for row in rows)])
    elif form == "jsonl":
        source = tmp_path / "a.jsonl"
        source.write_text("\n".join(json.dumps(row) for row in (rows[0], dict(reversed(rows[1].items())))))
    result = karat.score(source, "exact_match")
    assert result.values["exact_match"].value == 1.0
    assert result.mapping["prediction"] == (path or "outputs.messages[-1].content")


def test_cells_whose_keys_do_not_tell_are_refused_with_what_to_type(tmp_path):
    path = tmp_path / "langsmith.csv"
    cells = [json.dumps({"draft": "a", "final": "b"}), json.dumps({"answer": "a"})]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["inputs", "outputs", "reference_outputs"], ["", "", ""], ["Q", *cells]])
    message = (
        r"langsmith\.csv, row 2 \(3 with the header\): column 'outputs' \(prediction\) holds objects with the keys "
    )
    with pytest.raises(
        karat.errors.ColumnError, match=message + r"'draft', 'final'\. .*--map prediction=outputs\.draft"
    ):
        karat.score(path, "exact_match")
    assert karat.score(path, "exact_match", map={"prediction": "outputs.draft"}).values["exact_match"].value == 1.0


def test_a_row_whose_cell_holds_something_else_is_unscored_and_not_scored_as_text(tmp_path):
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        rows = [[json.dumps({"answer": "a"}), "a"]] * 150 + [["a", "a"]] * 50
        csv.writer(file).writerows([["outputs", "gold"], *rows])
    value = karat.score(path, "exact_match").values["exact_match"]
    assert (value.value, value.scored, value.unscored) == (1.0, 150, 50)


@pytest.mark.parametrize(
    ("contexts", "path"),
    [
        ([{"page_content": "a", "metadata": {}}], "contexts[*].page_content"),
        ([{"node": {"text": "a", "id_": "1"}, "score": 0.5}], "contexts[*].node.text"),
        ([{"kwargs": {"page_content": "a"}, "type": "constructor", "lc": 1}], "contexts[*].kwargs.page_content"),
        ([{"content": "a", "meta": {}}], "contexts[*].content"),
    ],
)
def test_documents_are_contexts(contexts, path):
    assert find_inside(open_frame([{"contexts": contexts}]), {"contexts": "contexts"}) == {"contexts": path}


@pytest.mark.parametrize("cell", ["['a', 'it\\'s']", '["a", "b"]'])
def test_lists_of_texts_in_cells_are_lists(cell):
    roles = {"contexts": "chunks"}
    assert find_listed(open_frame({"chunks": [cell], "n": [1]}), roles) == {"contexts": "chunks[*]"}
    assert find_listed(open_frame({"chunks": ["[0, 1]"]}), roles) == {}


def test_a_column_with_a_roles_own_name_wins_over_a_layout():
    row = dict.fromkeys(["doc_id", "arguments", "resps"], "x") | {"target": "a", "filtered_resps": ["b"]}
    assert find_layout_paths(open_frame([row]), ["prediction", "reference"]) == {
        "prediction": "filtered_resps[0]",
        "reference": "target",
    }
    assert karat.score([row | {"prediction": "a"}], "exact_match").mapping == {
        "prediction": "prediction",
        "reference": "target",
    }


@pytest.mark.parametrize("layout", read_layouts(), ids=[layout.tool for layout in read_layouts()])
def test_a_layout_needs_several_columns_to_be_recognised(layout):
    assert len(layout.columns) >= 2
    if layout.instead:
        return
    assert find_layout_paths(open_frame(pa.table({name: ["x"] for name in layout.columns})), ["prediction"]).keys() <= {
        "prediction"
    }
