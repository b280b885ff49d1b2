"""Whether a conversation takes the course of the expected one, as agentevals defines it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from karat.core.columns.conversations import Message, ToolCall, UnreadableConversation, conversations, replies
from karat.core.columns.kinds import Messages, Score
from karat.core.metric.decorator import metric
from karat.core.metric.rows import collect_rows
from karat.metrics.tools.calls import Arguments, ByTool, CallComparison, calls_of, too_many, unreadable_arguments


@metric(
    source="agentevals 0.0.9, https://github.com/langchain-ai/agentevals, create_trajectory_match_evaluator", version=2
)
def trajectory_match(
    messages: Messages,
    reference_messages: Messages,
    *,
    mode: Literal["strict", "unordered", "subset", "superset"] = "strict",
    arguments: Arguments = "exact",
    by_tool: ByTool = None,
) -> Score:
    """1 where a conversation has the messages and tool calls of the expected one, else 0; texts are not compared.

    `mode="strict"`: the same roles in the same order, and in each message the same calls in any order. The other modes
    compare the calls of whole conversations: `"unordered"`, each is in the other; `"superset"`, every expected call is
    made; `"subset"`, every call made is expected. `arguments` and `by_tool` are as in `tool_call_f1`. As in agentevals,
    a call takes the first match that is left, in `"subset"` the expected call is the one that `arguments` looks at, and
    `"unordered"` looks both ways.

    Two conversations without messages match. A text is a message of the assistant. A row is unscored where a
    conversation is null, or the expected one cannot be read.

    >>> call = {"role": "assistant", "tool_calls": [{"name": "f", "args": {"x": 1}}]}
    >>> trajectory_match([[{"role": "user", "content": "Hi"}, call]], [[{"role": "human"}, call]]).to_pylist()
    [1.0]
    """
    comparison = CallComparison(arguments, by_tool or {})

    def match(
        mine: list[Message] | UnreadableConversation, theirs: list[Message] | UnreadableConversation
    ) -> float | str:
        if isinstance(theirs, UnreadableConversation):
            return f"reference_messages: {theirs}"
        if isinstance(mine, UnreadableConversation):
            return f"messages: {mine}"
        if problem := unreadable_arguments(calls_of(theirs), "reference_messages"):
            return problem
        if problem := too_many(calls_of(mine), calls_of(theirs)):
            return problem
        if mode == "strict":
            return float(_same_course(mine, theirs, comparison))
        calls, expected = calls_of(mine), calls_of(theirs)
        ways = {"superset": [(expected, calls)], "subset": [(calls, expected)]}
        both = ways["superset"] + ways["subset"]
        return float(
            all(_takes(*way, lambda wanted, call: comparison.worth(call, wanted)) for way in ways.get(mode, both))
        )

    return collect_rows(map(match, replies(messages), conversations(reference_messages)))


def _same_course(mine: Sequence[Message], theirs: Sequence[Message], comparison: CallComparison) -> bool:
    return len(mine) == len(theirs) and all(
        message.role == other.role
        and len(message.calls) == len(other.calls)
        and _takes(message.calls, other.calls, comparison.worth)
        for message, other in zip(mine, theirs, strict=True)
    )


def _takes(wanted: Sequence[ToolCall], calls: Sequence[ToolCall], worth: Callable[[ToolCall, ToolCall], float]) -> bool:
    """Whether each wanted call finds one of the calls, which is then taken."""
    rest = list(calls)
    for other in wanted:
        place = next((at for at, call in enumerate(rest) if worth(other, call)), None)
        if place is None:
            return False
        rest.pop(place)
    return True
