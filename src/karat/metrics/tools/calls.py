"""When two tool calls are equal: names, and arguments that are compared as they are or by a metric for each."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from karat.core.columns.conversations import Message, ToolCall, UnreadableConversation, conversations, replies
from karat.core.columns.json_text import value_at
from karat.core.columns.kinds import TEXT
from karat.core.errors import SpecError
from karat.core.metric.definition import Definition
from karat.core.metric.metric import Metric
from karat.core.metric.rows import MOST_PAIRS, find_too_long
from karat.core.metric.score import score_columns
from karat.core.metric.spec import parse

NO_CALLS = ("tool_calls",)  # the column in which a null stands for no calls
Null: TypeAlias = Literal["no_calls", "unscored"]
Arguments: TypeAlias = Literal["exact", "subset", "superset", "ignore"]
CALLS = 10_000  # the cost of a pair of calls
_MISSING = object()


def check_by_tool(value: dict[str, Any] | None) -> None:
    """Raise `SpecError` unless each tool has a way to compare arguments, or the paths of those that count."""
    for tool, how in (value or {}).items():
        paths = isinstance(how, list | tuple) and all(isinstance(path, str) for path in how)
        if not paths and how not in get_args(Arguments):
            expected = f"{', '.join(get_args(Arguments))}, or a list of the arguments that count, is expected"
            raise SpecError(f"{tool!r}: {how!r}: {expected}")


def check_by_argument(value: dict[str, Any] | None) -> dict[str, str] | None:
    """The specs as metrics have them; `SpecError` for one that does not score a text against another from 0 to 1."""
    return value and {argument: _metric(argument, spec).spec for argument, spec in value.items()}


def specialise_calls(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the signatures of the metrics that compare arguments, and whether null means "no calls"."""
    metrics = settings.get("by_argument") or {}
    marks = MappingProxyType({name: parse(spec).signature for name, spec in metrics.items()})
    nulls = NO_CALLS if settings["null"] == "no_calls" else ()
    return replace(definition, marks=marks, inputs=replace(definition.inputs, nulls=nulls))


def fill_calls(tool_calls: pa.Array) -> pa.Array:
    """The predicted calls, `[]` where they are null: OpenAI's messages have null where the model called no tool."""
    return tool_calls.fill_null("[]") if tool_calls.null_count else tool_calls


def _metric(argument: str, spec: Any) -> Metric:
    if not isinstance(spec, str):
        raise SpecError(f"{argument!r}: {spec!r}: the spec of a metric is expected, such as 'numeric_match'")
    metric = parse(spec)
    definition = metric.definition
    texts = dict.fromkeys(("prediction", "reference"), TEXT)
    if dict(definition.columns) != texts or definition.remote or (definition.low, definition.high) != (0, 1):
        needed = "a metric of prediction and reference with scores from 0 to 1, which asks no model"
        raise SpecError(f"{argument!r}: {spec} is not {needed}")
    if definition.direction != "maximize":
        raise SpecError(f"{argument!r}: of {spec} the lowest score is the best")
    return metric


ByTool: TypeAlias = Annotated[dict[str, Any] | None, check_by_tool]
ByArgument: TypeAlias = Annotated[dict[str, Any] | None, check_by_argument]


def read_calls(column: pa.Array, role: str, tool: str | None = None) -> list[list[ToolCall] | str]:
    """The calls of each row, of one tool or of all, or why the row has none that can be read."""
    read = replies if role == "tool_calls" else conversations
    return [
        f"{role}: {messages}" if isinstance(messages, UnreadableConversation) else calls_of(messages, tool)
        for messages in read(column)
    ]


def calls_of(messages: Sequence[Message], tool: str | None = None) -> list[ToolCall]:
    return [call for message in messages for call in message.calls if tool is None or call.name == tool]


def too_many(mine: Sequence[ToolCall], theirs: Sequence[ToolCall]) -> str | None:
    """Why the calls of a row are not compared: there are too many pairs."""
    if len(mine) * len(theirs) * CALLS <= MOST_PAIRS:
        return None
    reason: str | None = find_too_long(np.array([len(mine)]), np.array([len(theirs)]), "tool calls", CALLS)[0]
    return reason


def unreadable_arguments(calls: Sequence[ToolCall], role: str) -> str | None:
    """Why a reference cannot be compared: the arguments of a call are not an object."""
    for call in calls:
        if isinstance(call.arguments, str):
            return f"{role}: the arguments of {call.name!r} are not a JSON object: {call.arguments[:60]}"
    return None


