"""Files whose names, folders, rows or bytes are odd: read as they are, or refused with the reason."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import pickle
import re
import sqlite3
import struct
import sys
import tarfile
import zipfile
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from karat.core.columns.json_text import RAW
from karat.core.errors import ColumnError, DataError, RowError, SpecError
from karat.data.open import open_source
from karat.data.storage.duckdb import interruptible
from karat.data.write import write

TEXTS = pa.table({"a": [f"{i * 7919 % 100_003}" for i in range(100_000)]})
BROKEN = pa.Array.from_buffers(
    pa.string(), 3, [None, pa.py_buffer(struct.pack("4i", 0, 1, 2, 3)), pa.py_buffer(b"a\xffc")]
)


def name_case(value):
    """The name of a case without its bytes: compressed ones hold the time, and pytest's workers need one name."""
    return "bytes" if isinstance(value, bytes) else None


def rows(data):
    return [row for batch in open_source(data).as_values().batches() for row in batch.to_pylist()]


def put(tmp_path, name, content):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "tsv"])
@pytest.mark.parametrize(("name", "other"), [("w[1]", "w1"), ("x*y", "xzy"), ("q?", "qq"), ("~x", "x"), ("a'b", "ab")])
def test_a_name_that_is_a_pattern_too_is_that_file_only(tmp_path, monkeypatch, kind, name, other):
    monkeypatch.chdir(tmp_path)
    for stem in (name, other):
        content = f'{{"a": "{stem}"}}\n' if "json" in kind else f"a\n{stem}\n"
        put(tmp_path, f"{stem}.{kind}", f"[{content}]" if kind == "json" else content)
    assert rows(f"{name}.{kind}") == [{"a": name}]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_names_of_folders_are_no_columns(tmp_path, name):
    content = {"a.csv": "a\nx\n", "a.jsonl": '{"a": "x"}\n', "a.json": '[{"a": "x"}]'}[name]
    assert rows(put(tmp_path, f"a=wrong/year=2020/{name}", content)) == [{"a": "x"}]


@pytest.mark.parametrize("before", [0, 3])
def test_the_last_row_is_read_however_long_it_is(tmp_path, before):
    path = put(tmp_path, "a.csv", b"a,b\n" + b"a,a\n" * before + b"x" * 35_000_000 + b",b\n")
    lengths = [(len(row["a"]), row["b"]) for row in rows(path)]
    assert lengths == [(1, "a")] * before + [(35_000_000, "b")]


def test_json_of_one_object_with_a_long_text_says_how_long_it_may_be(tmp_path):
    path = put(tmp_path, "a.jsonl", '{"a": "x"}\n{"a": "' + "y" * 40_000_000 + '"}\n')
    with pytest.raises(RowError, match=r"a\.jsonl, line 2: 38 MB, but a row may have at most 16 MB"):
        rows(path)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('p\tr\n5 in\t"6 in\nc\td"\ne\te\n', [("5 in", '"6 in'), ("c", 'd"'), ("e", "e")]),
        ('"p"\t"r"\n"5 in"\t"6 in\nc\td"\n"e"\t"e"\n', [("5 in", "6 in\nc\td"), ("e", "e")]),
        ('p\tr\na\t"x\ny"\n', [("a", "x\ny")]),
    ],
    ids=["plain", "header quoted", "a line is short"],
)
def test_quotes_in_tsv_join_lines_only_where_the_file_quotes(tmp_path, content, expected):
    assert [tuple(row.values()) for row in rows(put(tmp_path, "a.tsv", content))] == expected


def test_tsv_with_tabs_newlines_and_quotes_reads_back(tmp_path):
    table = pa.table({"p": ["5 in", "c\td", 'say "hi"', '"'], "r": ['"6 in\nc\td"', "e\nf\tg", "", "x"]})
    write(table.to_batches(), table.schema, tmp_path / "a.tsv")
    assert rows(tmp_path / "a.tsv") == table.to_pylist()
    write(table.select(["r"]).to_batches(), table.select(["r"]).schema, tmp_path / "one.tsv")
    assert rows(tmp_path / "one.tsv") == table.select(["r"]).to_pylist()


