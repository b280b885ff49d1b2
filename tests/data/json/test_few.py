"""A small file is read by Python as DuckDB reads it, or not at all."""

import json
import random

import pyarrow as pa
import pytest

from karat.data.formats import json as reader
from karat.data.json.few import read_few

WORDS = ["", "a", "Zürich", 'a"b', "x\\y", "line\nbreak", "1", "null", "tab\t", "👍", "a/b"]
NUMBERS = [0, -1, 10**14, 10**15, 10**18, 10**20, 0.5, -2.25, 1e3, 1e-7, 1e22, 0.1 + 0.2, 123456789.123456789]
FAULTS = ['"', "{", "}", "x", ",", "NaN", "\x01", "\\", '"a": 1,', "\\ud800", "\\u0000", "1e999", "01"]


def value(rng, depth=0):
    form = rng.randrange(10 if depth < 3 else 6)
    if form < 6:
        return rng.choice([rng.choice(WORDS), rng.choice(NUMBERS), None, True, "word", "two words"])
    if form < 8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice("abcA"): value(rng, depth + 1) for _ in range(rng.randrange(3))}


def column(rng, rows):
    alike = value(rng)
    forms = [[alike, None], [value(rng) for _ in range(rows)], ["a", "b", None], [1, 2, 3], [["a"], ["b", "c"], []]]
    return rng.choices(rng.choice(forms), k=rows)


def write(rng, path):
    rows = rng.randrange(1, 8)
    keys = rng.sample(["id", "prediction", "reference", "a", "B", "b", "x.y", "ü", "info", ""], rng.randrange(1, 6))
    columns = [column(rng, rows) for _ in keys]
    cells = (dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True))
    text = "\n".join(json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in cells) + rng.choice(["", "\n", "\r\n"])
    if rng.random() < 0.2:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(FAULTS) + text[at + rng.randrange(2) :]
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("seed", range(4))
def test_python_reads_what_duckdb_reads(tmp_path, monkeypatch, seed):
    rng, file, both = random.Random(seed), tmp_path / "a.jsonl", 0  # noqa: S311
    monkeypatch.setattr(reader, "read_few", lambda _: None)
    for _ in range(40):
        write(rng, file)
        if (few := read_few(file)) is None:
            continue
        source = reader.open_json_rows(file, "a", "newline_delimited")
        whole = pa.Table.from_batches(source.batches(), source.schema)
        assert few.schema.equals(whole.schema, check_metadata=True), file.read_text()
        assert few.to_pylist() == whole.to_pylist(), file.read_text()
        both += 1
    assert both > 12


@pytest.mark.parametrize(
    "fault", ['{"a": 1 "b": 2}', '{"a": 1, "a": 2}', '{"b": 2, "a": 1}', "[1]", "{}", '{"a": NaN}']
)
def test_other_files_are_left_to_duckdb(tmp_path, fault):
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": 1, "b": 2}\n')
    assert read_few(file).to_pylist() == [{"a": 1, "b": 2}]
    file.write_text(f'{{"a": 1, "b": 2}}\n{fault}\n')
    assert read_few(file) is None
