"""A file of JSON is read as it is spelled; conditions, Parquet, Arrow and numbers get its values."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.core.errors import ColumnError
from karat.data.filter import filter_rows
from karat.data.open import open_source
from karat.data.paths.nested import extract_nested
from karat.data.write import write

LINES = (
    '{"id": 7, "gold": true, "x": 1.10, "year": {"of": 2020, "w": 0.50}, "docs": [{"t": "a", "s": 1e3}], "l": [1, 2]}',
    '{"id": 8, "gold": false, "x": -0.0, "year": {"w": null}, "docs": [], "l": null}',
)


@pytest.fixture(params=[1, 300])  # a file of few rows is read once, a longer one by another connection
def path(request, tmp_path):
    (tmp_path / "rows.jsonl").write_text("\n".join(LINES * request.param))
    return tmp_path / "rows.jsonl"


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv"])
def test_what_no_metric_reads_is_written_as_it_was_spelled(path, tmp_path, name):
    source = open_source(path)
    write(source.batches(), source.schema, tmp_path / name)
    found = (tmp_path / name).read_text()
    for cell in ("1.10", "-0.0", "0.50", "1e3"):
        assert found.count(cell) == source.rows // 2
    if name == "out.jsonl":
        assert [json.loads(line) for line in found.splitlines()] == list(map(json.loads, path.read_text().splitlines()))
        assert '"year":{"w": null}' in found  # without the key that other rows have


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow"])
def test_columnar_files_hold_values(path, tmp_path, name):
    source = open_source(path)
    write(source.batches(), source.schema, tmp_path / name)
    found = pa.table(open_source(tmp_path / name))
    assert found.equals(pa.table(source))
    assert found.schema.field("x").type == pa.float64()
    assert found.slice(0, 1).to_pylist() == [json.loads(LINES[0])]
    if name == "out.parquet":
        assert not any(field.metadata for field in pq.read_schema(tmp_path / name))


@pytest.mark.parametrize(
    ("where", "rows"),
    [("x > 1", 1), ("gold", 1), ("NOT gold", 1), ("year.of = 2020", 1), ('"year.w" < 1', 1), ('"docs[0].s" = 1000', 1),
     ("len(docs) = 0", 1), ("list_contains(l, 2)", 1), ("x <= 1.1", 2)],
)  # fmt: skip
def test_a_condition_reads_values(path, where, rows):
    source = open_source(path)
    assert sum(map(len, filter_rows(source, where, None).batches())) == rows * source.rows // 2


def test_values_at_paths_keep_their_spelling_too(path):
    source = extract_nested(open_source(path), ["year.w", "year.of", "docs[*].t", "docs[*].s"])
    first = source.first.slice(0, 1).to_pylist()[0]
    assert [first[path] for path in ("year.w", "year.of", "docs[*].t", "docs[*].s")] == ["0.50", 2020, ["a"], "[1e3]"]
    assert pa.table(source).column("docs[*].s").to_pylist()[:2] == [[1000.0], []]


def test_yes_and_no_are_text_to_a_metric_of_text_and_numbers_to_one_of_numbers(path):
    rows = [{"prediction": "true"}, {"prediction": "true"}] * (open_source(path).rows // 2)
    table = pa.table(open_source(path)).append_column("prediction", pa.array([row["prediction"] for row in rows]))
    with pytest.raises(ColumnError, match="bool"):  # a boolean of Arrow has no spelling
        karat.score(table, "exact_match", map={"reference": "gold"})
    text = path.read_text().replace('"id"', '"prediction": "true", "id"')
    path.write_text(text)
    assert karat.score(path, "exact_match", map={"reference": "gold"}).values["exact_match"].value == 0.5
    assert karat.score(path, "column(gold)").values["column(gold)"].value == 0.5


def test_files_whose_numbers_have_other_types_are_united(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"x": 1, "y": "a", "z": [1]}\n')
    (tmp_path / "2.jsonl").write_text('{"x": 1.50, "y": 7, "z": [0.50]}\n')
    source = open_source(f"{tmp_path}/*.jsonl")
    assert [row for batch in source.batches() for row in batch.to_pylist()] == [
        {"x": "1", "y": '"a"', "z": "[1]"},
        {"x": "1.50", "y": "7", "z": "[0.50]"},
    ]
    assert pa.table(source).column("x").to_pylist() == [1.0, 1.5]
    assert pa.table(source).column("z").to_pylist() == [[1.0], [0.5]]


def test_what_a_metric_read_as_text_is_kept_as_it_was_read(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prediction": 1.10, "reference": "1.1", "x": 1.10}\n')
    result = karat.score(tmp_path / "rows.jsonl", "exact_match", output=tmp_path / "out.parquet", keep=True)
    for table in (result.table, pq.read_table(tmp_path / "out.parquet")):
        assert table.select(["prediction", "x", "exact_match"]).to_pylist() == [
            {"prediction": "1.10", "x": 1.1, "exact_match": 0.0}
        ]
