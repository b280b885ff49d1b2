"""Precision, recall and F1 of tool calls, from counts of calls that add up over rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from karat.core.columns.conversations import ToolCall
from karat.core.columns.kinds import Array, Counts, Messages
from karat.core.metric.decorator import metric
from karat.core.metric.rows import Rows, collect_rows, divide
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
from karat.metrics.tools.pairing import pair_calls, pair_in_order

SOURCE = "ours: matched, predicted and expected calls, each counted once; ToolCallF1 of Ragas counts sets of calls"
LISTED = ("matched", "missing", "extra")

CallOrder: TypeAlias = Literal["any", "kept"]


def precision_of(totals: Array) -> Array:
    """Precision from the counts of matched, predicted and expected calls; 1 without calls on either side."""
    matched, predicted, expected = totals[..., 0], totals[..., 1], totals[..., 2]
    return divide(matched + (predicted + expected == 0), predicted + (predicted + expected == 0))


def recall_of(totals: Array) -> Array:
    """Recall from the counts of matched, predicted and expected calls; 1 without calls on either side."""
    return precision_of(totals[..., [0, 2, 1]])


def f1_of(totals: Array) -> Array:
    """F1 from the counts of matched, predicted and expected calls; 1 without calls on either side."""
    return divide(2 * totals[..., 0], totals[..., 1] + totals[..., 2], 1.0)


@metric(source=SOURCE, version=2, keeps_null=NO_CALLS, finish=precision_of, specialise=specialise_calls)
def tool_call_precision(
    tool_calls: Messages,
    reference_tool_calls: Messages,
    *,
    arguments: Arguments = "exact",
    by_tool: ByTool = None,
    by_argument: ByArgument = None,
    partial: bool = False,
    order: CallOrder = "any",
    tool: str | None = None,
    null: Null = "no_calls",  # noqa: ARG001  (which nulls the function gets)
) -> Counts:
    """The share of the predicted tool calls that are expected, over all rows; settings as in `tool_call_f1`.

    >>> tool_call_precision(['[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]'],
    ...                     ['[{"name": "f", "arguments": {}}]']).to_pylist()
    [0.5]
    """
    comparison = CallComparison(arguments, by_tool or {}, by_argument or {}, partial)
    return _count(fill_calls(tool_calls), reference_tool_calls, comparison, order, tool)


@metric(source=SOURCE, version=2, keeps_null=NO_CALLS, finish=recall_of, specialise=specialise_calls)
def tool_call_recall(
    tool_calls: Messages,
    reference_tool_calls: Messages,
    *,
    arguments: Arguments = "exact",
    by_tool: ByTool = None,
    by_argument: ByArgument = None,
    partial: bool = False,
    order: CallOrder = "any",
    tool: str | None = None,
    null: Null = "no_calls",  # noqa: ARG001  (which nulls the function gets)
) -> Counts:
    """The share of the expected tool calls that are predicted, over all rows; settings as in `tool_call_f1`.

    >>> tool_call_recall(['[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]'],
    ...                  ['[{"name": "f", "arguments": {}}]']).to_pylist()
    [1.0]
    """
    comparison = CallComparison(arguments, by_tool or {}, by_argument or {}, partial)
    return _count(fill_calls(tool_calls), reference_tool_calls, comparison, order, tool)


def _details(settings: Mapping[str, Any]) -> dict[str, pa.DataType]:
    return dict.fromkeys(LISTED, pa.list_(pa.string())) if settings["list_tools"] else {}


@metric(source=SOURCE, version=2, keeps_null=NO_CALLS, finish=f1_of, specialise=specialise_calls, details=_details)
def tool_call_f1(
    tool_calls: Messages,
    reference_tool_calls: Messages,
    *,
    arguments: Arguments = "exact",
    by_tool: ByTool = None,
    by_argument: ByArgument = None,
    partial: bool = False,
    order: CallOrder = "any",
    tool: str | None = None,
    null: Null = "no_calls",  # noqa: ARG001  (which nulls the function gets)
    list_tools: bool = False,
) -> Counts:
    """F1 of tool calls over all rows: predicted and expected calls are matched one to one, as well as they can be.

    Calls match where name and arguments are equal. `arguments="subset"`: every predicted argument is expected;
    `"superset"`: every expected one is predicted; `"ignore"`: names alone count. `by_tool` sets this for a tool, or
    names the arguments that count: `{"search": ["query"]}`. `by_argument` compares an argument by a metric:
    `{"price": "numeric_match", "search.query": "token_f1"}`; the lowest score of its arguments is the match's, and
    with `partial=True` it is the mean over the arguments. `order="kept"` matches calls in their order only;
    `tool="search"` counts the calls of one tool alone. With `list_tools=True` the names of the tools whose calls are
    matched, missing and extra come with each row, and are counted by tool.

    A row without calls on either side scores 1 and adds nothing to the value. Predicted calls that are null, and text
    without a call, are an answer without calls; with `null="unscored"` a null is a row without an answer. A predicted
    call whose arguments are not a JSON object matches nothing but with `"ignore"`. A row whose expected calls are null
    or cannot be read is unscored: `[]` expects no calls.

    >>> tool_call_f1([[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]],
    ...              [[{"type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}]]).to_pylist()
    [0.6666666666666666]
    """
    comparison = CallComparison(arguments, by_tool or {}, by_argument or {}, partial)
    return _count(fill_calls(tool_calls), reference_tool_calls, comparison, order, tool, listed=list_tools)


def _count(
    predicted: pa.Array,
    expected: pa.Array,
    comparison: CallComparison,
    order: str,
    tool: str | None,
    *,
    listed: bool = False,
) -> Rows:
    """For each row how much the matched calls are worth, and how many calls are predicted and expected.

    If `listed`, the names of the tools come with each row.
    """
    names: list[tuple[list[str], ...] | None] = []

    def count(row: tuple[list[ToolCall], list[ToolCall]] | str) -> tuple[float, int, int] | str:
        names.append(None)
        if isinstance(row, str):
            return row
        mine, theirs = row
        try:
            matched = (pair_in_order if order == "kept" else pair_calls)(mine, theirs, comparison)
        except UnscoredArgument as error:
            return str(error)
        met, met_others = {at for at, _, _ in matched}, {other for _, other, _ in matched}
        names[-1] = (
            [call.name for at, call in enumerate(mine) if at in met],
            [call.name for at, call in enumerate(theirs) if at not in met_others],
            [call.name for at, call in enumerate(mine) if at not in met],
        )
        return sum(worth for _, _, worth in matched), len(mine), len(theirs)

    rows = collect_rows(map(count, pairs(predicted, expected, tool, comparison)), 3)
    if not listed:
        return rows
    lists = zip(*(each or (None, None, None) for each in names), strict=True)
    columns = (pa.array(each, pa.list_(pa.string())) for each in lists)
    return replace(rows, details=dict(zip(LISTED, columns, strict=True)))