@dataclass(frozen=True)
class CallComparison:
    """How much a predicted call is worth beside an expected one, from 0 to 1, by the settings of a metric.

    JSON's values are compared as in Python: 1, 1.0 and true are equal, and so in the reference
    implementations.
    """

    arguments: str = "exact"
    by_tool: Mapping[str, Any] = field(default_factory=dict)
    by_argument: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    scored: dict[tuple[str, str, str], float | str] = field(default_factory=dict)

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        return {spec: _metric(argument, spec) for argument, spec in self.by_argument.items()}

    def score_arguments(self, rows: Sequence[tuple[list[ToolCall], list[ToolCall]]]) -> None:
        """Score the arguments that have a metric, of every pair of calls of one tool, all at once by metric."""
        texts: dict[str, dict[tuple[str, str], None]] = {spec: {} for spec in self._metrics}
        for predicted, expected in rows if texts else ():
            mine, theirs = self._texts(predicted), self._texts(expected)
            for key in mine.keys() & theirs.keys():
                texts[key[-1]].update(dict.fromkeys(product(mine[key], theirs[key])))
        for spec, pairs in texts.items():
            if pairs:
                columns = dict(zip(("prediction", "reference"), map(list, zip(*pairs, strict=True)), strict=True))
                metric = self._metrics[spec]
                (rows_scored,) = score_columns([metric], {role: pa.array(each) for role, each in columns.items()})
                reasons = rows_scored.reason_column().to_pylist()
                for pair, score, reason in zip(pairs, rows_scored.scores(metric), reasons, strict=True):
                    self.scored[spec, *pair] = float(score) if reason is None else f"{spec}: {reason}"

    def _texts(self, calls: Sequence[ToolCall]) -> dict[tuple[str, str, str], dict[str, None]]:
        """Of each tool, argument and metric that compares it, the texts of the values that some calls have."""
        texts: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
        for call in calls:
            for name, value in {} if isinstance(call.arguments, str) else call.arguments.items():
                if (spec := self._spec(call, name)) is not None:
                    texts[call.name, name, spec][_spell_value(value)] = None
        return texts

    def compares_equal(self, tool: str) -> bool:
        """Whether two calls of a tool are worth 1 where their keys (`key`) are equal, and else nothing."""
        how = self.by_tool.get(tool, self.arguments)
        chosen = isinstance(how, list | tuple) or (how == "exact" and not self.by_argument)
        return how == "ignore" or (chosen and not self.partial)

    def key(self, call: ToolCall) -> Hashable:
        """What is compared of a call of a tool that `compares_equal`."""
        how = self.by_tool.get(call.name, self.arguments)
        if how == "ignore":
            return None
        if isinstance(call.arguments, str):
            return object()  # equal to no other
        if how == "exact":
            return _freeze(call.arguments)
        values = (value_at(call.arguments, path) for path in how)
        return tuple(object() if isinstance(value, float) and math.isnan(value) else _freeze(value) for value in values)

    def worth(self, call: ToolCall, expected: ToolCall) -> float:
        """1 where the calls are equal, 0 where they are not; between them with `partial` or by a metric's score.

        Raises `UnscoredArgument` where a metric gives no score.
        """
        if call.name != expected.name:
            return 0.0
        how = self.by_tool.get(call.name, self.arguments)
        if how == "ignore":
            return 1.0
        if isinstance(call.arguments, str) or isinstance(expected.arguments, str):
            return 0.0
        mine, theirs = call.arguments, expected.arguments
        if isinstance(how, list | tuple):
            scores = [float(value_at(mine, path) == value_at(theirs, path)) for path in how]
        elif how == "exact" and not self.partial and not self.by_argument:
            return float(mine == theirs)
        else:
            names = {"exact": mine | theirs, "subset": mine, "superset": theirs}[how]
            scores = [self._score(call, name, mine, theirs) for name in names]
        return (sum(scores) / len(scores) if self.partial else min(scores)) if scores else 1.0

    def _score(self, call: ToolCall, name: str, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> float:
        if name not in mine or name not in theirs:
            return 0.0
        if (spec := self._spec(call, name)) is None:
            return float(mine[name] == theirs[name])
        score = self.scored[spec, _spell_value(mine[name]), _spell_value(theirs[name])]
        if isinstance(score, str):
            raise UnscoredArgument(f"argument {name!r} of {call.name!r}: {score}")
        return score

    def _spec(self, call: ToolCall, name: str) -> str | None:
        return self.by_argument.get(f"{call.name}.{name}", self.by_argument.get(name))


class UnscoredArgument(ValueError):
    """A metric gave an argument no score: why."""


def _freeze(value: Any) -> Hashable:
    """A value of JSON that can be a key: equal to another's where the values are."""
    if isinstance(value, dict):
        return frozenset((name, _freeze(each)) for name, each in value.items())
    frozen: Hashable = tuple(map(_freeze, value)) if isinstance(value, list) else value
    return frozen


def _spell_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def pairs(
    tool_calls: pa.Array, reference_tool_calls: pa.Array, tool: str | None, comparison: CallComparison
) -> Iterator[tuple[list[ToolCall], list[ToolCall]] | str]:
    """The predicted and the expected calls of each row, or why the row cannot be scored."""
    rows: list[tuple[list[ToolCall], list[ToolCall]] | str] = []
    predicted, expected = (
        read_calls(column, role, tool)
        for role, column in (("tool_calls", tool_calls), ("reference_tool_calls", reference_tool_calls))
    )
    for mine, theirs in zip(predicted, expected, strict=True):
        problem = theirs if isinstance(theirs, str) else unreadable_arguments(theirs, "reference_tool_calls")
        if problem is None and not isinstance(mine, str):
            problem = too_many(mine, theirs)  # type: ignore[arg-type]
        rows.append(problem or (mine if isinstance(mine, str) else (mine, theirs)))  # type: ignore[arg-type]
    comparison.score_arguments([row for row in rows if not isinstance(row, str)])
    return iter(rows)
