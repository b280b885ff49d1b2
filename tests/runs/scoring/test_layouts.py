"""Every way into karat gives the same for the same rows, from whichever library and in whichever layout of Arrow."""

from functools import partial

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import karat
from karat.data.open import open_source
from karat.data.write import write
from karat.metrics import token_f1
from karat.testing import assert_at_least, assert_better

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 24
ID = [f"row {at} of a table" for at in range(N)]  # longer than what a view holds inline
PREDICTION = [None if at == 5 else "the Seine" if at % 3 else "a river of Paris" for at in range(N)]
REFERENCE = [["Seine", "the river Seine"] if at % 2 else ["River of Paris", None] for at in range(N)]
TOPIC = [None if at == 7 else "geography" if at < 10 else "history of places" for at in range(N)]
NAMES = ["id", "prediction", "topic", "reference", "meta"]
TEXT = pa.string()


def run_ends(texts, kind=TEXT):
    """A run for each row, after one that is sliced off."""
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(texts) + 2)), pa.array(["cut", *texts], kind))[1:]


def encoded(texts, kind=TEXT):
    """A dictionary with a null, and with a text that no row has."""
    words = list(dict.fromkeys(["unused", None, *texts]))
    return pa.DictionaryArray.from_arrays(pa.array(map(words.index, texts), pa.int32()), pa.array(words, kind))


def nested(kind, lists, inner):
    """Lists whose texts are in another layout, after one that is sliced off."""
    sizes = pa.array([1, *map(len, lists)])
    offsets = pa.concat_arrays([pa.array([0]), pc.cumulative_sum(sizes)])
    return kind.from_arrays(offsets.cast(OFFSETS[kind]), inner(["cut", *(text for each in lists for text in each)]))[1:]


def views(kind, lists, inner):
    """Lists that lie in reverse order."""
    sizes = pa.array(map(len, lists), OFFSETS[kind])
    ends = pc.cumulative_sum(sizes[::-1])[::-1]
    texts = inner([text for each in lists[::-1] for text in each])
    return kind.from_arrays(pc.subtract(ends, sizes), sizes, texts)


TEXTS = {
    "string": pa.array,
    "large": partial(pa.array, type=pa.large_string()),
    "view": lambda texts: pa.array(["", *texts], pa.string_view())[1:],
    "dictionary": encoded,
    "dictionary of views": partial(encoded, kind=pa.string_view()),
    "runs": run_ends,
    "runs of views": partial(run_ends, kind=pa.string_view()),
    "chunks": lambda texts: pa.chunked_array([texts[:1], [], texts[1:]], TEXT),
    "chunks with a dictionary each": lambda texts: pa.chunked_array(map(encoded, (texts[:1], texts[1:9], texts[9:]))),
}
OFFSETS = {pa.ListArray: pa.int32(), pa.LargeListArray: pa.int64()}
OFFSETS |= {pa.ListViewArray: pa.int32(), pa.LargeListViewArray: pa.int64()}
LISTS = {
    "list": partial(nested, pa.ListArray, inner=pa.array),
    "large": partial(nested, pa.LargeListArray, inner=TEXTS["large"]),
    "of views": partial(nested, pa.ListArray, inner=TEXTS["view"]),
    "of a dictionary": partial(nested, pa.ListArray, inner=encoded),
    "of a dictionary of views": partial(nested, pa.LargeListArray, inner=TEXTS["dictionary of views"]),
    "of runs": partial(nested, pa.ListArray, inner=run_ends),
    "view": partial(views, pa.ListViewArray, inner=pa.array),
    "large view of views": partial(views, pa.LargeListViewArray, inner=TEXTS["view"]),
    "fixed": lambda lists: pa.array([["a", "b"], *lists], pa.list_(TEXT, 2))[1:],
    "fixed of views": lambda lists: pa.array([["a", "b"], *lists], pa.list_(pa.string_view(), 2))[1:],
}


def table(text=pa.array, several=LISTS["list"]):
    """The rows with texts and lists in these layouts, beside each other and in an object."""
    texts = {name: text(values) for name, values in {"id": ID, "prediction": PREDICTION, "topic": TOPIC}.items()}
    gold = TEXTS["view"]([lists[0] for lists in REFERENCE])
    meta = pa.StructArray.from_arrays([gold, several(REFERENCE)], ["gold", "tags"])
    return pa.table({**texts, "reference": several(REFERENCE), "meta": meta})


