"""Every type of Arrow in every place where a column may stand: it works there, or one sentence says what to do."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import karat
from karat.core.errors import ColumnError, DataError
from karat.data.open import open_source
from karat.metrics import exact_match

NOON, DAY = datetime(2020, 1, 2, 12, 0, 5), date(2020, 1, 2)  # noqa: DTZ001
REFUSED = None


class OwnText(pa.ExtensionType):
    def __init__(self, storage=pa.string()):  # noqa: B008  (a type, which nobody changes)
        super().__init__(storage, "karat.tests")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)


@dataclass(frozen=True)
class Case:
    """Two different values of a type, what they are in JSON and CSV, and where they may stand.

    `group`: as the labels of groups, `ids`: also as ids; `text`: as texts to be scored; `number`: as scores.
    """

    values: pa.Array
    json: tuple[Any, Any]
    group: tuple[str, str] | None = None
    csv: tuple[str, str] | None = None
    text: tuple[str, str] | None = None
    number: bool = False
    ids: bool = True


def texts(values):
    return Case(values, ("a", "b"), ("a", "b"), text=("a", "b"))


def ints(values, first, second):
    return Case(values, (first, second), (str(first), str(second)), text=(str(first), str(second)), number=True)


def numbers(values, json, group, csv=None):
    return Case(values, json, group, csv, number=True)


def times(values, json, group=None, csv=None):
    return Case(values, json, group or json, csv)


def nested(values, json):
    return Case(values, json, csv=tuple(map(_dumps, json)))


def _dumps(value):
    return json.dumps(value, separators=(",", ":"))


def mixed(values):
    """Values of several types: JSON text."""
    return Case(values, ("a", 7), ("a", "7"), ('"a"', "7"), text=("a", "7"))


def mixed_inside(values, json):
    """Lists or objects with values of several types: their JSON text makes groups, but no ids."""
    cells = (_dumps(json[0]), _dumps(json[1]))
    return Case(values, json, cells, cells, ids=False)


def decimals(kind):
    return numbers(pa.array([Decimal("1.10"), Decimal("2.25")], kind), (1.1, 2.25), ("1.10", "2.25"), ("1.10", "2.25"))


def lists(kind):
    return nested(pa.array([["a"], ["b", None]], kind), (["a"], ["b", None]))


def extension(storage):
    return pa.ExtensionArray.from_storage(OwnText(storage.type), storage)


def dictionary(values, kind="int8"):
    return pa.DictionaryArray.from_arrays(pa.array([0, 1], kind), values)


AB = pa.array(["a", "b"])
A7 = [pa.array(["a", "x"]), pa.array([0, 7])]
BYTES = [b"a", b"\xff"]
IDS = [uuid.UUID(int=1), uuid.UUID(int=2)]
MIXED = pa.UnionArray.from_dense(pa.array([0, 1], pa.int8()), pa.array([0, 1], pa.int32()), A7)
TYPES = {
    "string": texts(AB),
    "large_string": texts(AB.cast(pa.large_string())),
    "string_view": texts(AB.cast(pa.string_view())),
    "runs": texts(pa.RunEndEncodedArray.from_arrays(pa.array([1, 2]), AB)),
    "dictionary": texts(dictionary(AB)),
    "dictionary of large indices": texts(dictionary(AB, "uint64")),
    "dictionary of views": texts(dictionary(AB.cast(pa.string_view()))),
    "dictionary with null": texts(dictionary(pa.array(["a", "b", None]))),
    "dictionary of a dictionary": texts(dictionary(dictionary(AB))),
    "extension": texts(extension(AB)),
    "extension of views": texts(extension(AB.cast(pa.string_view()))),
    "opaque": texts(pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "text", "somebody"), AB)),
    "uuid": Case(
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([each.bytes for each in IDS], pa.binary(16))),
        *[(str(IDS[0]), str(IDS[1]))] * 2,
        text=(str(IDS[0]), str(IDS[1])),
    ),
    "dense union": mixed(MIXED),
    "sparse union": mixed(pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), A7)),
    "JSON": mixed(pa.array(['"a"', "7"], pa.json_())),
    "JSON of large strings": mixed(pa.array(['"a"', "7"], pa.json_(pa.large_string()))),
    "interval": Case(
        pa.array([pa.MonthDayNano([14, 3, 5 * 10**8]), pa.MonthDayNano([0, 0, -1])]),
        *[("P14M3DT0.5S", "PT-0.000000001S")] * 2,
        text=("P14M3DT0.5S", "PT-0.000000001S"),
    ),
    **{name: ints(pa.array([1, 2], name), 1, 2) for name in ("int8", "uint16", "int64")},
    "uint64": ints(pa.array([2**64 - 1, 2**63], pa.uint64()), 2**64 - 1, 2**63),
    "dictionary of integers": ints(dictionary(pa.array([7, 8])), 7, 8),
    "runs of integers": ints(pa.RunEndEncodedArray.from_arrays(pa.array([1, 2]), pa.array([7, 8])), 7, 8),
    "extension of integers": ints(extension(pa.array([7, 8])), 7, 8),
    "bool": numbers(pa.array([True, False]), (True, False), ("true", "false"), ("true", "false")),
    "bool8": numbers(
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8())),
        (True, False),
        *[("true", "false")] * 2,
    ),
    "float16": numbers(pa.array(np.array([1, 0.5], np.float16)), (1.0, 0.5), ("1.0", "0.5"), ("1", "0.5")),
    "float32": numbers(pa.array([1, 0.5], pa.float32()), (1.0, 0.5), ("1.0", "0.5"), ("1", "0.5")),
    "float64": numbers(pa.array([1, 0.5], pa.float64()), (1.0, 0.5), ("1.0", "0.5"), ("1", "0.5")),
    "decimal32": decimals(pa.decimal32(5, 2)),
    "decimal64": decimals(pa.decimal64(12, 2)),
    "decimal128": decimals(pa.decimal128(20, 2)),
    "decimal256": decimals(pa.decimal256(30, 2)),
    "decimal256 of 60 digits": numbers(
        pa.array([Decimal("1.10"), Decimal("2.25")], pa.decimal256(60, 2)), *[("1.10", "2.25")] * 3
    ),
    "decimal of hundreds": numbers(
        pa.array([Decimal(100), Decimal(200)], pa.decimal128(5, -2)), (100, 200), *[("100", "200")] * 2
    ),
    "date32": times(pa.array([DAY, date(1, 1, 1)]), ("2020-01-02", "0001-01-01")),
    "date64": times(pa.array([DAY, date(1999, 1, 1)], pa.date64()), ("2020-01-02", "1999-01-01")),
    "time32": times(pa.array([1, 2], pa.time32("s")), ("00:00:01", "00:00:02")),
    "time64": times(pa.array([1, 2], pa.time64("ns")), ("00:00:00.000000001", "00:00:00.000000002")),
    "timestamp": times(
        pa.array([NOON, NOON.replace(second=0)], pa.timestamp("us")),
        ("2020-01-02 12:00:05", "2020-01-02 12:00:00"),
        csv=("2020-01-02 12:00:05.000000", "2020-01-02 12:00:00.000000"),
    ),
    "timestamp of nanoseconds": times(
        pa.array([1, 1000], pa.timestamp("ns")),
        ("1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000001"),
        csv=("1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000001000"),
    ),
    "timestamp with a zone": times(
        pa.array([NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC, second=0)], pa.timestamp("s", "Europe/Berlin")),
        ("2020-01-02 12:00:05+00", "2020-01-02 12:00:00+00"),
        ("2020-01-02 13:00:05+01:00", "2020-01-02 13:00:00+01:00"),
        ("2020-01-02 13:00:05+0100", "2020-01-02 13:00:00+0100"),
    ),
    "timestamp with an unknown zone": times(
        pa.array([NOON, NOON.replace(second=0)], pa.timestamp("s")).view(pa.timestamp("s", "Mars/Olympus")),
        ("2020-01-02 12:00:05+00", "2020-01-02 12:00:00+00"),
        ("2020-01-02 12:00:05+00:00", "2020-01-02 12:00:00+00:00"),
        ("2020-01-02 12:00:05Z", "2020-01-02 12:00:00Z"),
    ),
    "duration": times(
        pa.array([90, 2 * 86400], pa.duration("s")), ("00:01:30", "48:00:00"), ("0:01:30", "2 days, 0:00:00")
    ),
    "binary": Case(pa.array(BYTES), ("a", "\\xFF")),
    "large_binary": Case(pa.array(BYTES, pa.large_binary()), ("a", "\\xFF")),
    "binary_view": Case(pa.array(BYTES, pa.binary_view()), ("a", "\\xFF")),
    "fixed_size_binary": Case(pa.array([b"aa", b"\xff\x00"], pa.binary(2)), ("aa", "\\xFF\\x00")),
    "dictionary of binary": Case(dictionary(pa.array(BYTES)), ("a", "\\xFF")),
    "list": lists(pa.list_(pa.string())),
    "large_list": lists(pa.large_list(pa.string())),
    "list_view": lists(pa.list_view(pa.string())),
    "large_list_view": lists(pa.large_list_view(pa.string_view())),
    "fixed_size_list": nested(pa.array([["a", "c"], ["b", None]], pa.list_(pa.string(), 2)), (["a", "c"], ["b", None])),
    "list of decimals": nested(pa.array([[Decimal("1.1")], []]), ([1.1], [])),
    "list of times": nested(pa.array([[DAY], []]), (["2020-01-02"], [])),
    "list of intervals": nested(pa.array([[pa.MonthDayNano([1, 0, 0])], []]), (["P1M"], [])),
    "list of extensions": nested(pa.ListArray.from_arrays([0, 1, 2], extension(AB)), (["a"], ["b"])),
    "list of a union": mixed_inside(pa.ListArray.from_arrays([0, 1, 2], MIXED), (["a"], [7])),
    "tensor": nested(
        pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int32(), [2]), pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2))
        ),
        ([1, 2], [3, 4]),
    ),
    "struct": nested(pa.array([{"k": "a", "l": 1}, {"k": None, "l": 2}]), ({"k": "a", "l": 1}, {"k": None, "l": 2})),
    "struct of a union": mixed_inside(
        pa.StructArray.from_arrays([MIXED, AB], ["u", "v"]), ({"u": "a", "v": "a"}, {"u": 7, "v": "b"})
    ),
    "struct of float16": nested(
        pa.StructArray.from_arrays([pa.array(np.array([1, 0.5], np.float16)), AB], ["f", "v"]),
        ({"f": 1.0, "v": "a"}, {"f": 0.5, "v": "b"}),
    ),
    "dictionary of structs": nested(
        dictionary(pa.array([{"k": "a", "l": 1}, {"k": "b", "l": 2}])), ({"k": "a", "l": 1}, {"k": "b", "l": 2})
    ),
    "map": nested(pa.array([[("k", 1)], [("l", None)]], pa.map_(pa.string(), pa.int64())), ({"k": 1}, {"l": None})),
}


@pytest.fixture(params=TYPES)
def case(request):
    return TYPES[request.param]


def table(values, **columns):
    """Rows A, B, null, A, B, A in chunks, of which each is a slice; the predictions of one column are right."""
    null = pa.nulls(1, values.type) if not pa.types.is_union(values.type) else values[:0]
    pieces = [values, null, values, values[:1]]
    named = ["a", "b", *["null"] * len(null), "a", "b", "a"]
    column = pa.chunked_array(
        [pa.concat_arrays([piece[:1], piece])[1:] if _joins(piece) else piece for piece in pieces]
    )
    return pa.table({"x": column, "prediction": named, "reference": named, **columns}), named


def _joins(piece):
    try:
        pa.concat_arrays([piece[:1], piece])
    except pa.ArrowNotImplementedError:
        return False
    return True


def scored(rows, metric="exact_match", **settings):
    return karat.score(rows, metric, **settings)


def test_groups_and_clusters(case):
    rows, named = table(case.values)
    if case.group is None:
        for place in ("by", "cluster"):
            with pytest.raises(ColumnError, match=r"column 'x' holds .*; values such as text or numbers make groups"):
                scored(rows, **{place: "x"})
        return
    label = dict(zip("ab", case.group, strict=True)) | {"null": "(null)"}
    groups = scored(rows, by="x").groups["exact_match"]
    assert {name: value.n for name, value in groups.items()} == {label[each]: named.count(each) for each in named}
    plain = pa.array([None if each == "null" else label[each] for each in named])
    wanted = scored(rows.append_column("plain", plain), cluster="plain")
    assert scored(rows, cluster="x").values == wanted.values
    result = scored(rows)
    assert {each.slice for each in karat.compare(result, result, by="x").findings} == {None, *map(label.get, named)}


def test_conditions(case):
    rows, named = table(case.values)
    assert scored(rows, where="x IS NOT NULL").values["exact_match"].n == len(named) - named.count("null")
    assert scored(rows, where="prediction = 'a'").table["x"].null_count == 0


def test_ids(case):
    first, second = case.values[:1], case.values[1:]
    left = pa.table({"x": pa.chunked_array([first, second]), "prediction": ["p", "q"]})
    right = pa.table({"x": pa.chunked_array([second, first]), "reference": ["q", "p"]})
    if case.group is None or not case.ids:
        with pytest.raises(DataError, match=r"column 'x'.*(holds|found)"):
            scored(left, gold=right, on="x")
        return
    joined = scored(left, gold=right, on="x")
    assert (joined.values["exact_match"].value, joined.values["exact_match"].scored) == (1, 2)
    other = scored(left.append_column("reference", pa.array(["p", "q"])))
    assert karat.compare(other, other, on="x").findings[0].verdict != "better"


def test_texts(case):
    predictions = pa.table({"prediction": case.values, "reference": case.text or ("a", "b"), "x": case.values})
    if case.text is None:
        with pytest.raises(DataError, match=r"'prediction'.*(holds|found)"):
            scored(predictions)
    else:
        assert scored(predictions).values["exact_match"].value == 1
        assert scored(predictions, map={"prediction": "reference", "reference": "x"}).values["exact_match"].value == 1
        if case.csv is None or case.csv[0] != '"a"':  # a metric itself takes no JSON text
            assert exact_match(case.values, pa.array(case.text)).to_pylist() == [1, 1]


def test_numbers(case):
    rows, named = table(case.values)
    if case.number:
        assert scored(rows, "column(x)").values["column(x)"].scored == len(named) - named.count("null")
    else:
        with pytest.raises(DataError, match=r"column 'x'.*(holds|found)"):
            scored(rows, "column(x)")


def test_files(case, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows, named = table(case.values)
    value = dict(zip("ab", case.json, strict=True)) | {"null": None}
    result = scored(rows, output=tmp_path / "x.jsonl", run="kept")
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert [json.loads(line)["x"] for line in lines] == [value[each] for each in named]
    scored(rows, output=tmp_path / "x.csv")
    cell = dict(zip("ab", case.csv or map(str, case.json), strict=True)) | {"null": ""}
    assert pa.csv.read_csv(tmp_path / "x.csv", convert_options=pa.csv.ConvertOptions(column_types={"x": pa.string()}))[
        "x"
    ].to_pylist() == [cell[each] for each in named]
    wanted = pa.table(open_source(rows))["x"]
    for ending in ("arrow",) if _is_refused_in_parquet(wanted.type) else ("parquet", "arrow"):
        scored(rows, output=tmp_path / f"x.{ending}")
        back = pa.table(open_source(tmp_path / f"x.{ending}"))["x"]
        assert [str(each) for each in back] == [str(each) for each in wanted]
    assert karat.compare("kept", result, on=None).findings[0].verdict != "better"


def test_read_from_files(case, tmp_path):
    rows, named = table(case.values)
    for ending, write_file in (("parquet", pq.write_table), ("arrow", _write_arrow)):
        path = tmp_path / f"x.{ending}"
        if ending == "parquet" and _is_refused_in_parquet(rows["x"].type):
            continue
        try:
            write_file(rows, path)
        except (pa.ArrowException, OSError):  # Arrow itself does not write it
            continue
        assert scored(path, where="x IS NOT NULL").values["exact_match"].n == len(named) - named.count("null")
        if case.group is not None:
            assert len(scored(path, by="x", cluster="x").groups["exact_match"]) == len(set(named))


def _is_refused_in_parquet(kind):
    """Whether Arrow does not write nulls of this type into Parquet, or does not read those that it has written."""
    fixed = pa.types.is_fixed_size_list(kind) or isinstance(kind, pa.FixedShapeTensorType)
    return fixed and int(pa.__version__.split(".")[0]) < 26


def _write_arrow(rows, path):
    with pa.ipc.new_file(str(path), rows.schema) as writer:
        writer.write_table(rows)
