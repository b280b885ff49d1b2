"""Text that is not UTF-8 is found wherever Arrow's own, slower check finds it."""

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.errors import DataError, RowError
from karat.data.formats.validate import _check_cells, validate_source
from karat.data.source import Source


def is_refused(column):
    try:
        _check_cells(pa.RecordBatch.from_arrays([column], ["text"]), "file", 0)
    except (RowError, DataError):
        return True
    return False


def is_invalid(column):
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return True
    return False


cells = st.none() | st.binary(max_size=9) | st.text(max_size=9).map(str.encode)


@given(st.lists(cells, max_size=9), st.integers(0, 3), st.sampled_from([pa.string(), pa.large_string()]))
def test_cells_are_refused_as_arrow_refuses_them(cells, first, kind):
    stored = pa.array(cells, pa.binary() if kind == pa.string() else pa.large_binary())
    column = pa.Array.from_buffers(kind, len(cells), stored.buffers())[first:]
    assert is_refused(column) == is_invalid(column)


@given(st.lists(st.integers(-2, 12), max_size=6), st.sampled_from([b"plain text", b"plain \xff"]))
def test_damaged_offsets_are_refused(inner, content):
    offsets = [0, *inner, len(content)]  # Arrow itself checks the ends when a file is read
    buffers = [None, pa.py_buffer(struct.pack(f"<{len(offsets)}i", *offsets)), pa.py_buffer(content)]
    column = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
    assert is_refused(column) == is_invalid(column)


@given(
    st.sampled_from([pa.int64(), pa.bool_(), pa.float32(), pa.string(), pa.large_string(), pa.date32()]),
    st.lists(st.booleans(), min_size=1, max_size=20),
    st.integers(0, 3),
    st.integers(0, 20),
)
def test_another_number_of_nulls_than_there_are_is_refused(kind, there, first, nulls):
    stored = pa.array([0 if each else None for each in [*there, False]], pa.int32()).cast(
        kind
    )  # a null, so that there are bits
    column = pa.Array.from_buffers(kind, len(there), stored.buffers(), min(nulls, len(there)))[first:]
    assert is_refused(column) == is_invalid(column)


def test_a_cell_that_is_not_utf_8_is_named():
    column = pa.Array.from_buffers(pa.string(), 3, pa.array([b"a", b"\xff", b"b"], pa.binary()).buffers())
    with pytest.raises(RowError, match="file, column 'text', row 12: "):
        _check_cells(pa.RecordBatch.from_arrays([column], ["text"]), "file", 10)


def test_a_buffer_that_is_longer_than_its_numbers_is_read():
    buffers = [None, pa.py_buffer(struct.pack("3i", 0, 1, 3) + b"\0"), pa.py_buffer(b"abc")]
    assert not is_refused(pa.Array.from_buffers(pa.string(), 2, buffers))


@given(
    st.lists(st.none() | st.lists(st.binary(max_size=3), max_size=3), max_size=9), st.integers(0, 3), st.integers(0, 9)
)
def test_of_lists_the_cells_of_the_slice_are_checked(lists, first, size):
    stored = pa.array([lists], pa.list_(pa.list_(pa.binary()))).values
    texts = stored.values
    texts = pa.Array.from_buffers(pa.string(), len(texts), texts.buffers())
    column = pa.ListArray.from_arrays(stored.offsets, texts, mask=stored.is_null())[first:][:size]
    cells = [cell for each in lists[first:][:size] for cell in each or []]
    assert is_refused(column) == any(cell.decode(errors="replace").encode() != cell for cell in cells)


def test_the_row_of_a_list_is_named_though_it_is_in_a_later_batch():
    texts = pa.Array.from_buffers(pa.string(), 4, pa.array([b"a", b"b", b"c", b"\xff"], pa.binary()).buffers())
    column = pa.ListArray.from_arrays([0, 2, 3, 4], texts)
    _check_cells(pa.RecordBatch.from_arrays([column[:2]], ["texts"]), "file", 0)
    with pytest.raises(RowError, match="file, column 'texts', row 3: "):
        _check_cells(pa.RecordBatch.from_arrays([column[2:]], ["texts"]), "file", 2)


def test_another_number_of_null_lists_than_there_are_is_refused():
    stored = pa.array([["a"], None, []])
    column = pa.Array.from_buffers(stored.type, 3, stored.buffers()[:2], 2, children=[stored.values])
    assert is_refused(column)
    assert is_invalid(column)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_file_that_gives_other_rows_than_it_says_is_refused(rows):
    batch = pa.record_batch({"text": ["a", "b"]})
    source = Source("file", batch.schema, rows, lambda: iter([batch]))
    with pytest.raises(DataError, match=f"^file: expected {rows} rows, found 2: is it damaged"):
        list(validate_source(source, checked=False).batches())
