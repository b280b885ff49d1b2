"""Two JSON values compared field by field: which fields are equal, different, missing or extra.

A field is a leaf: a text, a number, true, false, null, or an empty object or list. `parser` reads the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from karat.core.metric.definition import Configured
from karat.core.metric.rows import PairBudget
from karat.core.metric.score import score_rows
from karat.metrics.answers.assignment import assign
from karat.metrics.answers.json.paths import ITEM, JsonField

_MISSING = object()
_TIE = 1e-9  # decides between assignments with as many equal leaves
FIELDS = 1_000  # the cost of a pair of fields
_QUICK = 10  # so many pairs of items are found equal or not in the time of a pair of fields
_NESTED = {dict, list}
_BARE = {dict, list, type(None)}  # what a metric of texts cannot score


@dataclass(slots=True)
class FieldLists:
    """The leaves of two values: in both and equal, in both and different, only expected, only predicted.

    `partial`: the scores that a metric gives different leaves. `unscored`: why a leaf could not be scored.
    """

    equal: list[JsonField] = field(default_factory=list)
    different: list[JsonField] = field(default_factory=list)
    missing: list[JsonField] = field(default_factory=list)
    extra: list[JsonField] = field(default_factory=list)
    partial: list[tuple[JsonField, float]] = field(default_factory=list)
    unscored: list[tuple[JsonField, str]] = field(default_factory=list)

    def add(self, other: FieldLists) -> None:
        for name in self.__slots__:
            getattr(self, name).extend(getattr(other, name))

    def weigh(self) -> float:
        """How well two items of lists fit: by their equal leaves; of equal fits, by the leaves that both have."""
        shared = len(self.equal) + len(self.different)
        return len(self.equal) + sum(score for _, score in self.partial) + _TIE * shared


class LeafScores:
    """The scores of pairs of leaves by metrics of texts, many pairs at a time.

    A pair that was not asked for before scores 0 until `resolve` is called.
    """

    def __init__(self, metrics: Sequence[Configured]) -> None:
        self._metrics = metrics
        self._scores: list[dict[tuple[str, str], float | str]] = [{} for _ in metrics]
        self._asked: list[dict[tuple[str, str], None]] = [{} for _ in metrics]

    def add(self, at: JsonField, predicted: str, expected: str, lists: FieldLists) -> None:
        """Add a pair of leaves of a field with a rule to those found."""
        pair, rule = (predicted, expected), at.rule or 0
        score = self._scores[rule].get(pair)
        if score is None:
            self._asked[rule][pair] = None
        elif isinstance(score, str):
            lists.unscored.append((at, score))
        elif score >= 1:
            lists.equal.append(at)
            return
        elif score > 0:
            lists.partial.append((at, score))
        lists.different.append(at)

    def resolve(self) -> bool:
        """Score the pairs that were asked for; returns whether there were any."""
        pending = [(place, list(pairs)) for place, pairs in enumerate(self._asked) if pairs]
        for place, pairs in pending:
            metric, texts = self._metrics[place], [pa.array(each, pa.string()) for each in zip(*pairs, strict=True)]
            rows = score_rows(metric, dict(zip(("prediction", "reference"), texts, strict=True)))
            scored = zip(pairs, rows.scores(metric).tolist(), rows.reason_column().to_pylist(), strict=True)
            self._scores[place].update((pair, score if reason is None else reason) for pair, score, reason in scored)
            self._asked[place].clear()
        return bool(pending)


@dataclass(frozen=True)
class Comparer:
    """Compares two values. `matched`: items of lists are paired as fits best, else in their order.

    `scores` are the leaves' scores by metrics; None where leaves are equal or not.
    """

    scores: LeafScores | None
    matched: bool
    pairs: PairBudget = field(default_factory=lambda: PairBudget("fields", FIELDS))

    def compare(self, predicted: Any, expected: Any, at: JsonField, lists: FieldLists) -> None:
        """Add the leaves of two values at a field to those found."""
        kind, other = predicted.__class__, expected.__class__
        if kind is dict is other and predicted and expected:
            for name, item in expected.items():
                mine = predicted.get(name, _MISSING)
                if mine is _MISSING:
                    collect(item, at.at(name), lists.missing)
                else:
                    self.compare(mine, item, at.at(name), lists)
            for name, item in predicted.items():
                if name not in expected:
                    collect(item, at.at(name), lists.extra)
        elif kind is list is other and predicted and expected:
            self._compare_lists(predicted, expected, at.at(ITEM), lists)
        elif (kind in _NESTED and predicted) or (other in _NESTED and expected):
            collect(expected, at, lists.missing)
            collect(predicted, at, lists.extra)
        elif self.scores is None or at.rule is None or kind in _BARE or other in _BARE:
            (lists.equal if kind is other and predicted == expected else lists.different).append(at)
        else:
            self.scores.add(at, _spell_scalar(predicted), _spell_scalar(expected), lists)

    def _compare_lists(self, predicted: list[Any], expected: list[Any], at: JsonField, lists: FieldLists) -> None:
        if self.matched and self.scores is None:
            predicted, expected = self._take_equal(predicted, expected, at, lists)
        paired = min(len(predicted), len(expected))
        if self.matched and paired and max(len(predicted), len(expected)) > 1 and self._may_fit(predicted, expected):
            predicted, expected = self._match(predicted, expected, at, lists)
            paired = 0
        for place in range(paired):
            self.compare(predicted[place], expected[place], at, lists)
        for item in expected[paired:]:
            collect(item, at, lists.missing)
        for item in predicted[paired:]:
            collect(item, at, lists.extra)

    def _take_equal(
        self, predicted: list[Any], expected: list[Any], at: JsonField, lists: FieldLists
    ) -> tuple[list[Any], list[Any]]:
        """Pair equal items, which one of the best assignments does; returns the items that are left."""
        left, rest = [], list(expected)
        for mine in predicted:
            for place, item in enumerate(rest):
                if mine == item and _same_types(mine, item):
                    self.pairs.spend(place // _QUICK)
                    collect(rest.pop(place), at, lists.equal)
                    break
            else:
                self.pairs.spend(len(rest) // _QUICK)
                left.append(mine)
        return left, rest

    def _may_fit(self, predicted: list[Any], expected: list[Any]) -> bool:
        """Whether the pairs of items matter: not for leaves of which no two are equal."""
        return self.scores is not None or any(item and item.__class__ in _NESTED for item in (*predicted, *expected))

    def _match(
        self, predicted: list[Any], expected: list[Any], at: JsonField, lists: FieldLists
    ) -> tuple[list[Any], list[Any]]:
        """Compare items in the pairs of the best assignment; returns the items without a partner.

        What is found in pairs with lists is kept: to compare these again would double the work at each level of lists.
        """
        self.pairs.spend(len(predicted) * count_leaves(expected) + len(expected) * count_leaves(predicted))
        weights: list[list[float]] = []
        kept: dict[tuple[int, int], FieldLists] = {}
        nested = [_holds_list(item) for item in expected]
        for row, mine in enumerate(predicted):
            weights.append([])
            keeps = _holds_list(mine)
            for column, item in enumerate(expected):
                pair = FieldLists()
                self.compare(mine, item, at, pair)
                weights[-1].append(pair.weigh())
                if keeps and nested[column]:
                    kept[row, column] = pair
        chosen = assign(weights)
        for row, column in chosen:
            if (row, column) in kept:
                lists.add(kept[row, column])
            else:
                self.compare(predicted[row], expected[column], at, lists)
        rows, columns = {row for row, _ in chosen}, {column for _, column in chosen}
        alone = [item for row, item in enumerate(predicted) if row not in rows]
        return alone, [item for column, item in enumerate(expected) if column not in columns]


def collect(value: Any, at: JsonField, leaves: list[JsonField]) -> None:
    """Add the leaves of a value at a field."""
    if value and value.__class__ is dict:
        for name, item in value.items():
            collect(item, at.at(name), leaves)
    elif value and value.__class__ is list:
        for item in value:
            collect(item, at.at(ITEM), leaves)
    else:
        leaves.append(at)


def count_leaves(value: Any) -> int:
    """How many leaves a value has; an empty object or list is one."""
    items = value.values() if value.__class__ is dict else value if value.__class__ is list else ()
    return sum(map(count_leaves, items)) or 1


def _holds_list(value: Any) -> bool:
    if value.__class__ is dict:
        return any(map(_holds_list, value.values()))
    return value.__class__ is list


def _same_types(one: Any, other: Any) -> bool:
    """Whether two values that Python takes for equal are so in JSON, where true is not 1."""
    if one.__class__ is not other.__class__:
        return False
    if one.__class__ is dict:
        return all(_same_types(item, other[name]) for name, item in one.items())
    return one.__class__ is not list or all(map(_same_types, one, other))


def _spell_scalar(value: str | bool | Decimal) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
