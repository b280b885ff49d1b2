import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import metric
from karat.core.metric import score as lift
from karat.core.metric.score import score_rows
from karat.core.parallel import even_part
from karat.errors import ColumnError, RowError, SpecError
from karat.kinds import Counts, Number, Rows, Score, Text
from karat.metrics import exact_match, token_f1

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ROWS = ["Paris", "Lyon", None, "Nice", "Brest", "Metz"]
GOLD = [["Paris", "paris"], ["Nice", "Lyon"], ["x"], [], None, [None, "Metz"]]


def test_null_in_null_out_with_the_reason():
    rows = score_rows(exact_match, {"prediction": pa.array(ROWS), "reference": pa.array(GOLD)})
    assert exact_match(ROWS, GOLD).to_pylist() == [1.0, 1.0, None, None, None, 1.0]
    assert rows.reasons.tolist() == [
        None,
        None,
        "prediction is null",
        "reference is an empty list",
        "reference is null",
        None,
    ]


@pytest.mark.parametrize(("across", "value"), [("max", 1.0), ("min", 0.0), ("mean", 1 / 3), ("first", 0.0)])
def test_references_combine_as_asked(across, value):
    assert exact_match(["c"], [["a", "c", "b"]], across=across).to_pylist() == [value]


def test_references_combine_by_any_callable():
    scores = exact_match(["c", "a", None], [["a", "c", "b"], [None], ["a"]], across=np.median)
    assert scores.to_pylist() == [0.0, None, None]
    assert exact_match.using(across=np.median).spec.startswith("exact_match(across=<numpy.")


@pytest.mark.parametrize("across", ["max", "mean", "min"])
def test_the_order_of_references_changes_nothing(across):
    golds = ["the cat", "a cat sat", "dog", "cat sat down"]
    one = token_f1(["cat sat"], [golds], across=across).to_pylist()
    assert one == pytest.approx(token_f1(["cat sat"], [golds[::-1]], across=across).to_pylist())


def test_a_row_does_not_depend_on_its_neighbours(monkeypatch):
    whole = token_f1(ROWS * 50, GOLD * 50).to_pylist()
    monkeypatch.setattr(lift, "SLICE", 7)
    assert token_f1(ROWS * 50, GOLD * 50).to_pylist() == whole
    assert whole == [token_f1([p], [g]).to_pylist()[0] for p, g in zip(ROWS, GOLD, strict=True)] * 50


@pytest.mark.parametrize(
    "column",
    [
        ["a", "b", None],
        pa.array(["a", "b", None]),
        pa.array(["a", "b", None], pa.large_string()),
        pa.array(["a", "b", None], pa.string_view()),
        pa.array(["a", "b", None]).dictionary_encode(),
        pl.Series(["a", "b", None], dtype=pl.Categorical),
        pa.chunked_array([["a"], ["b", None]]),
        pa.array(["z", "a", "b", None, "z"]).slice(1, 3),
        np.array(["a", "b", None], dtype=object),
        pd.Series(["a", "b", None]),
        pd.Series(["a", "b", None], dtype="category"),
        pl.Series(["a", "b", None]),
    ],
    ids=lambda column: (
        f"{type(column).__module__}.{type(column).__name__}-{getattr(column, 'type', getattr(column, 'dtype', ''))}"
    ),
)
def test_columns_of_every_origin_score_the_same(column):
    assert exact_match(column, ["a", "x", "y"]).to_pylist() == [1.0, 0.0, None]
    assert exact_match(["a", "x", "y"], column).to_pylist() == [1.0, 0.0, None]


