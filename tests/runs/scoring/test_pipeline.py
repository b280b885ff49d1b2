import json

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat import metric
from karat.data.open import open_source
from karat.data.storage import batches as batches_module
from karat.errors import ColumnError, DataError, RowError, SpecError
from karat.kinds import Counts, Text

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ROWS = [
    {"id": "a", "topic": "art", "response": "the Mona Lisa", "gold": ["Mona Lisa", "La Gioconda"]},
    {"id": "b", "topic": "art", "response": None, "gold": ["Guernica"]},
    {"id": "c", "topic": "sea", "response": "007", "gold": ["7"]},
    {"id": "d", "topic": "sea", "response": "", "gold": [""]},
    {"id": "e", "topic": None, "response": "Atlantic ocean", "gold": []},
]
F1 = [1.0, None, 0.0, 1.0, None]


FRAMES = {
    "list": lambda table: table.to_pylist(),
    "dict": lambda table: table.to_pydict(),
    "arrow": lambda table: table,
    "batches": lambda table: table.to_reader(max_chunksize=2),
    "pandas": lambda table: pd.DataFrame(table.to_pylist()),
    "polars": pl.DataFrame,
    "duckdb": lambda table: duckdb.from_arrow(table),  # noqa: PLW0108  (kept, it is reported as leaked where torch is)
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_kind_score_the_same(kind):
    result = karat.score(FRAMES[kind](pa.Table.from_pylist(ROWS)), "token_f1")
    assert result.table["token_f1"].to_pylist() == F1
    value = result.values["token_f1"]
    assert (value.n, value.scored, value.unscored) == (5, 3, 2)
    assert (value.value, value.worst, value.best) == pytest.approx((2 / 3, 2 / 5, 4 / 5))
    assert value.low < value.value < value.high


def test_the_users_columns_stay_and_names_that_are_taken_get_a_number():
    rows = [{"prediction": "a", "reference": "a", "exact_match": 7, "exact_match_2": None, "reason": "mine"}]
    table = karat.score(rows, "exact_match").table
    assert table.column_names == [*rows[0], "exact_match_3", "reason_2"]
    assert table.to_pylist() == [rows[0] | {"exact_match_3": 1.0, "reason_2": None}]


def test_reasons_are_one_column_and_told_apart_where_metrics_differ():
    result = karat.score(ROWS, ["token_f1", "matches_regex(pattern='[0-9]')"])
    assert result.table["reason"].to_pylist() == [
        None,
        "prediction is null",
        None,
        None,
        "token_f1: reference is an empty list",
    ]


def test_groups_have_values_of_their_own_and_add_up():
    result = karat.score(ROWS, "token_f1", by="topic")
    groups = result.groups["token_f1"]
    assert {label: (v.n, v.scored, v.value) for label, v in groups.items()} == {
        "(null)": (1, 0, None),
        "art": (2, 1, 1.0),
        "sea": (2, 2, 0.5),
    }
    assert json.loads(json.dumps(result.as_dict()))["metrics"][0]["groups"]["sea"]["value"] == 0.5


@pytest.mark.parametrize("form", ["rows", "file"])
def test_groups_of_mixed_values_are_called_as_they_are_spelled(form, tmp_path):
    values = ["a", 1, "1", None, 1.50, "null", True, 'say "x"']
    data = [{"prediction": "a", "reference": "a", "kind": value} for value in values]
    if form == "file":
        (tmp_path / "mixed.jsonl").write_text("\n".join(map(json.dumps, data)))
        data = tmp_path / "mixed.jsonl"
    groups = karat.score(data, "exact_match", by="kind", cluster="kind").groups["exact_match"]
    assert {label: value.n for label, value in groups.items()} == {
        "(null)": 1,
        "1": 2,
        "1.5": 1,
        "a": 1,
        "null": 1,
        'say "x"': 1,
        "true": 1,
    }


def test_a_column_of_ids_is_no_group():
    rows = {"prediction": ["a"] * 1500, "reference": ["a"] * 1500, "id": list(range(1500))}
    with pytest.raises(DataError, match="'id' has more than 1,000 values"):
        karat.score(rows, "exact_match", by="id")


def test_clusters_widen_the_interval():
    draw = np.random.default_rng(0)
    truth = np.repeat(draw.random(60) < 0.5, 20)
    rows = {"prediction": np.where(truth, "a", "b"), "reference": ["a"] * 1200, "doc": np.repeat(np.arange(60), 20)}
    alone, together = karat.score(rows, "exact_match"), karat.score(rows, "exact_match", cluster="doc")
    width = [r.values["exact_match"].high - r.values["exact_match"].low for r in (alone, together)]
    assert alone.values["exact_match"].value == together.values["exact_match"].value
    assert width[1] == pytest.approx(width[0] * 20**0.5, rel=0.1)


def test_where_and_limit_choose_rows():
    assert karat.score(ROWS, "token_f1", where="topic = 'sea'").n == 2
    assert karat.score(ROWS, "token_f1", where="topic = 'sea'", limit=1).table["id"].to_pylist() == ["c"]
    with pytest.raises(DataError, match="topik"):
        karat.score(ROWS, "token_f1", where="topik = 'sea'")


def test_gold_from_a_second_table_by_id():
    said = [{"id": 3, "answer": "x"}, {"id": 1, "answer": "a"}, {"id": 9, "answer": "?"}]
    gold = [{"id": "1", "answer": ["a", "A"]}, {"id": "2", "answer": ["b"]}, {"id": "3", "answer": ["c"]}]
    result = karat.score(said, "exact_match", gold=gold, on="id")
    assert result.mapping == {"prediction": "answer", "reference": "answer_gold"}
    assert result.table["exact_match"].to_pylist() == [1.0, None, 0.0]
    assert result.joined == {"missing": 1, "missing_ids": ["2"], "unknown": 1, "unknown_ids": ["9"]}
    assert result.as_dict()["joined"]["unknown"] == 1
    with pytest.raises(SpecError, match="gold and on go together"):
        karat.score(said, "exact_match", gold=gold)


def test_a_corpus_metric_is_finished_from_totals_not_averaged():
    @metric(source="here", finish=lambda totals: totals[..., 0] / totals[..., 1], register=False)
    def character_recall(prediction: Text, reference: Text) -> Counts:
        """Characters of the reference found, of all its characters."""
        pairs = zip(prediction.to_pylist(), reference.to_pylist(), strict=True)
        return np.array([[float(sum(c in p for c in r)), float(len(r))] for p, r in pairs])

    rows = {"prediction": ["abcdefghi", "x"], "reference": ["abcdefghi", "z"]}
    result = karat.score(rows, character_recall)
    assert result.values["character_recall"].value == 0.9
    assert result.table["character_recall"].to_pylist() == [1.0, 0.0]


def test_results_do_not_depend_on_batches_or_threads(monkeypatch):
    rows = {"prediction": ["the cat", "a dog", "cow"] * 400, "reference": [["cat", "cats"], ["dog"], ["hen cow"]] * 400}
    whole = karat.score(rows, ["token_f1", "exact_match"], by="prediction").as_dict()
    for size, threads in ((1, "2"), (7, "1"), (1000, "3")):
        monkeypatch.setattr(batches_module, "BATCH_ROWS", size)
        monkeypatch.setenv("KARAT_THREADS", threads)
        reader = pa.table(rows).to_reader(max_chunksize=size)
        again = karat.score(reader, ["token_f1", "exact_match"], by="prediction").as_dict()
        assert json.dumps(again) == json.dumps(whole)


def test_rows_are_written_and_read_back_where_they_are_not_kept(tmp_path):
    out = tmp_path / "scored.parquet"
    result = karat.score(ROWS, "token_f1", output=out)
    assert result.batches is None
    assert pq.read_table(out)["token_f1"].to_pylist() == F1
    assert result.table["token_f1"].to_pylist() == F1
    assert karat.score(ROWS, "token_f1", output=out, keep=True).batches is not None
    with pytest.raises(DataError, match="rows are not in memory"):
        _ = karat.score(ROWS, "token_f1", keep=False).table


def test_a_run_that_fails_leaves_no_file(tmp_path):
    @metric(source="here", register=False)
    def failing(prediction: Text) -> karat.kinds.Score:
        """Fails where there is a row."""
        if len(prediction):
            raise ZeroDivisionError("once")
        return []

    with pytest.raises(ZeroDivisionError):
        karat.score(ROWS, failing, output=tmp_path / "scored.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_leaves_no_file(tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        karat.score(ROWS, "exact_match", output=tmp_path / "scored.jsonl", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_columns_that_do_not_fit_are_told_with_file_and_name(tmp_path):
    file = tmp_path / "answers.parquet"
    pq.write_table(pa.table({"prediction": [1.5], "gold": ["1.5"]}), file)
    with pytest.raises(ColumnError, match=r"answers.parquet: column 'prediction' \(prediction\) holds double"):
        karat.score(file, "exact_match", output=tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
    with pytest.raises(ColumnError, match=r"no column 'topc'; did you mean 'topic'"):
        karat.score(ROWS, "exact_match", by="topc")


def test_numbers_in_json_keep_their_spelling(tmp_path):
    file = tmp_path / "answers.jsonl"
    file.write_text(
        '{"prediction": 1e3, "gold": "1e3"}\n'
        '{"prediction": 1.10, "gold": "1.1"}\n'
        '{"prediction": true, "gold": ["true"]}\n'
    )
    result = karat.score(file, "exact_match", output=tmp_path / "out.jsonl")
    assert result.table["exact_match"].to_pylist() == [1.0, 0.0, 1.0]
    assert (tmp_path / "out.jsonl").read_text().splitlines()[0].startswith('{"prediction":1e3,"gold":"1e3"')


def test_no_rows_have_no_value():
    value = karat.score({"prediction": [], "reference": []}, "exact_match").values["exact_match"]
    assert (value.value, value.low, value.n, value.scored) == (None, None, 0, 0)


def test_a_result_shows_itself():
    result = karat.score(ROWS, "token_f1")
    assert "token_f1: 0.6667 [" in repr(result)
    assert "2 of 5 rows unscored" in repr(result)
    assert result.to_pandas()["token_f1"].isna().sum() == 2


def test_null_and_texts_like_its_label_are_groups_of_their_own():
    rows = {"prediction": ["a", "a", "b", "b"], "reference": ["a"] * 4, "g": [None, "(null)", "(null)", "'(null)'"]}
    groups = karat.score(rows, "exact_match", by="g").groups["exact_match"]
    assert {label: value.n for label, value in groups.items()} == {"(null)": 1, "'(null)'": 2, "''(null)''": 1}


def test_a_row_whose_cluster_is_null_is_one_of_its_own():
    rows = {"prediction": ["a", "b"] * 20, "reference": ["a"] * 40, "doc": pa.nulls(40, pa.string())}
    alone = karat.score(rows | {"doc": [str(n) for n in range(40)]}, "exact_match", cluster="doc").values["exact_match"]
    assert karat.score(rows, "exact_match", cluster="doc").values["exact_match"] == alone


def test_an_interval_with_one_end_shows_itself():
    @metric(source="here", high=None, register=False)
    def length(prediction: Text) -> karat.kinds.Score:
        """Characters."""
        return [len(p) for p in prediction.to_pylist()]

    result = karat.score({"prediction": ["a", "a", "a", "bb"]}, length)
    assert "1.2500 [" in repr(result)
    assert "<bdi>length</bdi>" in result._repr_html_()


def test_groups_and_clusters_of_lists_are_refused_and_numbers_in_json_are_fine(tmp_path):
    with pytest.raises(ColumnError, match="'gold' holds list"):
        karat.score(ROWS, "token_f1", by="gold")
    file = tmp_path / "a.jsonl"
    file.write_text('{"prediction": 1, "gold": "1", "g": 1}\n{"prediction": 2, "gold": "1", "g": "x"}\n')
    result = karat.score(file, "exact_match", by="prediction", cluster="g")
    assert {label: value.value for label, value in result.groups["exact_match"].items()} == {"1": 1.0, "2": 0.0}


def test_wrong_settings_of_the_run_leave_what_stands_under_output(tmp_path):
    out = tmp_path / "kept.jsonl"
    out.write_text("mine")
    for wrong in ({"confidence": 2}, {"seed": -1}):
        with pytest.raises(SpecError):
            karat.score(ROWS, "exact_match", output=out, **wrong)
    assert out.read_text() == "mine"
    with pytest.raises(DataError, match="is an input file"):
        karat.score(out, "exact_match", output=out)


def test_lists_that_csv_made_text_are_read_as_lists_unless_the_path_says_text(tmp_path):
    out = tmp_path / "scored.csv"
    karat.score(ROWS, "exact_match", output=out)
    assert karat.score(out, "exact_match").values["exact_match"].value == 0.25
    assert karat.score(out, "exact_match", map={"reference": "gold"}).mapping["reference"] == "gold[*]"
    as_text = karat.score(out, "exact_match", map={"reference": "gold::text"})
    assert (as_text.values["exact_match"].value, as_text.values["exact_match"].scored) == (0.0, 5)


@pytest.mark.parametrize(
    "cell", ['["Lyon", "Paris"]', "['Lyon', 'Paris']", ' {"answer": "Paris"}\n', '[{"text": "Paris"}]']
)
@pytest.mark.parametrize("rows", [20, 5000])
def test_one_json_cell_in_text_is_warned_of_once(cell, rows):
    intervals = ["x", *["[0, 1]"] * rows]
    table = pa.table({"prediction": [*intervals, "x"], "reference": [*intervals, cell]})
    with pytest.warns(
        UserWarning, match=r"'reference' .reference. looks like JSON (list|object)s but is text"
    ) as found:
        karat.score(table, "exact_match")
    assert len(found) == 1
    karat.score(table, ["valid_json", "json_match"])  # which read JSON: filterwarnings=error


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ('{"text": "a"}', r"an object with the keys 'text'; --map prediction=prediction.KEY .*selects a part of it"),
        ('[["a"]]', r"a list of lists; --map prediction=prediction\[\*\]\[\*\] .* makes one flat list$"),
    ],
)
def test_objects_where_text_is_expected_name_file_row_column_and_remedy(tmp_path, cell, message):
    rows = (f'{{"prediction": {each}, "reference": "a"}}' for each in ('"a"', cell))
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    with pytest.raises(RowError, match=r"a.jsonl, row 2, column .prediction.: expected text.*" + message):
        karat.score(tmp_path / "a.jsonl", "exact_match")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 1, "b": 2}, "holds objects with the keys 'a', 'b'.*--map {role}={role}.a"),
        ([["a"]], "each row needs one flat list"),
        ([{"a": 1, "b": 2}], "with the keys 'a', 'b'.*--map '{role}={role}\\[\\*\\].a'"),
    ],
)
@pytest.mark.parametrize("role", ["prediction", "reference"])
def test_nested_columns_of_frames_say_what_to_do(role, value, message):
    with pytest.raises(ColumnError, match=f"column '{role}.*'.*{message.format(role=role)}"):
        karat.score([{"prediction": "x", "reference": "x"} | {role: value}], "exact_match")


def test_what_reading_counted_is_reported_for_chosen_rows_too(tmp_path):
    (tmp_path / "run.txt").write_text("# made by hand\nq1 Q0 d1 1 2.0 a\nq2 Q0 d2 1 2.0 a\n")
    for chosen in ({"where": "score > 1"}, {"limit": 9}):
        source = open_source(tmp_path / "run.txt", **chosen)
        assert sum(map(len, source.batches())) == 2
        assert source.notes == {"comments": 1}


def test_two_lists_are_told_to_be_columns():
    for golds in (["a"], ["a", "b"], "exact_match"):
        with pytest.raises(DataError, match=r"found list of texts: two lists are columns, \{'prediction': predictions"):
            karat.score(["a", "b"], golds)


def test_a_result_is_a_mapping_of_its_values():
    result = karat.score({"prediction": ["a", "b"], "reference": ["a", "a"]}, ["exact_match", "contains"])
    assert (list(result), len(result), result["exact_match"]) == (
        ["exact_match", "contains"],
        2,
        result.values["exact_match"],
    )
    assert "contains" in result
    with pytest.raises(KeyError, match="contains"):
        result["contain"]
