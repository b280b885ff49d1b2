"""Rows of runs that are filtered, sorted, counted and read, compared with the same done row by row."""

import json
from contextlib import suppress

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.core.errors import DataError, JoinError, KaratError, SpecError
from karat.models.testing.fake import FakeModel
from karat.runs.store.run import open_run
from karat.viewer.rows.columns import RunColumns
from karat.viewer.rows.display import mark_text, show_rows
from karat.viewer.rows.facets import count_bins, count_facets, keep_others, list_facets
from karat.viewer.rows.fields import Condition, Field, Order, read_field, read_filter, read_order
from karat.viewer.rows.filters import keep_rows, sort_rows
from karat.viewer.rows.score_curves import draw_curves
from karat.viewer.rows.table import match_rows

N = 40
SCORE, GAIN = Field("score", metric="f1", system=1), Field("difference", metric="f1", system=1)
TOPIC = Field("column", "topic")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two runs of the same rows in different orders, the second with rows that have no answer."""
    random = np.random.default_rng(4)
    words = np.array(["Paris", "Rome", "the", "capital", "Straße"])
    rows = [
        {"id": f"q{at}", "question": f"what is {at}?", "gold": " ".join(random.choice(words, 2)), "weight": at % 7 - 3,
         "topic": ["geo", "art", None][at % 3], "Topic": "constant"}
        for at in range(N)
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(tmp_path_factory.mktemp("runs")))
        for name, order in (("a", range(N)), ("b", random.permutation(N).tolist())):
            answered = [{**rows[at], "prediction": " ".join(random.choice(words, 3))} for at in order]
            if name == "b":
                answered[5]["prediction"] = answered[11]["prediction"] = None
            karat.score(answered, ["em", "f1"], run=name)
        yield match_rows([open_run("a"), open_run("b")])


@pytest.fixture(scope="module")
def rows(table):
    """The rows of both runs side by side, by id, in the order of the first."""
    one, other = (run.read(run.schema.names).to_pylist() for run in table.runs)
    found = {row["id"]: row for row in other}
    return [(row, found[row["id"]]) for row in one]


def gain(pair):
    scores = [row["f1"] for row in pair]
    return None if None in scores else scores[1] - scores[0]


def test_scores_are_drawn_by_lengths_by_columns_and_by_other_scores(table, rows):
    scored = [each for each in rows if each[1]["f1"] is not None]
    for across, number in (
        ("weight", lambda row: row["weight"]),
        ("length", lambda row: len(row["prediction"])),
        ("em", lambda row: row["em"]),
    ):
        first, second = draw_curves(table, "f1", across)
        assert first["system"] == "a"
        (whole,) = second["whole"]
        assert whole["number"] == pytest.approx(np.mean([number(row) for _, row in scored]))
        assert whole["score"]["value"] == pytest.approx(np.mean([row["f1"] for _, row in scored]))
        assert sum(each["score"]["n"] for each in second["parts"]) == len(scored)
    with pytest.raises(SpecError, match=r"no column 'wieght'; did you mean 'weight'"):
        draw_curves(table, "f1", "wieght")
    with pytest.raises(SpecError, match="'topic' holds no numbers"):
        draw_curves(table, "f1", "topic")


def kept(table, *conditions):
    mask = keep_rows(table, conditions)
    return list(range(table.n)) if mask is None else np.flatnonzero(mask).tolist()


def test_rows_are_those_of_both_runs(table, rows):
    shown = show_rows(table, np.arange(N))
    assert [each["id"] for each in shown] == [one["id"] for one, _ in rows]
    for each, pair in zip(shown, rows, strict=True):
        assert [answer["scores"] for answer in each["answers"]] == [[row["em"], row["f1"]] for row in pair]
        assert each["answers"][1]["differences"][1] == gain(pair)
        texts = [
            "".join(piece for piece, _ in text["pieces"]) for answer in each["answers"] for text in answer["answer"]
        ]
        assert texts == [row["prediction"] for row in pair if row["prediction"] is not None]
    missing = [each["answers"][1]["reason"] for each in shown if not each["answers"][1]["answer"]]
    assert missing == ["prediction is null"] * 2


TEXTS = ["paris", "IS 1", "rome the", "STRASSE", "straße", "a.c", "\\", "(", "\n"]
OUTCOME = Field("outcome", metric="f1", system=1)
CONDITIONS = st.one_of(
    st.builds(Condition, st.just(TOPIC), st.sampled_from(["in", "not in"]),
              st.lists(st.sampled_from(["geo", "art", None, "none"]), max_size=3).map(tuple)),
    st.builds(Condition, st.sampled_from([SCORE, GAIN]), st.sampled_from(["between", "range"]),
              st.tuples(*[st.sampled_from([None, -0.5, 0.0, 0.4, 0.5, 1.0])] * 2)),
    st.builds(Condition, st.sampled_from([SCORE, GAIN, TOPIC]), st.just("missing")),
    st.builds(Condition, st.just(Field("text")), st.just("contains"), st.tuples(st.sampled_from(TEXTS))),
    st.sampled_from([
        Condition(Field("id"), "in", ("q3", "q7", "x")),
        Condition(Field("id"), "contains", ("Q1",)),
        Condition(OUTCOME, "in", ("worse", "unscored")),
    ]),
)  # fmt: skip


def holds(condition, pair):
    field, values = condition.field, condition.values
    value = {
        "column": pair[0]["topic"],
        "id": pair[0]["id"],
        "score": pair[1]["f1"],
        "difference": gain(pair),
    }.get(field.kind)
    if condition.op == "contains" and field.kind == "text":
        texts = [pair[0]["question"], pair[0]["gold"], *(row["prediction"] or "" for row in pair)]
        return any(values[0].lower() in text.lower() for text in texts)
    if condition.op == "contains":
        return values[0].lower() in value.lower()
    if condition.op == "missing":
        return value is None
    if field.kind == "outcome":
        outcome = "unscored" if gain(pair) is None else "worse" if gain(pair) < 0 else "other"
        return outcome in values
    if condition.op in {"in", "not in"}:
        return (value in values) == (condition.op == "in")
    low, high = values
    below = high is None or value is None or (value < high if condition.op == "range" else value <= high)
    return value is not None and (low is None or value >= low) and below


@given(st.lists(CONDITIONS, max_size=3))
def test_a_filter_keeps_the_rows_for_which_every_condition_holds(table, rows, conditions):
    expected = [at for at, pair in enumerate(rows) if all(holds(each, pair) for each in conditions)]
    assert kept(table, *conditions) == expected


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    ("field", "key"),
    [(SCORE, lambda pair: pair[1]["f1"]), (GAIN, gain), (TOPIC, lambda pair: pair[0]["topic"]),
     (Field("column", "weight"), lambda pair: pair[0]["weight"]), (Field("id"), lambda pair: pair[0]["id"]),
     (Field("size", metric="f1", system=1), lambda pair: None if gain(pair) is None else abs(gain(pair)))],
)  # fmt: skip
def test_rows_are_sorted_with_those_without_a_value_last(table, rows, field, key, descending):
    found = [key(rows[at]) for at in sort_rows(table, Order(field, descending))]
    there = sorted((value for value in found if value is not None), reverse=descending)
    assert found == [*there, *[None] * (N - len(there))]
    art = [Condition(TOPIC, "in", ("art",))]
    assert sorted(sort_rows(table, Order(field, descending), art)) == np.flatnonzero(keep_rows(table, art)).tolist()


def test_a_facet_counts_under_the_conditions_on_other_fields(table, rows):
    chosen = [Condition(TOPIC, "in", ("art",)), Condition(SCORE, "between", (0.5, None))]
    (topic,) = count_facets(table, keep_others(table, chosen), [TOPIC])
    high = [one["topic"] for one, other in rows if (other["f1"] or 0) >= 0.5]
    assert {each["value"]: each["kept"] for each in topic["values"]} == {
        name: high.count(name) for name in ("geo", "art", None)
    }
    assert sum(each["all"] for each in topic["values"]) == N
    histogram = count_bins(table, keep_others(table, chosen), SCORE)
    art = [other["f1"] for one, other in rows if one["topic"] == "art" and other["f1"] is not None]
    assert histogram["kept"] == np.histogram(art, histogram["edges"])[0].tolist()
    assert sum(histogram["all"]) + histogram["missing"]["all"] == N
    kinds = [field.kind for field in list_facets(table)]
    assert kinds == ["outcome", "outcome", "reason", "reason", "column", "column", "column"]


def test_a_brushed_bin_keeps_as_many_rows_as_it_shows(table):
    histogram = count_bins(table, keep_others(table, []), GAIN)
    edges, last = histogram["edges"], len(histogram["all"]) - 1
    for at, count in enumerate(histogram["all"]):
        brushed = Condition(GAIN, "range", (edges[at], None if at == last else edges[at + 1]))
        assert len(kept(table, brushed)) == count


def test_runs_that_cannot_be_compared_are_refused_as_a_comparison_refuses_them(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    for name, ids, gold in (("a", [1, 2], "x"), ("b", [1, 3], "x"), ("c", [1, 2], "y")):
        karat.score({"id": ids, "prediction": ["x", "y"], "gold": [gold] * 2}, "em", run=name)
    a, b, c = map(open_run, "abc")
    for other in (b, c):
        with pytest.raises((JoinError, DataError)) as compared:
            karat.compare(a, other)
        with pytest.raises(type(compared.value)) as refused:
            match_rows([a, other])
        assert str(refused.value) == str(compared.value)
    assert match_rows([a, c], allow_different=True).n == 2


def test_a_single_run_without_ids_has_its_rows_in_order(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    row = {"prediction": ["x", "x"], "gold": ["x", "y"]}
    karat.score(
        {**row, "Prediction": ["?", "!"], "file_row_number": [8, 9]}, "em", run="a", map={"prediction": "prediction"}
    )
    table = match_rows([open_run("a")])
    shown = show_rows(table, np.array([1, 0]))
    assert [each["id"] for each in shown] == ["2", "1"]
    assert [each["answers"][0]["scores"] for each in shown] == [[0.0], [1.0]]
    assert show_rows(table, np.array([1]), whole=True)[0]["columns"]["Prediction"][0]["pieces"] == [["!", "same"]]


def test_a_judge_is_shown_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = {"id": [1], "question": ["?"], "prediction": ["Rome"], "gold": ["Paris"], "contexts": [["France", "Italy"]]}
    model = FakeModel({"explanation": "Rome is not Paris", "label": "incorrect"})
    karat.score(rows, karat.judges.Judge("correctness", model=model), run="a")
    table = match_rows([open_run("a")])
    (judge,) = show_rows(table, np.array([0]), whole=True)[0]["answers"][0]["judges"]
    assert (judge["metric"], judge["label"], judge["error"]) == (table.specs[0], "incorrect", None)
    assert judge["explanation"]["pieces"] == [["Rome is not Paris", "same"]]
    assert show_rows(table, np.array([0]))[0]["answers"][0]["labels"] == ["incorrect"]
    assert [field.kind for field in list_facets(table)] == ["label", "reason"]
    (contexts,) = show_rows(table, np.array([0]), whole=True)[0]["contexts"]
    assert [text["pieces"][0][0] for text in contexts] == ["France", "Italy"]


def test_repetitions_are_shown_beside_a_row(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    answers = iter("abc" * 2)
    data = {"question": ["first?", "second?"], "gold": ["a", "b"]}
    karat.experiment(data, lambda question: next(answers), "em", run="a", repetitions=3, concurrency=1)
    table = match_rows([open_run("a")])
    (answer,) = show_rows(table, np.array([1]), whole=True)[0]["answers"]
    assert len(answer["repetitions"]) == 2
    assert {each["answer"][0]["pieces"][0][0] for each in answer["repetitions"]} <= set("abc")


def test_only_the_files_of_the_runs_can_be_read(table, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    connection = table.relation._connection
    for query in (f"FROM '{tmp_path}/secret.csv'", f"COPY (SELECT 1) TO '{tmp_path}/out.csv'", "ATTACH 'other.db'",
                  "SET enable_external_access = true", "SET memory_limit = '9GB'", "INSTALL httpfs"):  # fmt: skip
        with pytest.raises(duckdb.Error):
            connection.cursor().execute(query)


def test_texts_are_cut_and_hostile_ones_stay_text():
    shown = mark_text("</script>\u202e" + "x" * 1000, ["gold"])
    assert (shown["length"], shown["cut"], sum(len(piece) for piece, _ in shown["pieces"])) == (1010, True, 600)
    assert json.loads(json.dumps(mark_text("\ud800 a", ["b"])))["length"] == 3


@pytest.mark.parametrize(
    ("read", "data", "message"),
    [
        (read_field, {"kind": "colum", "name": "a"}, "kind: expected 'column' or 'score' or"),
        (read_field, {"kind": "score", "metric": "em", "system": True}, "system: expected a whole number from 0"),
        (read_field, {"kind": "reason", "system": -5}, "system: expected a whole number from 0, found -5"),
        (read_field, "score", "expected an object"),
        (read_filter, [{"field": {"kind": "id"}}], "op is missing"),
        (read_filter, [{"field": {"kind": "id"}, "op": "in", "values": [7]}], "expected to be texts"),
        (read_filter, [{"field": {"kind": "id"}, "op": "between", "values": [1, float("inf")]}], "two numbers"),
        (read_filter, [{"field": {"kind": "id"}, "op": "contains", "values": [""]}], "one text"),
        (read_filter, [{"field": {"kind": "id"}, "op": "in"}] * 51, "up to 50"),
        (read_order, {"field": {"kind": "id"}, "descending": 1}, "expected true or false"),
    ],
)
def test_what_is_no_filter_is_refused_in_words(read, data, message):
    with pytest.raises(KaratError, match=message):
        read(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(10**400),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["field", "op", "values", "kind", "name", "metric", "system"]), inner, max_size=4
        )
    ),
)


SCORES = st.builds(dict, kind=st.just("score"), metric=st.just("f1"), system=JSON)
CONDITION = st.builds(dict, field=SCORES, op=st.sampled_from(["between", "in", "missing"]), values=JSON)


@settings(deadline=None, max_examples=100)
@given(JSON | st.lists(CONDITION))
def test_whatever_a_filter_holds_nothing_but_a_refusal_is_raised(table, data):
    with suppress(KaratError):
        keep_rows(table, read_filter(data))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Condition(Field("column", "nothing"), "in", ("a",)), "no labels"),
        (Condition(Field("column", "question"), "between", (0, 1)), "holds no numbers"),
        (Condition(Field("score", metric="bleu", system=0), "missing"), "there are: em"),
        (Condition(Field("score", metric="f1", system=2), "missing"), "no system 2"),
        (Condition(Field("reason", system=7), "missing"), "no labels"),
        (Condition(Field("outcome", metric="f1"), "contains", ("a",)), "not searched"),
    ],
)
def test_a_condition_that_does_not_fit_the_runs_is_refused(table, condition, message):
    with pytest.raises(SpecError, match=message):
        keep_rows(table, [condition])


def test_columns_of_a_run_are_told_apart(table):
    columns = RunColumns.of(table.runs[0])
    assert columns.roles == {"question": "question", "gold": "reference", "prediction": "prediction"}
    assert columns.added == {"reason"}
