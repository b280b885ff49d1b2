"""Whether the tool calls of a row are those that are expected."""

from __future__ import annotations

from typing import Literal

from karat.core.columns.conversations import ToolCall
from karat.core.columns.kinds import Messages, Score
from karat.core.metric.decorator import metric
from karat.core.metric.rows import collect_rows
from karat.metrics.tools.calls import (
    NO_CALLS,
    Arguments,
    ByArgument,
    ByTool,
    CallComparison,
    Null,
    UnscoredArgument,
    fill_calls,
    pairs,
    specialise_calls,
)
from karat.metrics.tools.pairing import pair_calls

_EQUAL = 1 - 1e-9


@metric(
    source="ours: a matching of predicted and expected calls one to one that leaves out none",
    version=2,
    keeps_null=NO_CALLS,
    specialise=specialise_calls,
)
def tool_call_match(
    tool_calls: Messages,
    reference_tool_calls: Messages,
    *,
    mode: Literal["unordered", "ordered", "subset", "superset"] = "unordered",
    arguments: Arguments = "exact",
    by_tool: ByTool = None,
    by_argument: ByArgument = None,
    tool: str | None = None,
    null: Null = "no_calls",  # noqa: ARG001  (which nulls the function gets)
) -> Score:
    """1 where the predicted tool calls are the expected ones, else 0.

    `mode="unordered"`: in any order; `"ordered"`: in the same order; `"subset"`: every predicted call is expected;
    `"superset"`: every expected call is predicted. Each call matches one other. The other settings are as in
    `tool_call_f1`; an argument that is compared by a metric is equal where its score is 1.

    A row without calls on either side scores 1. Predicted calls that are null, and text without a call, are an answer
    without calls; with `null="unscored"` a null is a row without an answer. A predicted call whose arguments are not a
    JSON object matches nothing but with `arguments="ignore"`. A row whose expected calls are null or cannot be read is
    unscored: `[]` expects no calls.

    >>> calls = [[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]]
    >>> tool_call_match(calls, [[{"name": "g", "args": {}}, {"name": "f", "args": {"x": 1.0}}]]).to_pylist()
    [1.0]
    >>> tool_call_match(calls, [[{"name": "g", "args": {}}]], mode="superset").to_pylist()
    [1.0]
    """
    comparison = CallComparison(arguments, by_tool or {}, by_argument or {})

    def match(row: tuple[list[ToolCall], list[ToolCall]] | str) -> float | str:
        if isinstance(row, str):
            return row
        mine, theirs = row
        if (len(mine) > len(theirs) and mode != "superset") or (len(mine) < len(theirs) and mode != "subset"):
            return 0.0
        try:
            if mode == "ordered":
                return float(all(comparison.worth(*both) >= _EQUAL for both in zip(mine, theirs, strict=True)))
            return float(len(pair_calls(mine, theirs, comparison, _EQUAL)) == min(len(mine), len(theirs)))
        except UnscoredArgument as error:
            return str(error)

    return collect_rows(map(match, pairs(fill_calls(tool_calls), reference_tool_calls, tool, comparison)))