def test_text_that_is_not_utf_8_is_named(tmp_path):
    broken = pa.table({"ok": ["1", "2", "3"], "a": BROKEN})
    deep = pa.table({"a": pa.ListArray.from_arrays([0, 1, 3], BROKEN)})
    pq.write_table(broken, tmp_path / "a.parquet")
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), broken.schema) as writer:
        writer.write_table(broken)
    for data in (tmp_path / "a.parquet", tmp_path / "a.arrow", broken, deep):
        with pytest.raises(RowError, match=r"column 'a', row 2: .*UTF8"):
            rows(data)


def _break(content, many):
    middle = len(content) // 2
    return content[:middle] + b"\xff" * many + content[middle + many :]


def _parquet():
    pq.write_table(TEXTS, sink := io.BytesIO())
    return sink.getvalue()


def _arrow(new):
    with new(sink := io.BytesIO(), TEXTS.schema) as writer:
        writer.write_table(TEXTS)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl.gz", gzip.compress("".join(f'{{"a": "{x}"}}\n' for x in TEXTS["a"]).encode())[:-4000]),
        ("a.csv.gz", gzip.compress("\n".join(["a", *TEXTS["a"].to_pylist()]).encode())[:-4000]),
        ("a.parquet", _break(_parquet(), 2000)),
        ("a.arrow", _arrow(pa.ipc.new_stream)[:-3000]),
        ("b.arrow", _arrow(pa.ipc.new_file)[:-3000]),
    ],
    ids=name_case,
)
def test_a_damaged_file_is_named(tmp_path, name, content):
    with pytest.raises(DataError, match=rf"{name}: "):
        rows(put(tmp_path, name, content))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.run"])
@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_compressed_file_that_is_cut_off_or_damaged_is_refused(tmp_path, name, ending):
    """DuckDB reads the rows before the cut, or what the damaged bytes become."""
    forms = {"jsonl": '{{"a": "{}"}}', "json": '{{"a": "{}"}}', "run": "q{0} Q0 d{0} 1 0.5 x"}
    head = [] if name[2:] in forms else ["a"]
    texts = [forms.get(name[2:], "{}").format(text) for text in np.random.default_rng(0).integers(1 << 60, size=9_000)]
    content = "[" + ",".join(texts) + "]" if name == "a.json" else "\n".join([*head, *texts]) + "\n"
    packed = gzip.compress(content.encode()) if ending == "gz" else pa.compress(content.encode(), "zstd", asbytes=True)
    assert len(rows(put(tmp_path, f"{name}.{ending}", packed))) == 9_000
    damaged = [_break(packed, 1)] if ending == "gz" else []  # zstd needs no checksum
    for each in [packed[:-cut] for cut in (1, 8, 4_000)] + damaged:
        with pytest.raises(DataError, match=rf"{name}\.{ending}: .*cut off or damaged"):
            rows(put(tmp_path, f"{name}.{ending}", each))


def test_columns_with_one_name_are_refused(tmp_path):
    table = pa.table([["a"], ["b"]], names=["x", "x"])
    pq.write_table(table, tmp_path / "a.parquet")
    for data in (tmp_path / "a.parquet", table):
        with pytest.raises(ColumnError, match="'x' more than once"):
            open_source(data)


@pytest.mark.parametrize("value", ["[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, "[" * 500 + "]" * 500])
@pytest.mark.parametrize(("name", "before"), [("a.jsonl", ""), ("a.jsonl", '{"prediction": "x"}\n'), ("a.json", "")])
def test_json_too_deep_is_refused(tmp_path, value, name, before):
    if len(value) == 1000:  # it stays JSON text, which is never parsed
        assert rows(put(tmp_path, name, f'{before}{{"prediction": {value}, "n": 1}}\n'))[-1]["prediction"] == value
        return
    with pytest.raises(RowError, match="more than 128 deep"):
        rows(put(tmp_path, name, f'{before}{{"prediction": {value}, "n": 1}}\n'))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("\ud800", "surrogate"),
        (["x\udfff"], "surrogate"),
        (object(), "column 'a', row 2: .*object"),
    ],
)
def test_a_value_that_is_no_text_is_named(value, reason):
    with pytest.raises(DataError, match=reason):
        open_source({"a": ["x", value]})


