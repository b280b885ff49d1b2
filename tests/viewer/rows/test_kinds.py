"""Rows of runs whose columns are of every type that Parquet holds, and of runs whose paths look like patterns."""

import datetime as dt
import json
import uuid
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.core.errors import KaratError
from karat.data.storage.checksums import seal
from karat.runs.store.run import open_run
from karat.viewer.rows.display import show_rows
from karat.viewer.rows.facets import count_facets, keep_others, list_facets
from karat.viewer.rows.fields import Condition, Field, Order
from karat.viewer.rows.filters import keep_rows, sort_rows
from karat.viewer.rows.table import match_rows

LARGE, DAY, BYTES = 2**53 + 1, dt.datetime(2020, 1, 1), [b"\xff\xfe", b"ab"]  # noqa: DTZ001  (types without a zone are tested too)
TENSOR = pa.fixed_shape_tensor(pa.int8(), [2])
VALUES = [
    *[pa.array(np.array([1, 2], kind)) for kind in (np.int8, np.uint64, np.float16, np.float32)],
    *[pa.array([LARGE, None], kind) for kind in (pa.int64(), pa.uint64(), pa.int64())],
    pa.array([1, LARGE]).dictionary_encode(), pa.array([2**64 - 1, 0], pa.uint64()), pa.nulls(2),
    pa.array([Decimal("1.5"), None]), pa.array([Decimal(10) ** 50, None], pa.decimal256(60, 2)),
    pa.array([True, None]), pa.array([1, 0], pa.int8()).cast(pa.bool8()),
    *[pa.array(["a", None], kind) for kind in (pa.string(), pa.large_string(), pa.string_view())],
    pa.array(["a", "b"]).dictionary_encode(),
    *[pa.array(BYTES, kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2))],
    pa.array(BYTES).dictionary_encode(), pa.array([b"a", b"b"]),
    pa.ExtensionArray.from_storage(pa.opaque(pa.binary(), "a", "b"), pa.array(BYTES)),
    pa.array([uuid.UUID(int=2**127 + 255).bytes, None], pa.uuid()), pa.array(['{"a": 1}', None], pa.json_()),
    *[pa.array([DAY, None], pa.timestamp(unit, zone)) for unit in ("s", "ns") for zone in (None, "UTC", "+01:00")],
    *[pa.array([DAY.date(), None], kind) for kind in (pa.date32(), pa.date64())],
    *[pa.array([dt.time(1), None], kind) for kind in (pa.time32("s"), pa.time64("ns"))],
    pa.array([dt.timedelta(1), None]), pa.array([["a"], None]), pa.array([{"a": 1}, None]),
    pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    pa.ExtensionArray.from_storage(TENSOR, pa.array([[1, 2], [3, 4]], TENSOR.storage_type)),
]  # fmt: skip
NAMES = [f"c{at}" for at in range(len(VALUES))]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A run with a column of each type, every value four times."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("runs")
        patch.setenv("KARAT_RUNS", str(folder))
        karat.score({"id": list("abcdefgh"), "prediction": ["x"] * 8, "gold": ["x", "y"] * 4}, "exact_match", run="a")
        rows = pq.read_table(folder / "a" / "rows.parquet")
        for name, values in zip(NAMES, VALUES, strict=True):
            rows = rows.append_column(name, pa.chunked_array([values] * 4))
        pq.write_table(rows, folder / "a" / "rows.parquet")
        manifest = json.loads((path := folder / "a" / "manifest.json").read_text())
        path.write_text(json.dumps(seal(manifest | {"files": {}})))  # other rows than were written
        yield match_rows([open_run("a")])


def test_rows_with_every_type_are_shown_and_counted(table):
    shown = [*show_rows(table, np.arange(8)), show_rows(table, np.array([0]), whole=True)[0]]
    json.dumps(shown, allow_nan=False)
    assert shown[-1]["columns"].keys() == {"id", *NAMES}
    counted = count_facets(table, keep_others(table, []), list_facets(table))
    assert {"reason", *table.facets} == {each["title"] for each in counted}
    others = {str(values.type) for name, values in zip(NAMES, VALUES, strict=True) if name not in table.facets}
    without = ("binary", "float", "decimal", "list", "struct", "map", "uuid", "opaque", "tensor", "null")
    assert not [kind for kind in others if not any(each in kind for each in without)]
    assert sum("binary" in kind for kind in others) == 6, others


@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_any_type_is_sorted_and_filtered_or_refused(table, name):
    field = Field("column", name)
    for condition in ("missing", ()), ("between", (0, None)), ("contains", ("a",)), ("in", ("a",)):
        with suppress(KaratError):
            assert len(keep_rows(table, [Condition(field, *condition)])) == 8
    with suppress(KaratError):
        assert sorted(sort_rows(table, Order(field))) == list(range(8))


def test_whole_numbers_beyond_those_of_a_float_are_numbers(table):
    for name in NAMES[4:9]:
        field = Field("column", name)
        assert keep_rows(table, [Condition(field, "between", (2**53, None))]).sum() == 4
        assert sort_rows(table, Order(field, descending=True)).shape == (8,)


@pytest.mark.parametrize("name", ["we[i]rd", "a*b?", "[*]", "it's {a,b}", "x/../y[1]"])
def test_a_folder_that_looks_like_a_pattern_is_read(tmp_path, monkeypatch, name):
    (tmp_path / "x").mkdir()
    (tmp_path / name).mkdir()
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / name))
    karat.score({"id": ["a"], "prediction": ["x"], "gold": ["x"]}, "exact_match", run="r")
    (shown,) = show_rows(match_rows([open_run("r")]), np.array([0]))
    assert shown["id"] == "a"
