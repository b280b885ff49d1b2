"""Metrics that wait for others, give columns beside the score, or are made of a name."""

import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat import Metric, metric
from karat.core.metric.definition import Remote
from karat.core.metric.registry import add_maker
from karat.core.metric.spec import parse
from karat.core.progress import advance
from karat.errors import SpecError
from karat.kinds import Rows, Score, Text

threads: list[threading.Thread] = []


@metric(source="a test's own", register=False)
def lengths(prediction: Text) -> Score:
    """The length of each text, and its words beside it."""
    threads.append(threading.current_thread())
    texts = prediction.to_pylist()
    advance(len(texts))
    words = pa.array([len(text.split()) for text in texts], pa.int64())
    return Rows(np.array([[min(1.0, len(text) / 10)] for text in texts]), details={"words": words})


waiting = Metric(
    replace(lengths.definition, remote=Remote(), details=lambda _: {"words": pa.int64()}, marks={"tape": "7"})
)
ROWS = [{"prediction": "a b c"}, {"prediction": None}, {"prediction": "abcdefghij"}]


def test_details_are_columns_beside_the_score_and_null_where_the_row_is_unscored():
    table = karat.score(ROWS, waiting).table
    assert table.column_names == ["prediction", "lengths", "lengths.words", "reason"]
    assert table["lengths"].to_pylist() == [0.5, None, 1.0]
    assert table["lengths.words"].to_pylist() == [3, None, 1]
    assert table.schema.field("lengths.words").type == pa.int64()


def test_details_that_were_not_given_are_null():
    empty = Metric(replace(waiting.definition, details=lambda _: {"words": pa.int64(), "other": pa.string()}))
    assert karat.score(ROWS, empty).table["lengths.other"].to_pylist() == [None] * 3
    assert karat.score({"prediction": pa.array([], pa.string())}, empty).table.num_rows == 0


def test_a_taken_name_gets_a_number():
    table = karat.score([{**row, "lengths.words": 0} for row in ROWS], waiting).table
    assert table.column_names == ["prediction", "lengths.words", "lengths", "lengths.words_2", "reason"]


def test_a_waiting_metric_is_called_in_the_callers_thread(monkeypatch):
    monkeypatch.setenv("KARAT_THREADS", "3")
    rows = [{**row, "reference": "x"} for row in ROWS] * 30_000
    for scored in (lambda: karat.score(rows, [waiting, "exact_match"]), lambda: waiting(["a"])):
        threads.clear()
        scored()
        assert set(threads) == {threading.current_thread()}


def test_progress_counts_rows_within_a_batch():
    seen = []
    karat.score(ROWS, waiting, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 3), (3, 3)]


def test_marks_are_in_the_signature():
    assert "|version=1|tape=7" in waiting.signature
    assert waiting.spec == "lengths"


def test_a_prefix_makes_metrics_of_names_and_files():
    add_maker("made", lambda name: lengths.using(missing="wrong") if name == "up/to (1).toml" else lengths)
    assert parse("made:plain") == lengths
    assert parse("made:up/to (1).toml(extract='regex:a(b).toml')").settings["extract"] == "regex:a(b).toml"
    with pytest.raises(SpecError, match="no setting 'mising'; did you mean 'missing'"):
        parse("made:plain(mising=wrong)")
    with pytest.raises(SpecError, match="there is no metric 'unmade:plain'"):
        parse("unmade:plain")
