"""Properties that every registered metric must have; a new metric is tested here without further work."""

import doctest
import pickle
import re
import typing

import numpy as np
import pyarrow as pa
import pytest

from karat.core.columns.kinds import ANSWERS, GRADED, IDS, JSON, MESSAGES, NUMBER, SUBTOPICS, TEXT, TEXTS
from karat.core.metric.registry import all_metrics
from karat.core.metric.score import score_rows
from karat.core.metric.setting import Range
from karat.core.metric.spec import parse
from karat.data.roles import singular
from karat.errors import RowError, SpecError

LABELS = {"labels": ["the cat sat", "cat sat", "3.14", "x"]}
NEEDED = {  # settings without which a metric cannot score
    "matches_regex": {"pattern": "[ab]c?"},
    "label_precision": LABELS,
    "label_recall": LABELS,
    "label_f": LABELS,
    "column": {"name": "gpt4"},
    "json_schema": {"schema": {"type": "number"}},
    "percentile": {"name": "gpt4"},
}
# of all rows together; of texts that are queries; of ten answers
SHARED = {"intraclass_correlation", "sql_match", "enough_right"}
TEXT_ROWS = ["the cat sat", "A dog!", "", "3.14", "北京 is here", "the cat sat", None, "x"]
LIST_ROWS = [["cat sat", "dog"], ["a dog"], [""], ["3.14", "3"], ["北京"], ["mat"], ["x"], None]
NUMBER_ROWS = [1.0, 0.5, 0.0, 3.0, 2.0, 1.5, 0.25, None]
ANSWER_ROWS = [[["the cat", "sat"], ["cat"]], [["A dog"]], [[""]], [["3", "14"]], [["北京"], None], [["x"]], [[]], None]
ID_ROWS = [["a", "b", "a"], ["x"], [], ["b", None, "a"], ["7", ""], ["c", "b"], None, ["a"]]
GRADE_ROWS = [{"a": 2, "b": 1}, {"a": 1}, {"a": 1}, {"a": 1, "c": 3}, {"7": 0}, {}, {"a": 1}, None]
SUBTOPIC_ROWS = [{"a": {"1": 2}, "b": {"2": 1}}, {"a": {"1": 1}}, {"a": {"1": 1}}, {"b": {"1": 1, "2": 0}}]
SUBTOPIC_ROWS += [{"7": {"1": 0}}, {}, {"a": {"1": 1}}, None]

CALL = '{"name": "f", "arguments": {"x": 1}}'
TEXT_AND_CALL = f'[{{"role": "user", "content": "Hi"}}, {{"role": "assistant", "tool_calls": [{CALL}]}}]'
MESSAGE_ROWS = [f"[{CALL}]", TEXT_AND_CALL, "[]", "Hi", '{"a": 1}', f"<tool_call>{CALL}</tool_call>", None, "[{"]
JSON_ROWS = ["[]", "{}", "[]", "[1]", '{"a": 1}', f"[{CALL}]", "[]", None]


def rows_for(metric, kind_of_reference=TEXTS):
    values = {TEXT: TEXT_ROWS, TEXTS: LIST_ROWS, NUMBER: NUMBER_ROWS, IDS: ID_ROWS, GRADED: GRADE_ROWS}
    values |= {ANSWERS: ANSWER_ROWS, MESSAGES: MESSAGE_ROWS, JSON: JSON_ROWS, SUBTOPICS: SUBTOPIC_ROWS}
    kinds = dict(metric.definition.columns)
    if "across" in metric.settings:
        kinds["reference"] = kind_of_reference
    return {role: values[kind] for role, kind in kinds.items()}


def arrow(columns, rows=slice(None)):
    return {role: pa.array(values[rows]) for role, values in columns.items()}


@pytest.fixture(params=[m.using(**NEEDED.get(m.name, {})) for m in all_metrics()], ids=lambda m: m.name)
def metric(request):
    if request.param.name in ("supported", "citation_recall", "citation_precision"):
        pytest.importorskip("sentencex")
        return request.param.using(model=request.getfixturevalue("cross_encoder")(labels=3), label=0)
    if request.param.name == "cross_similarity":
        return request.param.using(model=request.getfixturevalue("cross_encoder")())
    if request.param.name in ("semantic_similarity", "token_similarity"):
        return request.param.using(model=request.getfixturevalue("minilm"))
    return request.param


