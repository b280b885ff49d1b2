from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest

from karat.core.errors import ColumnError, DataError, RowError
from karat.data.open import open_source


def rows(path):
    return [row for batch in open_source(path).batches() for row in batch.to_pylist()]


def put(tmp_path, content, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        'id,a\n007,1e3\n2020-01-01,true\nnull,NaN\n,""\n',
        'id,a\n1,"x\ny, ""z"""\n2, spaced \n',
        "id,a\r\n1,2\r\n3,4",
        "id,Answer,answer\n1,x,y\n",
        'a\nx\n""\n',
        'id,a\n1,said "so" he\n',
        "id,a\n1,x\x00y\n",
        "id,a\n",
    ],
)
def test_csv_reads_as_the_standard_library_reads_it(tmp_path, content):
    expected = list(csv.DictReader(io.StringIO(content, newline="")))
    assert rows(put(tmp_path, content)) == expected


@pytest.mark.parametrize(
    "content",
    [
        "id,a\r\n1,x\n2,y\r\n",
        'id,a\n1,"x\r\ny"\n2,z\r\n\n3,\r\n',
        "id,a\n" + "1,x\n" * 200_000 + "2,y\r\n3,z\n",
        f"id,a\n1,x\n2,{'y' * (5 << 20)}\n3,z\n",
        'id,a\n1,x\n2,"' + 'y ""y""\n' * (1 << 20) + '"\n3,z\n',
    ],
    ids=["first", "quoted", "late", "long", "many lines"],
)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_what_duckdb_does_not_read_reads_all_the_same(tmp_path, content, name):
    limit = csv.field_size_limit(1 << 30)
    expected = list(csv.DictReader(io.StringIO(content, newline="")))
    csv.field_size_limit(limit)
    assert rows(put(tmp_path, content.replace(",", "," if name == "a.csv" else "\t"), name)) == expected


def test_a_column_of_its_own_keeps_empty_lines_whatever_reads_it(tmp_path):
    expected = [{"a": "x"}, {"a": ""}, {"a": "y"}]
    assert rows(put(tmp_path, "a\nx\n\ny\n")) == rows(put(tmp_path, "a\nx\n\r\ny\n")) == expected


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    assert rows(put(tmp_path, b"\xef\xbb\xbfid,a\n1,2\n")) == [{"id": "1", "a": "2"}]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("id,a\n1,2\n3\n", 3, "expected 2 cells as in the header, found 1"),
        ('id,a\n1,"x\ny"\n3,4,5\n', 4, "expected 2 cells as in the header, found 3"),
        (b"id,a\n1,2\n3,\xff\n", 3, "not UTF-8|byte 3"),
        ('id,a\n1,"unclosed\n2,3\n', 2, "unexpected end of data"),
        ('id,a\n1,"x" y\n', 2, "expected after"),
        ("id,a\n" + "1,x\n" * 200_000 + "1,2,3\n", 200_002, "found 3"),
        ("id,a\n1,x\n2,y\r\n3\n", 4, "found 1"),
    ],
)
def test_a_row_that_does_not_read_is_named(tmp_path, content, line, reason):
    with pytest.raises(RowError, match=rf"a\.csv.*line {line}.*({reason})"):
        rows(put(tmp_path, content))


@pytest.mark.parametrize("quoted", ['"a" b', '5" disk'])
def test_tsv_without_quoting_is_read_literally(tmp_path, quoted):
    assert rows(put(tmp_path, f"id\ta\n1\t{quoted}\n2\tx\n", "a.tsv")) == [
        {"id": "1", "a": quoted},
        {"id": "2", "a": "x"},
    ]


def test_tsv_with_quoting_is_unquoted(tmp_path):
    assert rows(put(tmp_path, 'id\ta\n1\t"x\ty"\n', "a.tsv")) == [{"id": "1", "a": "x\ty"}]


def test_a_header_with_a_name_twice_is_refused(tmp_path):
    with pytest.raises(ColumnError, match="'a' more than once"):
        open_source(put(tmp_path, "a,b,a\n"))


def test_a_file_without_a_header_is_refused(tmp_path):
    with pytest.raises(DataError, match="is empty; expected rows"):
        open_source(put(tmp_path, ""))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("id;x\n1;0,5\n2;1,5\n", [{"id": "1", "x": "0,5"}, {"id": "2", "x": "1,5"}]),  # a spreadsheet's, in Europe
        ('id;x, y\n1;"a;b"\n', [{"id": "1", "x, y": "a;b"}]),
        ("id,a;b\n1,2\n", [{"id": "1", "a;b": "2"}]),
        ("a;b\none cell\n", [{"a;b": "one cell"}]),
        ("a;b;c,d;e\n1;2;3,4;5\n", [{"a;b;c": "1;2;3", "d;e": "4;5"}]),  # both fit: a comma, as the name says
    ],
)
def test_semicolons_are_recognised_by_content(tmp_path, text, rows):
    (tmp_path / "a.csv").write_text(text)
    source = open_source(tmp_path / "a.csv")
    assert [row for batch in source.batches() for row in batch.to_pylist()] == rows


@pytest.mark.parametrize("first", ["", "sep=;\n", '"sep=;"\r\n', "\ufeffsep=;\n"])
@pytest.mark.parametrize("rows", [3, 200])
def test_the_delimiter_that_a_spreadsheet_wrote_is_taken(tmp_path, first, rows):
    path = tmp_path / "labels.csv"
    path.write_text(first + "id;label\n" + '"1;2";"a, b"\n' * rows, "utf-8", newline="")
    found = pa.Table.from_batches(open_source(str(path)).batches())
    assert found.to_pylist() == [{"id": "1;2", "label": "a, b"}] * rows


def test_a_csv_file_with_tabs_is_read_and_a_tab_in_a_cell_is_no_delimiter(tmp_path):
    tabs, commas = tmp_path / "tabs.csv", tmp_path / "commas.csv"
    tabs.write_text("id\tlabel\n1\ta, b\n", "utf-8")
    commas.write_text("id,a\tlabel\n1,x\ty\n", "utf-8")
    assert next(open_source(str(tabs)).batches()).to_pylist() == [{"id": "1", "label": "a, b"}]
    assert next(open_source(str(commas)).batches()).to_pylist() == [{"id": "1", "a\tlabel": "x\ty"}]


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_another_encoding_says_how_to_save_the_file(tmp_path, encoding):
    path = tmp_path / "labels.csv"
    path.write_text("id,label\nété,gut\n", encoding)
    with pytest.raises((DataError, RowError), match=r"not UTF-8.*; save it as CSV UTF-8"):
        list(open_source(str(path)).batches())


def test_a_short_row_after_the_line_of_a_spreadsheet_is_named_by_its_line(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("sep=;\nid;label\n1;a\n2\n", "utf-8")
    with pytest.raises((DataError, RowError), match="line 4: expected 2 cells"):
        list(open_source(str(path)).batches())