def test_whole_numbers_of_any_length_keep_all_digits():
    assert rows({"a": [10**30, 7]}) == [{"a": str(10**30)}, {"a": "7"}]
    assert open_source({"a": [10**30]}).schema.types == [RAW]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ('"x"', '["y"]', ['"x"', '["y"]']),
        ("1", '"x"', ["1", '"x"']),
        ("1.10", '[1.20, "x"]', ["1.10", '[1.20, "x"]']),
        ("true", "1", ["true", "1"]),
        ("null", '["x"]', [None, ["x"]]),
        ("1", "2.5", [1.0, 2.5]),
    ],
)
def test_files_of_json_are_united_as_one_file_would_be(tmp_path, first, second, expected):
    put(tmp_path, "a.jsonl", f'{{"k": {first}}}\n')
    put(tmp_path, "b.jsonl", f'{{"k": {second}}}\n')
    one = put(tmp_path, "one.txt", f'{{"k": {first}}}\n{{"k": {second}}}\n')
    united = [row for batch in open_source(f"{tmp_path}/*.jsonl").batches() for row in batch.to_pylist()]
    assert united == [row for batch in open_source(one).batches() for row in batch.to_pylist()]
    assert [row["k"] for row in rows(f"{tmp_path}/*.jsonl")] == expected


def test_a_link_to_nowhere_and_a_closed_input_are_told(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").symlink_to("nowhere")
    with pytest.raises(DataError, match=r"a\.jsonl is a link to nowhere, which does not exist"):
        open_source(tmp_path / "a.jsonl")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="standard input is closed"):
        open_source("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(DataError, match="standard input is empty; expected rows"):
        open_source("-")


@pytest.mark.parametrize("threads", ["0", "abc"])
def test_a_number_of_threads_that_is_none_is_refused(tmp_path, monkeypatch, threads):
    path = put(tmp_path, "a.jsonl", '{"a": "x"}\n{"b": 1}\n')  # rows that are not alike are read by DuckDB
    monkeypatch.setenv("KARAT_THREADS", threads)
    with pytest.raises(SpecError, match="KARAT_THREADS"):
        open_source(path)


def test_an_interrupted_query_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="else"), interruptible():
        raise RuntimeError("something else")


def test_a_name_that_is_not_utf8_is_a_plain_error(tmp_path):
    path = put(tmp_path, "\udcff\udcfe.csv", "a\n1\n")
    with pytest.raises(DataError, match=r"udcff.*the name of this file is not UTF-8"):
        open_source(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_name_of_a_column_that_is_not_utf_8_is_told(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    source = open_source({"prediction": ["x"]})
    write(source.batches(), source.schema, path)
    path.write_bytes(path.read_bytes().replace(b"prediction", b"\xffrediction"))
    with pytest.raises(DataError, match=rf"a\.{kind}: the name of a column is not UTF-8"):
        open_source(path)


@pytest.mark.parametrize("content", [pa.array([1, 2, 3]), BROKEN], ids=["numbers", "broken text"])
def test_a_list_that_ends_beyond_its_content_is_refused_before_it_is_touched(tmp_path, content):
    lists, path = pa.ListArray.from_arrays([0, 1, 3], content), tmp_path / "a.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, pa.schema([("a", lists.type)])) as out:
        out.write_batch(pa.record_batch([lists], ["a"]))
    ends, damaged = struct.pack("3i", 0, 1, 3), struct.pack("3i", 0, 1, 2_000_000)
    assert path.read_bytes().count(ends) == 1
    path.write_bytes(path.read_bytes().replace(ends, damaged))
    with pytest.raises(DataError, match=r"a\.arrow, column 'a': "):
        rows(path)


def zipped(*names):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * 100)
    return content.getvalue()


def archived():
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("rows.jsonl"))
    return content.getvalue()


def arrow():
    feather.write_feather(pa.table({"a": ["x"]}), content := io.BytesIO())
    return content.getvalue()


def parquet():
    pq.write_table(pa.table({"a": ["x"]}), content := io.BytesIO())
    return content.getvalue()


def database():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (a)")
        return connection.serialize()