def test_a_metric_has_a_summary_a_source_and_an_example(metric):
    definition = metric.definition
    assert len(definition.summary) < 120
    assert definition.summary.endswith(".")
    assert len(definition.source) > 10
    assert any(definition.name in example.source for example in doctest.DocTestParser().get_examples(metric.__doc__))


ANY_NUMBER = {"low", "high", "at", "label", "positive", "weights"}  # scores, names of classes, several numbers


def test_a_setting_that_is_a_number_has_a_range(metric):
    for setting in metric.definition.settings.values():
        kinds = {setting.kind, *typing.get_args(setting.kind)}
        if kinds & {int, float} and setting.name not in ANY_NUMBER:
            assert isinstance(setting.check, Range), setting.name
            beyond = [setting.check.high * 10 + 1, -1e300]
            beyond = [*beyond, float("inf"), float("nan")] if float in kinds else map(int, beyond)
            for value in beyond:
                with pytest.raises(SpecError, match=re.escape(f"{setting.check} is expected")):
                    setting.accept(value, metric.name)


def test_all_metrics_call_a_column_the_same():
    roles = {role for each in all_metrics() for role in each.definition.columns}
    assert len({singular(role) for role in roles}) == len(roles)


def test_a_metric_is_restored_from_its_spec_and_its_pickle(metric):
    assert parse(metric.spec) == metric
    assert pickle.loads(pickle.dumps(metric)) == metric  # noqa: S301
    assert hash(parse(metric.spec)) == hash(metric)


def test_its_scores_stay_within_its_range(metric):
    scores = [s for s in metric(**rows_for(metric)).to_pylist() if s is not None]
    low, high = metric.definition.low, metric.definition.high
    assert scores or metric.name in SHARED
    assert all((low is None or low <= s) and (high is None or s <= high) for s in scores)


def test_null_in_null_out_with_a_reason(metric):
    columns = rows_for(metric)
    rows = score_rows(metric, arrow(columns))
    keeps = metric.definition.inputs.nulls
    needed = [column for role, column in columns.items() if role not in keeps]
    for index, cells in enumerate(zip(*needed, strict=True)):
        if None in cells:
            assert np.isnan(rows.statistics[index]).all()
            assert "is null" in rows.reasons[index]


def test_a_row_does_not_depend_on_its_neighbours(metric):
    columns = rows_for(metric)
    whole = score_rows(metric, arrow(columns)).statistics
    for row in range(len(whole)):
        alone = score_rows(metric, arrow(columns, slice(row, row + 1))).statistics
        np.testing.assert_array_equal(*np.broadcast_arrays(alone[0], whole[row]))


def test_statistics_of_parts_add_up_to_those_of_the_whole(metric):
    columns = rows_for(metric)
    whole, left, right = (
        np.nansum(score_rows(metric, arrow(columns, rows)).statistics, axis=0)
        for rows in (slice(None), slice(0, 3), slice(3, None))
    )
    np.testing.assert_allclose(left + right, whole)


def test_no_rows_have_no_values(metric):
    columns = rows_for(metric)
    statistics = score_rows(metric, arrow(columns, slice(0, 0))).statistics
    assert len(statistics) == 0
    width = score_rows(metric, arrow(columns)).statistics.shape[1]
    if metric.finish is not None:  # as in the slice of a comparison in which no row is scored
        assert metric.finish(np.empty((0, width))).shape == (0,)
        assert metric.finish(np.empty((2, 0, width))).shape == (2, 0)


def test_the_order_of_references_changes_nothing(metric):
    if "across" not in metric.settings:
        pytest.skip("has no list of references")
    columns = rows_for(metric)
    turned = columns | {"reference": [r and r[::-1] for r in columns["reference"]]}
    assert metric(**columns).to_pylist() == metric(**turned).to_pylist()


def test_one_reference_scores_as_a_list_of_one(metric):
    if "across" not in metric.settings:
        pytest.skip("has no list of references")
    columns = rows_for(metric, TEXT)
    listed = columns | {"reference": [None if r is None else [r] for r in columns["reference"]]}
    assert metric(**columns).to_pylist() == metric(**listed).to_pylist()


def test_unequal_lengths_are_refused(metric):
    columns = rows_for(metric)
    if len(columns) == 1:
        pytest.skip("has one column")
    first = next(iter(columns))
    with pytest.raises(RowError, match="unequal length"):
        metric(**columns | {first: columns[first][:-1]})


def test_no_rows_give_no_scores(metric):
    assert metric(**{role: [] for role in metric.definition.columns}).to_pylist() == []
