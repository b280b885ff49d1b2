"""Counts and matches of tool calls, counted by hand."""

import numpy as np
import pytest

import karat
from karat.core.columns.kinds import MESSAGES, to_arrow
from karat.core.errors import SpecError
from karat.core.metric.score import score_rows
from karat.core.metric.spec import parse
from karat.metrics import tool_call_f1, tool_call_match, tool_call_precision, tool_call_recall, trajectory_match


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def counts(metric, predicted, expected):
    columns = {
        "tool_calls": to_arrow([predicted], "a", MESSAGES),
        "reference_tool_calls": to_arrow([expected], "b", MESSAGES),
    }
    return score_rows(metric, columns).statistics[0].tolist()


@pytest.mark.parametrize(
    ("predicted", "expected", "matched"),
    [
        ([], [], 0),
        ([call("f")], [], 0),
        ([call("f", x=1)], [call("f", x=1.0)], 1),
        ([call("f", x=1)], [call("f", x="1")], 0),
        ([call("f", x=1)], [call("f", x=True)], 1),
        ([call("f", x=1)], [call("g", x=1)], 0),
        ([call("f", x=1, y=[{"a": 1, "b": 2}])], [call("f", y=[{"b": 2, "a": 1}], x=1)], 1),
        ([call("f", x=[1, 2])], [call("f", x=[2, 1])], 0),
        ([call("f"), call("f")], [call("f")], 1),
        ([call("f"), call("g")], [call("g"), call("f")], 2),
    ],
)
def test_counts_by_hand(predicted, expected, matched):
    for metric in (tool_call_f1, tool_call_precision, tool_call_recall):
        assert counts(metric, predicted, expected) == [matched, len(predicted), len(expected)]


@pytest.mark.parametrize(
    ("settings", "matched"),
    [
        ({}, 0),
        ({"arguments": "ignore"}, 2),
        ({"arguments": "subset"}, 0),
        ({"arguments": "superset"}, 1),
        ({"by_tool": {"find": ["q"]}}, 1),
        ({"by_tool": {"find": "superset", "mail": "ignore"}}, 2),
        ({"by_argument": {"to": "exact_match(normalize='squad')"}}, 1),
        ({"by_argument": {"mail.to": "token_f1", "find.to": "no_answer"}}, None),
        ({"by_argument": {"to": "token_f1"}, "partial": True}, 1.5),
        ({"partial": True}, 0.5),
        ({"tool": "mail", "arguments": "ignore"}, 1),
        ({"order": "kept", "arguments": "ignore"}, 1),
    ],
)
def test_settings_by_hand(settings, matched):
    predicted = [call("find", q="x", n=3), call("mail", to="The Ann")]
    expected = [call("mail", to="ann"), call("find", q="x")]
    if matched is None:
        with pytest.raises(SpecError, match="no metric 'no_answer'"):
            tool_call_f1.using(**settings)
    else:
        assert counts(tool_call_f1.using(**settings), predicted, expected)[0] == pytest.approx(matched)


def test_matching_is_the_best_one_to_one():
    by_tool = {"f": "subset"}
    predicted, expected = [call("f"), call("f", x=1)], [call("f", x=1), call("f", y=1)]
    assert counts(tool_call_f1.using(by_tool=by_tool), predicted, expected) == [
        2,
        2,
        2,
    ]  # not so first come first served
    assert tool_call_match([predicted], [expected], by_tool=by_tool).to_pylist() == [1]


@pytest.mark.parametrize(
    ("predicted", "expected", "modes"),
    [
        ("fg", "fg", {"ordered", "unordered", "subset", "superset"}),
        ("gf", "fg", {"unordered", "subset", "superset"}),
        ("f", "fg", {"subset"}),
        ("fgg", "fg", {"superset"}),
        ("fh", "fg", set()),
        ("ff", "fg", set()),
        ("", "", {"ordered", "unordered", "subset", "superset"}),
        ("", "f", {"subset"}),
    ],
)
def test_modes(predicted, expected, modes):
    columns = [[call(name) for name in predicted]], [[call(name) for name in expected]]
    for mode in ("ordered", "unordered", "subset", "superset"):
        assert tool_call_match(*columns, mode=mode).to_pylist() == [float(mode in modes)], mode


def test_values_are_micro_averages_and_a_row_without_calls_adds_nothing():
    rows = {
        "tool_calls": [[call("f"), call("g")], [], [call("f")]],
        "reference_tool_calls": [[call("f")], [], [call("f"), call("g"), call("h")]],
    }
    values = karat.score(rows, ["tool_call_precision", "tool_call_recall", "tool_call_f1"]).values
    assert [value.value for value in values.values()] == pytest.approx([2 / 3, 2 / 4, 4 / 7], abs=1e-9)
    assert tool_call_f1(**rows).to_pylist()[1] == 1


def test_arguments_of_the_model_that_are_no_json_are_wrong_and_those_of_the_reference_unscored():
    broken, right = [{"name": "f", "arguments": "{x: 1}"}], [call("f", x=1)]
    assert tool_call_f1([broken, right], [right, broken]).to_pylist() == [0, None]
    assert tool_call_match([broken], [right], arguments="ignore").to_pylist() == [1]
    columns = {"messages": to_arrow([right], "a", MESSAGES), "reference_messages": to_arrow([broken], "b", MESSAGES)}
    (reason,) = score_rows(trajectory_match, columns).reasons
    assert reason == "reference_messages: the arguments of 'f' are not a JSON object: {x: 1}"


def test_an_argument_without_a_score_leaves_its_row_unscored():
    metric = tool_call_f1.using(by_argument={"x": "numeric_match"})
    columns = [[call("f", x="2")], [call("f", x="2")]], [[call("f", x="two")], [call("f", x=2)]]
    arrow = dict(
        zip(("tool_calls", "reference_tool_calls"), (to_arrow(c, "c", MESSAGES) for c in columns), strict=True)
    )
    rows = score_rows(metric, arrow)
    assert np.isnan(rows.statistics[0]).all()
    assert rows.reasons[0].startswith("argument 'x' of 'f': numeric_match: ")
    assert rows.statistics[1].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("by_argument={'x': 3}", "the spec of a metric is expected"),
        ("by_argument={'x': 'wer'}", "wer is not a metric of prediction and reference with scores from 0 to 1"),
        ("by_argument={'x': 'ndcg'}", "ndcg is not a metric of prediction"),
        ("by_tool={'f': 'some'}", "exact, subset, superset, ignore, or a list of the arguments that count"),
        ("arguments=some", "is not one of its values"),
    ],
)
def test_wrong_settings_say_what_is_expected(settings, problem):
    with pytest.raises(SpecError, match=problem):
        parse(f"tool_call_f1({settings})")


def test_tools_are_counted_by_name():
    rows = {
        "tool_calls": [[call("f"), call("g"), call("g")], [], [{"foo": 1}], [call("h"), call("f")]],
        "reference_tool_calls": [[call("f"), call("g")], [call("h")], [], [call("f"), call("h")]],
    }
    metric = tool_call_f1.using(list_tools=True)
    result = karat.score(rows, metric)
    assert result.counts[metric.spec] == {"matched": {"f": 2, "g": 1, "h": 1}, "missing": {"h": 1}, "extra": {"g": 1}}
    kept = metric.using(order="kept")
    assert sum(karat.score(rows, kept).counts[kept.spec]["matched"].values()) == 3
    assert karat.score(rows, "tool_call_f1").counts == {}
