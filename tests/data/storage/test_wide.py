"""Thousands of columns: DuckDB gets the memory that it reserves for them, no more, and they are read and written."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from karat.core.errors import DataError
from karat.data.open import open_source
from karat.data.storage import duckdb as storage
from karat.data.write import write

COLUMNS = 3_000
NAMES = [f"c{at}" for at in range(COLUMNS)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_columns_that_differ_from_row_to_row_are_read(name, tmp_path):
    rows = [dict.fromkeys(NAMES[at::2], at) for at in range(2)]
    text = json.dumps(rows) if name == "a.json" else "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / name).write_text(text)
    source = open_source(tmp_path / name)
    back = pa.Table.from_batches(source.batches(), source.schema)
    assert (back.num_rows, back.num_columns) == (2, COLUMNS)
    assert [back["c0"].to_pylist(), back["c2999"].to_pylist()] == [[0, None], [None, 1]]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "a.arrow"])
def test_what_is_written_is_read_again(name, tmp_path):
    table = pa.table({each: ["x", "y"] for each in NAMES})
    write(table.to_batches(), table.schema, tmp_path / name)
    source = open_source(tmp_path / name)
    assert pa.Table.from_batches(source.batches(), source.schema).equals(table)


def test_without_more_memory_they_could_not_be_read(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text(json.dumps(dict.fromkeys(NAMES, 1)) + '\n{"other": 1}\n')  # not as few alike rows
    monkeypatch.setattr(storage, "memory_for", lambda _: "100MB")
    with pytest.raises(DataError, match=r"memory|Memory"):
        list(open_source(tmp_path / "a.jsonl").batches())


@pytest.mark.parametrize(("columns", "limit"), [(0, 384), (1_536, 384), (1_540, 385), (10_000, 2_500)])
def test_the_limit_is_what_the_documentation_says(columns, limit):
    (given,) = storage.connect(columns).execute("SELECT current_setting('memory_limit')").fetchone()
    number, unit = given.split()
    assert float(number) * {"MiB": 1 << 20, "GiB": 1 << 30}[unit] == pytest.approx(limit * 1e6, rel=0.05)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells what this process alone has had")
def test_memory_stays_below_a_gigabyte(tmp_path):
    """Of the whole process, with 200 rows of 3,000 columns."""
    row = json.dumps(dict.fromkeys(NAMES, "text")) + "\n"
    (tmp_path / "a.jsonl").write_text(row * 200)
    script = """
import sys
from karat.data.open import open_source
print(sum(len(batch) for batch in open_source(sys.argv[1]).batches()))
print(next(int(line.split()[1]) >> 10 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a.jsonl"], capture_output=True, text=True, check=True
    )
    rows, megabytes = map(int, done.stdout.split())
    assert rows == 200
    assert megabytes < 1_000