@pytest.mark.parametrize(
    "gold",
    [
        [["a", "b"], [], None],
        pa.array([["a", "b"], [], None], pa.large_list(pa.large_string())),
        pa.array([["z"], ["a", "b"], [], None, ["z"]]).slice(1, 3),
        pa.array([["a", "b"], [], None], pa.list_(pa.string_view())),
        pa.array([["a", "b"], [], None], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        pa.array([["a", "b"], [], None], pa.list_view(pa.string())),
        pl.Series([["a", "b"], [], None]),
        pa.chunked_array([[["a", "b"]], [[], None]]),
    ],
    ids=lambda column: f"{type(column).__name__}-{getattr(column, 'type', getattr(column, 'dtype', ''))}",
)
def test_lists_of_every_layout_score_the_same(gold):
    assert exact_match(["b", "b", "b"], gold).to_pylist() == [1.0, None, None]


def test_a_fixed_size_list_is_a_list():
    gold = pa.array([["a", "b"], None, ["c", "b"]], pa.list_(pa.string(), 2))
    assert exact_match(["b", "b", "a"], gold).to_pylist() == [1.0, None, 0.0]


def test_integers_have_one_spelling_and_other_numbers_are_refused():
    assert exact_match(["42", "-7"], [42, -7]).to_pylist() == [1.0, 1.0]
    assert exact_match(["42"], [[41, 42]]).to_pylist() == [1.0]
    with pytest.raises(ColumnError, match=r"reference holds double, text is expected; a number has many spellings"):
        exact_match(["42.0"], [42.0])
    with pytest.raises(ColumnError, match=r"prediction holds bool, text is expected"):
        exact_match([True], ["true"])


def test_several_predictions_a_row_count_only_as_told():
    said, gold = [["a", "b"], ["c"], [], None], [["b", "x"], ["c"], ["c"], ["c"]]
    with pytest.raises(ColumnError, match=r"prediction holds list<item: string>: several a row.*samples='first'"):
        exact_match(said, gold)
    assert exact_match(said, gold, samples="first").to_pylist() == [0.0, 1.0, None, None]
    assert exact_match(said, gold, samples="max").to_pylist() == [1.0, 1.0, None, None]
    assert exact_match(said, gold, samples="mean").to_pylist() == [0.5, 1.0, None, None]
    assert exact_match(said, ["a", "c", "c", "c"], samples="max").to_pylist() == [1.0, 1.0, None, None]
    columns = {"prediction": pa.array(said), "reference": pa.array(gold)}
    reasons = score_rows(exact_match.using(samples="max"), columns).reasons.tolist()
    assert reasons == [None, None, "prediction is an empty list", "prediction is null"]


@pytest.mark.parametrize("column", ["Paris", b"Paris", 3, None, iter(["a"])])
def test_what_is_no_column_is_refused(column):
    with pytest.raises(ColumnError, match="a column is expected"):
        exact_match(column, ["Paris"])


def test_values_of_more_than_one_kind_are_refused():
    with pytest.raises(ColumnError, match="prediction: the values are of more than one kind"):
        exact_match(["a", 1], ["a", "b"])


def test_unequal_lengths_are_refused_with_both():
    with pytest.raises(RowError, match="prediction has 2 rows, reference has 1 rows"):
        exact_match(["a", "b"], ["a"])


def test_no_rows_give_no_scores():
    assert exact_match([], []).to_pylist() == []
    assert token_f1(pa.array([], pa.string()), pa.array([], pa.list_(pa.string()))).to_pylist() == []


def test_a_metric_may_leave_rows_unscored_with_or_without_a_reason():
    @metric(source="here", register=False)
    def picky(prediction: Text, *, explain: bool = False) -> Score:
        """1, but for 'x' nothing."""
        assert prediction.null_count == 0  # a metric never sees one
        known = [p != "x" for p in prediction.to_pylist()]
        if not explain:
            return [1.0 if k else math.nan for k in known]
        reasons = np.array([None if k else "x is not an answer" for k in known], dtype=object)
        return Rows(np.ones((len(known), 1)), reasons)

    columns = {"prediction": pa.array(["a", "x", None])}
    assert picky(columns["prediction"]).to_pylist() == [1.0, None, None]
    assert score_rows(picky, columns).reasons.tolist() == [
        None,
        "the metric gave no finite number",
        "prediction is null",
    ]
    told = score_rows(picky.using(explain=True), columns)
    assert told.reasons.tolist() == [None, "x is not an answer", "prediction is null"]
    assert np.isnan(told.statistics[1:]).all()


def test_counts_of_the_best_reference_are_kept_whole():
    @metric(source="here", finish=lambda totals: totals[..., 0] / totals[..., 1], register=False)
    def hits(prediction: Text, reference: Text) -> Counts:
        """Whether equal, of the length."""
        pairs = zip(prediction.to_pylist(), reference.to_pylist(), strict=True)
        return np.array([[float(p == r), float(len(r))] for p, r in pairs])

    columns = {"prediction": pa.array(["ab", "c"]), "reference": pa.array([["abc", "ab"], ["dd"]])}
    assert score_rows(hits, columns).statistics.tolist() == [[1.0, 2.0], [0.0, 2.0]]
    assert score_rows(hits.using(across="min"), columns).statistics.tolist() == [[0.0, 3.0], [0.0, 2.0]]
    assert score_rows(hits.using(across="mean"), columns).statistics.tolist() == [[0.5, 2.5], [0.0, 2.0]]
    with pytest.raises(SpecError, match="a callable cannot combine"):
        hits(["ab"], [["ab"]], across=max)


@pytest.mark.parametrize("across", ["max", "min", "first", "mean"])
@given(st.lists(st.lists(st.tuples(st.integers(-2, 2) | st.none(), st.none() | st.booleans()), max_size=3)))
def test_a_detail_is_of_the_chosen_reference_and_a_boolean_one_of_any(across, rows):
    @metric(
        source="here",
        low=None,
        high=None,
        details=lambda settings: {"pair": pa.string(), "known": pa.bool_()},
        register=False,
    )
    def pick(prediction: Text, reference: Text) -> Score:
        """The number that a reference holds."""
        found = [json.loads(each) for each in reference.to_pylist()]
        scores = np.array([[np.nan if score is None else score] for score, _ in found]).reshape(-1, 1)
        return Rows(scores, details={"pair": reference, "known": pa.array([known for _, known in found], pa.bool_())})

    texts = pa.array([[json.dumps(pair) for pair in row] for row in rows], pa.list_(pa.string()))
    picked = pick.using(across=across)
    scored = score_rows(picked, {"prediction": pa.array(["x"] * len(rows)), "reference": texts})
    pairs, any_known = (column.to_pylist() for column in scored.detail_columns(picked))
    for at, row in enumerate(rows):
        there = [score for score, _ in row if score is not None]
        known = [known for _, known in row if known is not None]
        values = {"max": max(there), "min": min(there), "mean": np.mean(there), "first": row[0][0]} if there else {}
        expected = values.get(across)
        assert scored.statistics[at, 0] == pytest.approx(math.nan if expected is None else expected, nan_ok=True)
        assert any_known[at] == (any(known) if known else None)
        of_one = row and across != "mean"
        assert pairs[at] == (json.dumps(row[[score for score, _ in row].index(expected)]) if of_one else None)


def test_a_metric_that_gives_the_wrong_shape_is_told_so():
    @metric(source="here", register=False)
    def short(prediction: Text) -> Score:
        """One row, always."""
        return [1.0]

    @metric(source="here", register=False)
    def wide(prediction: Text) -> Score:
        """Two counts, no finish."""
        return np.ones((len(prediction), 2))

    @metric(source="here", register=False)
    def one(prediction: Text) -> Score:
        """One number, not one a row."""
        return 1.0

    @metric(source="here", register=False)
    def said(prediction: Text) -> Score:
        """Words."""
        return ["good"] * len(prediction)

    with pytest.raises(RowError, match="returned 1 rows of statistics for 2 rows"):
        short(["a", "b"])
    with pytest.raises(RowError, match=r"one must return one float a row, or rows of counts; it returned 1.0"):
        one(["a", "b"])
    with pytest.raises(RowError, match=r"said must return one float a row.*could not convert"):
        said(["a", "b"])
    with pytest.raises(SpecError, match="needs a finish"):
        wide(["a"])


def test_threads_are_bounded_and_change_nothing(monkeypatch):
    monkeypatch.setattr(lift, "SLICE", 5)
    whole = token_f1(ROWS * 20, GOLD * 20).to_pylist()
    for count in ("1", "2", "7"):
        monkeypatch.setenv("KARAT_THREADS", count)
        assert token_f1(ROWS * 20, GOLD * 20).to_pylist() == whole
    monkeypatch.setenv("KARAT_THREADS", "many")
    with pytest.raises(SpecError, match="KARAT_THREADS='many'"):
        token_f1(ROWS * 20, GOLD * 20)


def test_a_score_beyond_the_range_is_told_with_what_to_do():
    @metric(source="here", register=False)
    def seconds(prediction: Number) -> Score:
        """How long it took."""
        return prediction

    @metric(source="here", high=None, direction="minimize", register=False)
    def latency(prediction: Number) -> Score:
        """How long it took."""
        return prediction

    with pytest.raises(SpecError, match=r"seconds returned 4.5, outside its range of 0.0 to 1.0: declare"):
        seconds([0.5, 4.5, None])
    assert latency([0.5, 4.5, None]).to_pylist() == [0.5, 4.5, None]


@pytest.mark.parametrize(
    ("rows", "workers", "size"), [(100_000, 2, 25_000), (100_000, 1, 1 << 15), (5_000, 2, 1 << 15), (70_000, 3, 23_334)]
)
def test_every_thread_gets_as_many_rows(rows, workers, size, monkeypatch):
    monkeypatch.setenv("KARAT_THREADS", str(workers))
    assert even_part(rows, 1 << 15) == size
