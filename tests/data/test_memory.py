"""Small files of large rows: refused, or read in batches of few bytes, within 1 GB of memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.data.open import open_source

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits the memory as Linux does")
GB = 1 << 30
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
from karat.cli.main import main
main(["score", sys.argv[1], "-m", "exact_match", "--json"])
"""
MEASURED = """
import atexit, re, sys
from pathlib import Path
from karat.cli.main import main
atexit.register(lambda: print(int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) << 10))
main(["score", sys.argv[1], "-m", "exact_match", "--json"])
"""
BIG = 2_000_000
MILLION = b"x" * 1_000_000


def score_in_a_gigabyte(path):
    """What `karat score` says of a file: the value and the rows, or the error."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path], capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        assert done.stderr.startswith("Error: "), done.stderr[-2000:]
        return done.stderr
    [metric] = json.loads(done.stdout)["metrics"]
    return metric["value"], metric["n"]


def shared(kind, rows=1000):
    """Many rows that are one large text, whose bytes are stored once."""
    indices = pa.array(np.zeros(rows, np.int32))
    values = pa.array(["x" * BIG])
    if kind == "dictionary":
        return pa.DictionaryArray.from_arrays(indices, values)
    if kind == "runs":
        return pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), values)
    if kind == "lists":
        return pa.ListArray.from_arrays(np.arange(rows + 1, dtype=np.int32), shared("dictionary", rows))
    view = pa.array(["x" * BIG], pa.string_view())
    views = np.tile(np.frombuffer(view.buffers()[1], np.uint8)[:16], rows)
    return pa.Array.from_buffers(pa.string_view(), rows, [None, pa.py_buffer(views), *view.buffers()[2:]])


def gold(rows=1000):
    return pa.array(["x"] * rows)


@pytest.mark.parametrize("column", ["dictionary", "lists"])
def test_parquet_whose_rows_share_a_large_text(tmp_path, column):
    path = tmp_path / "rows.parquet"
    names = {"dictionary": "prediction", "lists": "references"}
    other = {"prediction": "reference", "references": "prediction"}[names[column]]
    pq.write_table(pa.table({names[column]: shared(column), other: gold()}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    assert score_in_a_gigabyte(path) == (0.0, 1000)


@pytest.mark.parametrize("column", ["dictionary", "runs", "view"])
def test_arrow_whose_rows_share_a_large_text(tmp_path, column):
    path, table = tmp_path / "rows.arrow", pa.table({"prediction": shared(column), "gold": gold()})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    assert score_in_a_gigabyte(path) == (0.0, 1000)


@pytest.mark.parametrize("column", ["dictionary", "runs", "view"])
def test_frames_and_readers_are_cut_by_their_bytes(column):
    table = pa.table({"prediction": shared(column, 200), "gold": gold(200)})
    for source in (table, pa.RecordBatchReader.from_batches(table.schema, table.to_batches())):
        batches = list(open_source(source).batches())
        assert max(batch.nbytes for batch in batches) < 64 << 20
        assert sum(map(len, batches)) == 200


def test_lists_of_parquet_that_a_few_bytes_stand_for_are_refused(tmp_path):
    path, count = tmp_path / "rows.parquet", 100_000_000
    lists = pa.LargeListArray.from_arrays(pa.array([0, count]), pa.array(np.zeros(count, np.int64)))
    pq.write_table(pa.table({"prediction": ["a"], "gold": ["a"], "numbers": lists}), path, compression="zstd")
    assert "column 'numbers" in score_in_a_gigabyte(path)


def test_one_row_that_is_too_large_is_named(tmp_path):
    path = tmp_path / "rows.parquet"
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 501], pa.int32()), shared("dictionary", 501))
    pq.write_table(pa.table({"prediction": ["x", "x"], "references": lists}), path, compression="zstd")
    message = score_in_a_gigabyte(path)
    assert "rows.parquet, row 2: 953 MB, but a row may have at most 256 MB" in message


@pytest.mark.parametrize(
    ("name", "start", "end", "message"),
    [
        ("rows.jsonl.gz", b'{"prediction":"', b'","gold":"a"}\n', "line 2: more than 64 MB"),
        ("rows.jsonl", b'{"prediction":"', b'","gold":"a"}\n', "line 2: more than 64 MB"),
        ("rows.jsonl.zst", b'{"prediction":"', b'","gold":"a"}\n', "line 2: more than 64 MB"),
        ("rows.csv.gz", b"", b",a\n", "line 2: more than 64 MB"),
        ("rows.tsv.zst", b"", b"\ta\n", "line 2: more than 64 MB"),
        ("rows.json.gz", b',{"prediction":"', b'","gold":"a"}]', "more than 16 MB"),
        ("document.json.gz", b'{"q1":"', b'"}', "more than 256 MB"),
    ],
)
def test_a_line_or_a_document_that_is_too_long_is_refused_before_it_is_read_whole(tmp_path, name, start, end, message):
    first = {"jsonl": b'{"prediction":"a","gold":"a"}\n', "csv": b"prediction,gold\n", "tsv": b"prediction\tgold\n"}
    head = first.get(name.split(".")[1], b'[{"prediction":"a","gold":"a"}' if name.startswith("rows") else b"")
    path = tmp_path / name
    codec = {"gz": "gzip", "zst": "zstd"}.get(name.rpartition(".")[2])
    with pa.output_stream(str(path), compression=codec) as file:
        file.write(head + start)
        for _ in range(500):
            file.write(MILLION)
        file.write(end)
    assert codec is None or path.stat().st_size < 1 << 20
    told = score_in_a_gigabyte(path)
    assert name in told
    assert message in told


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_many_large_rows_after_small_ones_are_read_few_at_a_time(tmp_path, form):
    path = tmp_path / f"rows.{form}.gz"
    small, large = (
        (b"a,a\n", MILLION + b",a\n")
        if form == "csv"
        else (b'{"prediction":"a","gold":"a"}\n', b'{"prediction":"' + 8 * MILLION + b'","gold":"a"}\n')
    )
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"prediction,gold\n" if form == "csv" else b"")
        file.write(small * 10_000)
        for _ in range(800_000_000 // len(large)):
            file.write(large)
    rows = 10_000 + 800_000_000 // len(large)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, path], capture_output=True, text=True, check=True, timeout=300
    )
    told, most = done.stdout.rsplit("\n", 2)[:2]
    [metric] = json.loads(told)["metrics"]
    assert (metric["value"], metric["n"]) == (10_000 / rows, rows)
    assert int(most) < GB


def test_a_cell_of_csv_may_be_longer_than_the_limit_of_the_standard_library(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"prediction,gold\n" + b"a,a\n" * 10 + (3 * MILLION + b',"a\nb"\n') * 3)
    assert karat.score(path, "exact_match").values["exact_match"].value == 10 / 13
