"""Times that Python, pandas, NumPy or Arrow cannot hold, in every place: text, or one sentence, and no traceback."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.columns.python_values import spell_times, to_python
from karat.core.errors import KaratError
from karat.judges import Judge
from karat.models.testing.fake import FakeModel
from karat.runs.columns.groups import cluster_keys
from karat.runs.store.run import open_run
from karat.viewer.rows.display import show_rows
from karat.viewer.rows.table import match_rows

UNITS = ("s", "ms", "us", "ns")
YEARS = [10_000, 30_000, 40_000, 290_000, 300_000, 10**9, -1, -5_000, -40_000, -300_000, -(10**9)]
DAY = 86_400_000  # milliseconds
ENDS = [2**63 - 1, -(2**63), -(2**63) + 1]


def whole(values, kind):
    return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def years(unit):
    """Times in these years, and the first and last ones, as far as a unit reaches them."""
    second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "D": 1 / 86400}[unit]
    seconds = [(year - 1970) * 31_556_952 for year in YEARS]
    return [int(each * second) for each in seconds if abs(each * second) < (2**31 if unit == "D" else 2**63)]


LATE = {
    **{f"timestamp {unit}": whole([*years(unit), *ENDS], pa.timestamp(unit)) for unit in UNITS},
    **{f"timestamp {unit} without the ends": whole(years(unit)[:5], pa.timestamp(unit)) for unit in UNITS[:3]},
    **{f"timestamp {unit} of a zone": whole([*years(unit), *ENDS], pa.timestamp(unit, "Asia/Tokyo")) for unit in UNITS},
    **{f"duration {unit}": whole([*ENDS, 2**62 + 1], pa.duration(unit)) for unit in UNITS},
    "date32": whole([*years("D"), 2**31 - 1, -(2**31)], pa.date32()),
    "date64": whole([each // DAY * DAY for each in [*years("ms"), *ENDS[:1], -(2**63) + DAY]], pa.date64()),
    "time32 s": whole([86_400, -1, 2**31 - 1], pa.time32("s")),
    "time32 ms": whole([86_400_000, -1, -(2**31)], pa.time32("ms")),
    "time64 us": whole([86_400_000_000, -1, 2**63 - 1], pa.time64("us")),
    "time64 ns": whole([1, -1, 2**63 - 1], pa.time64("ns")),
}
PLACES = {}


@pytest.fixture(params=LATE)
def late(request):
    return LATE[request.param]


def take_turns():
    """Each place with every second type of time, in turns: two that differ in their unit alone go the same ways."""
    return [(kind, place) for at, kind in enumerate(LATE) for to, place in enumerate(PLACES) if (at + to) % 2 == 0]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)


def place(function):
    PLACES[function.__name__] = function
    return function


def table(late, **columns):
    """Each time twice, and a null; nested ones too."""
    column = pa.concat_arrays([late, late, pa.nulls(1, late.type)])
    texts = [f"word{row}" for row in range(len(column))]
    nested = {
        "listed": pa.ListArray.from_arrays(np.arange(len(column) + 1, dtype=np.int32), column),
        "object": pa.StructArray.from_arrays([column, pa.array(texts)], ["at", "text"]),
    }
    return pa.table({"id": texts, "x": column, **nested, "prediction": texts, "reference": texts, **columns})


def cli(*arguments):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code in (0, 1), result.output
    return result.output


@place
def groups(rows):
    karat.score(rows, "exact_match", by="x")


@place
def clusters(rows):
    karat.score(rows, "exact_match", cluster="x")


@place
def conditions(rows):
    karat.score(rows, "exact_match", where="x IS NOT NULL")


@place
def ids(rows):
    karat.score(
        rows.drop(["reference"]),
        "exact_match",
        gold=rows.select(["x", "reference"]).slice(0, rows.num_rows // 2),
        on="x",
    )


@place
def text(rows):
    karat.score(rows, "exact_match", map={"prediction": "x"})


@place
def listed_text(rows):
    karat.score(rows, "exact_match", map={"reference": "listed"})


@place
def ranked_ids(rows):
    karat.score(rows, "mrr", map={"retrieved": "listed", "relevant": "listed"})


@place
def numbers(rows):
    karat.score(rows, "column(x)")


@place
def json_text(rows):
    assert karat.score(rows, "json_match", map={"prediction": "object", "reference": "object"}).values


@place
def pandas(rows):
    karat.score(rows, "exact_match").to_pandas()


@place
def given_pandas(rows):
    karat.score(karat.score(rows, "exact_match").to_pandas()[["x", "prediction", "reference"]], "exact_match", by="x")


@place
def judge(rows):
    toml = 'name = "late"\nsummary = "Late."\nsource = "tests"\ninputs = { x = "json", object = "json" }\n'
    toml += '[prompt]\ntask = "Say."\n[reply]\nkind = "label"\nchoices = { yes = 1, no = 0 }\n'
    Path("late.toml").write_text(toml, "utf-8")
    seen = []
    model = FakeModel(lambda messages: seen.append(messages[-1]["content"]) or {"explanation": "", "label": "yes"})
    karat.score(rows, Judge("late.toml", model=model))
    assert seen


@place
def experiment(rows):
    karat.experiment(lambda row: row["prediction"], rows, "em", run="late")


@place
def output(rows):
    for ending in ("csv", "tsv", "jsonl", "json", "parquet", "arrow"):
        try:
            karat.score(rows.drop(["listed", "object"]), "exact_match", output=f"x.{ending}")
        except KaratError as error:
            assert {ending, "'x'"} <= set(str(error).replace(",", " ").replace(":", " ").split())  # noqa: PT017


@place
def commands(rows):
    karat.score(rows, "exact_match", run="first")
    karat.score(rows, "exact_match", run="second")
    for arguments in (
        ["show", "first", "--show", "x", "--show", "listed", "--show", "object"],
        ["show", "first", "--show", "x", "--show", "listed", "--show", "object", "--json"],
        ["show", "first", "second", "--show", "x", "--order", "x"],
        ["show", "first", "--where", "x IS NULL", "--json"],
        ["show", "first", "--counts"],
        ["compare", "first", "second", "--by", "x", "--json"],
        ["compare", "first", "second", "--on", "x"],
        ["report", "first", "second", "-o", "x.html"],
        ["report", "first", "-o", "y.html"],
        ["runs", "export", "first", "-o", "x.csv"],
        ["runs", "export", "first", "-o", "x.xml"],
        ["runs", "export", "first", "-o", "x.jsonl"],
        ["runs", "verify", "first"],
        ["compare", "--rank", "first", "second", "--on", "x"],
        ["label", "first", "--next", "3", "-o", "labels.csv"],
        ["label", "first", "second", "--next", "3", "--by", "slice", "--slice", "x", "-o", "labels.jsonl"],
        ["power", "--run", "first", "--run", "second", "--difference", "0.1"],
    ):
        cli(*arguments)


@place
def gold_that_differs(rows):
    karat.score(rows, "exact_match", run="first", map={"reference": "listed"})


@place
def page(rows):
    karat.score(rows, "exact_match", run="first")
    opened = match_rows([open_run("first")])
    assert opened.facets is not None
    json.dumps(show_rows(opened, np.arange(3)), default=str)
    json.dumps(show_rows(opened, np.array([0]), whole=True), default=str)


@place
def inside_unions(rows):
    column = rows["x"].combine_chunks()
    kinds = pa.array(np.arange(len(column)) % 2, pa.int8())
    mixed = pa.UnionArray.from_sparse(kinds, [column, rows["id"].combine_chunks()])
    karat.score(rows.set_column(1, "x", mixed), "exact_match", by="x")


@pytest.mark.parametrize(("kind", "where"), take_turns())
def test_late_times_end_in_text_or_in_a_sentence(kind, where):
    try:
        PLACES[where](table(LATE[kind]))
    except KaratError as error:
        assert len(str(error)) > 20  # noqa: PT017  (what a place refuses is up to it)


@pytest.mark.parametrize("unit", UNITS)
def test_times_that_python_has_stay_what_they_are(unit):
    moments = [datetime(2020, 1, 2, 3, 4, 5), datetime(1970, 1, 1), None]  # noqa: DTZ001
    for values in (moments, [None if each is None else each.replace(tzinfo=UTC) for each in moments]):
        column = pa.array(values, pa.timestamp(unit, None if values is moments else "UTC"))
        assert to_python(column) == values
        assert spell_times(column).to_pylist() == [None if each is None else str(each) for each in values]
    assert to_python(pa.array([time(1, 2, 3)])) == [time(1, 2, 3)]
    assert to_python(pa.array([date(1, 1, 1)])) == [date(1, 1, 1)]
    assert to_python(pa.array([timedelta(1)], pa.duration(unit))) == [timedelta(1)]


def test_different_times_have_different_names(late):
    assert len(set(spell_times(late).to_pylist())) == len(late.unique())
    assert len(set(cluster_keys(late).tolist())) == len(late.unique())