LAYOUTS = {
    **{f"text: {name}": table(text=text) for name, text in TEXTS.items()},
    **{f"lists: {name}": table(several=several) for name, several in LISTS.items()},
}
PLAIN = LAYOUTS["text: string"]
LIBRARIES = {
    "rows": PLAIN.to_pylist,
    "columns": PLAIN.to_pydict,
    "reader": lambda: PLAIN.to_reader(max_chunksize=5),
    "polars": lambda: pl.DataFrame(PLAIN.to_pydict()),
    "polars categorical": lambda: pl.DataFrame(PLAIN.to_pydict()).with_columns(pl.col("topic").cast(pl.Categorical)),
    "duckdb": lambda: duckdb.from_arrow(PLAIN),
    "duckdb enum": lambda: duckdb.from_arrow(PLAIN).project(
        "* REPLACE (CAST(topic AS ENUM('geography', 'history of places')) AS topic)"
    ),
    "pandas": PLAIN.to_pandas,
    "pandas of objects": lambda: PLAIN.to_pandas().astype(object),
    "pandas category": lambda: PLAIN.to_pandas().astype({"topic": "category"}),
    "pandas of Arrow": lambda: PLAIN.to_pandas(types_mapper=pd.ArrowDtype),
    "datasets": lambda: pytest.importorskip("datasets").Dataset.from_list(PLAIN.to_pylist()),
}


FRAMES = {**{name: lambda rows=rows: rows for name, rows in LAYOUTS.items()}, **LIBRARIES}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]()


def scored(frame, **settings):
    return karat.score(frame, ["exact_match", "token_f1"], **settings)


def rows(table):
    return [{name: row[name] for name in [*NAMES[:4], "token_f1", "reason"]} for row in table.to_pylist()]


WANTED = scored(PLAIN, by="topic", cluster="topic")


def test_scores_groups_and_clusters(frame):
    result = scored(frame, by="topic", cluster="topic")
    assert rows(result.table) == rows(WANTED.table)
    assert result.values == WANTED.values
    assert result.groups == WANTED.groups


def test_conditions_and_paths(frame):
    where = "topic = 'geography' AND \"meta.gold\" <> 'x'"
    result = scored(frame, where=where, limit=7, map={"reference": "meta.tags"})
    assert rows(result.table) == rows(WANTED.table)[:7]


@pytest.mark.parametrize("kind", FRAMES)
def test_gold_in_a_second_table(kind):
    predictions, gold = PLAIN.select(["id", "prediction"]).slice(3), PLAIN.drop_columns(["prediction"])
    settings = {"on": "id", "by": "topic", "cluster": "topic"}
    with_gold = scored(predictions, gold=FRAMES[kind](), **settings)
    with_predictions = scored(FRAMES[kind](), gold=gold, **settings | {"by": "topic_gold", "cluster": "topic_gold"})
    assert with_gold.table["token_f1"].to_pylist() == [None] * 3 + WANTED.table["token_f1"].to_pylist()[3:]
    assert with_gold.joined["missing"] == 3
    assert with_predictions.groups == WANTED.groups


def test_compared_and_asserted(frame, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    worse = scored(pa.table(PLAIN.to_pydict() | {"prediction": ["wrong"] * N}))
    better = scored(frame)
    assert {each.verdict for each in karat.compare(worse, better, by="topic", on="id").findings} >= {"better"}
    assert_better(better, than=worse, metrics="token_f1", cluster="topic", confidence=0.5)
    assert_at_least(0.5, better, "token_f1")
    with pytest.raises(AssertionError, match=r"at least 0\.99 is expected"):
        assert_at_least(0.99, better, "token_f1")


def test_kept_as_a_run_and_as_a_frame_of_pandas(frame, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    result = scored(frame, run="kept", by="topic", keep=True)
    assert karat.compare("kept", result).findings[0].verdict != "better"
    back = result.to_pandas()
    assert list(back.columns) == [*NAMES, "exact_match", "token_f1", "reason"]
    assert back["token_f1"].sum() == pytest.approx(pc.sum(WANTED.table["token_f1"]).as_py())


@pytest.fixture(scope="module")
def read_back(tmp_path_factory):
    """What a result is after it was written to a file of each kind."""
    folder = tmp_path_factory.mktemp("files")

    def write_and_read(result):
        paths = [folder / f"rows.{ending}" for ending in ("jsonl", "csv", "parquet", "arrow")]
        for path in paths:
            write(result.batches, result.schema, path)
        return [pa.table(open_source(path)).to_pylist() for path in paths]

    return write_and_read


@pytest.fixture(scope="module")
def wanted_back(read_back):
    return read_back(WANTED)


def test_written_to_files(frame, read_back, wanted_back):
    assert read_back(scored(frame)) == wanted_back


def test_answered_by_a_task(frame):
    result = karat.experiment(frame, lambda row: {"answer": row["prediction"]}, "f1", map={"prediction": "answer"})
    assert result.values["token_f1"] == scored(PLAIN).values["token_f1"]


@pytest.mark.parametrize("name", LAYOUTS)
def test_columns_of_a_metric(name):
    columns = [LAYOUTS[name][role] for role in ("prediction", "reference")]
    assert token_f1(*columns).to_pylist() == WANTED.table["token_f1"].to_pylist()


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_rows(name):
    result = scored(LAYOUTS[name].slice(0, 0), by="topic")
    assert result.values["token_f1"].n == len(result.table) == 0
