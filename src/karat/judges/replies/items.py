"""The form of a reply on a list of items of a row, such as criteria: a verdict on each, under its number."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeAlias

import pyarrow as pa

from karat.judges.replies.forms import TEXT, Averaged, Fields, Label, Rating, Statements, Verdict, either
from karat.judges.replies.parser import strict_object

ListedItem: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ItemForm(Averaged):
    """A verdict on each item of a row; `weigh` gives the row's score once the verdicts on all of them are there.

    `count`: how many items a request has; `calls`: one request a `row`, one for each `ten` items, or one an item.
    `input`: the kind of the input that holds the items; empty if the form reads them itself. `item`: the part of an
    item that is shown; `verdicts`: what may be replied on it. The settings of the judge are fields of its form.
    """

    count: int = 1
    calls: str = "row"

    input: ClassVar[str] = ""
    item: ClassVar[str]
    verdicts: ClassVar[tuple[str, ...]]
    details: ClassVar[Mapping[str, pa.DataType]] = MappingProxyType(
        dict.fromkeys(("passed", "failed"), pa.list_(pa.string())) | dict.fromkeys(("points", "possible"), pa.float64())
    )

    def using(self, values: Mapping[str, Any]) -> Self:
        return replace(self, **{name: values[name] for name in self.settings})

    @property
    def schema(self) -> dict[str, Any]:
        verdict = strict_object({"reason": TEXT, "verdict": {"type": "string", "enum": list(self.verdicts)}})
        return strict_object({str(number): verdict for number in range(1, self.count + 1)})

    @property
    def outline(self) -> str:
        return f'{{"1": {{"reason": "…", "verdict": {either(self.verdicts)}}}, …}}'

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, 1.0

    def verdict(self, reply: Any) -> Verdict:
        """The verdicts on the items of a request, without a score: `weigh` gives it once all are there."""
        verdicts = [reply[str(number)] for number in range(1, self.count + 1)]
        return Verdict(None, statements=json.dumps(verdicts, ensure_ascii=False))

    def choose(self, items: Sequence[ListedItem]) -> Sequence[ListedItem]:
        """The items that are judged."""
        return items

    def items(self, material: Mapping[str, Any], name: str) -> Sequence[ListedItem]:
        """The items of a row; `name`: of the input that holds them."""
        return self.choose(material[name])

    def show(self, material: Mapping[str, Any], name: str, part: Sequence[ListedItem]) -> dict[str, Any]:
        """The material of a request for some items."""
        return {**material, name: [{"number": n, self.item: each[self.item]} for n, each in enumerate(part, 1)]}

    def split(self, items: Sequence[ListedItem]) -> list[Sequence[ListedItem]]:
        """The items of each request."""
        size = {"row": len(items) or 1, "ten": 10}.get(self.calls, 1)
        return [items[first : first + size] for first in range(0, len(items), size)]

    @property
    @abstractmethod
    def worth(self) -> dict[str, Any]:
        """The rule that turns verdicts into a score."""

    @abstractmethod
    def weigh(self, items: Sequence[ListedItem], replies: Sequence[Mapping[str, Any]]) -> Verdict:
        """The verdict on a row from what was replied on the items that were asked about; there may be none."""


Form: TypeAlias = Label | Statements | Fields | Rating | ItemForm