ROWS = 'a,b\n"x",y\n'
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"
PAGE = "\n<!DOCTYPE html>\n<html><body>Log in</body></html>"
FOREIGN = [  # the name, the content, what is said
    ("rows.xlsx", zipped("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml"), "workbook; save its sheet as CSV"),
    ("rows.csv", zipped("[Content_Types].xml", "xl/workbook.xml"), "a workbook; save its sheet as CSV UTF-8"),
    ("rows.jsonl", zipped("rows.jsonl"), "a zip archive or a document; unpack it"),
    ("rows.parquet", zipped("word/document.xml"), "a zip archive or a document"),
    ("rows.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "an old workbook or document; save its sheet"),
    ("rows.tar", archived(), "a tar archive; unpack it"),
    ("rows.tar.gz", gzip.compress(archived()), "a tar archive; unpack it"),
    ("rows.csv", gzip.compress(ROWS.encode()), "compressed with gzip; give it a name that ends in .gz"),
    ("rows.csv", pa.compress(ROWS.encode(), "zstd", asbytes=True), "compressed with zstd; .* ends in .zst"),
    ("rows.jsonl.xz", lzma.compress(ROWS.encode()), "compressed with xz; unpack it"),
    ("rows.csv.bz2", bz2.compress(ROWS.encode()), "compressed with bzip2; unpack it"),
    ("rows.parquet", POINTER, "a pointer of Git LFS, and not the file; fetch it with git lfs pull"),
    ("rows.jsonl", POINTER, "a pointer of Git LFS"),
    ("rows.db", database(), "an SQLite database; write its table as CSV"),
    ("rows.pdf", "%PDF-1.7\n", "a PDF; JSON Lines, JSON, CSV, TSV, Parquet or Arrow is expected"),
    ("rows.pkl", pickle.dumps({"a": ["x"]}), "a pickle"),
    ("rows.csv", PAGE, "a web page or XML, perhaps instead of the file"),
    ("rows.json", PAGE, "a web page or XML"),
    ("rows.ipynb", '{"cells": [], "nbformat": 4}', "a notebook"),
    *((f"rows.{kind}", ROWS.encode(form), "UTF-16 or UTF-32, not UTF-8; save it as CSV UTF-8") for kind, form in
      itertools.product(("csv", "tsv", "jsonl", "txt"), ("utf-16", "utf-16-le", "utf-16-be", "utf-32"))),
    ("rows.csv", parquet(), "Parquet; give it a name that ends in .parquet"),
    ("rows.jsonl", arrow(), "Arrow; give it a name that ends in .arrow"),
    ("rows.arrow", parquet(), "Parquet; give it a name that ends in .parquet"),
    ("rows.parquet", '{"a": 1}', "not Parquet, but begins like JSON"),
    ("rows.parquet", ROWS, "not Parquet, but begins like text"),
    ("rows.arrow", '{"a": 1}', "not Arrow, but begins like JSON"),
    ("rows.jsonl.gz", '{"a": 1}', "not compressed, as .gz says; take that ending off its name"),
    ("rows.csv.zst", ROWS, "not compressed, as .zst says; take that ending off its name"),
    ("rows.csv.gz", gzip.compress(ROWS.encode())[:20], "is it cut off"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "what"), FOREIGN, ids=name_case)
def test_a_file_that_holds_no_rows_says_what_it_is_and_what_to_do(tmp_path, name, content, what):
    path = put(tmp_path, name, content)
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}(:| is) .*{what}"):
        open_source(path)


@pytest.mark.parametrize(
    ("content", "name"), [(parquet(), "rows"), (arrow(), "rows"), (gzip.compress(b"a\nx\n"), "a.gz")], ids=name_case
)
def test_a_file_without_an_ending_is_known_by_its_bytes(tmp_path, content, name):
    assert rows(put(tmp_path, name, content)) == [{"a": "x"}]


def test_the_pattern_for_a_folder_fits_the_files_in_it(tmp_path):
    put(tmp_path, "b.csv", "a\nx\n")
    put(tmp_path, "notes.txt", "x")
    with pytest.raises(DataError, match=r"is a folder; to read the files in it, write .*\*\.csv$"):
        open_source(tmp_path)
