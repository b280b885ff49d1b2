"""The form of a reply on nuggets, the facts of a good answer: which a prediction supports, and TREC's figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias

from karat.core.metric.setting import Setting
from karat.judges.replies.forms import Verdict
from karat.judges.replies.items import ItemForm, ListedItem

NuggetMeasure: TypeAlias = Literal["strict_vital", "vital", "strict_all", "all", "strict_weighted", "weighted"]
OKAY = 0.5
"""What an okay nugget weighs beside a vital one in the weighted measures."""
PARTIAL = 0.5
"""What partial support is worth in the measures that are not strict."""


@dataclass(frozen=True, kw_only=True)
class Nuggets(ItemForm):
    """Which nuggets of a row the prediction supports. The score is their share.

    `measure`: `vital` counts vital nuggets alone, `all` counts all alike, `weighted` counts okay nuggets half; in a
    strict one, partial support is worth nothing, in others half. `empty`: what a row scores none of whose nuggets
    counts.

    >>> nuggets = [{"nugget": "a", "importance": "vital"}, {"nugget": "b", "importance": "okay"}]
    >>> replies = [{"reason": "", "verdict": "partial_support"}, {"reason": "", "verdict": "support"}]
    >>> [round(Nuggets(measure=each).weigh(nuggets, replies).score, 3) for each in ("strict_vital", "all", "weighted")]
    [0.0, 0.75, 0.667]
    """

    measure: str = "strict_vital"
    empty: str = "unscored"

    input = "nuggets"
    item = "nugget"
    verdicts = ("support", "partial_support", "not_support")
    settings: ClassVar[Mapping[str, Setting]] = MappingProxyType(
        {
            "measure": Setting("measure", "strict_vital", NuggetMeasure),
            "calls": Setting("calls", "row", Literal["row", "ten", "nugget"]),
            "empty": Setting("empty", "unscored", Literal["unscored", "zero"]),
        }
    )

    @property
    def worth(self) -> dict[str, Any]:
        return {"support": 1, "partial_support": PARTIAL, "okay": OKAY}

    def choose(self, items: Sequence[ListedItem]) -> Sequence[ListedItem]:
        """All nuggets; none of a row where none counts, which is not asked about."""
        return items if self._kind != "vital" or any(each["importance"] == "vital" for each in items) else []

    def weigh(self, items: Sequence[ListedItem], replies: Sequence[Mapping[str, Any]]) -> Verdict:
        partial = PARTIAL if self._kind == self.measure else 0.0
        okay = {"vital": 0.0, "all": 1.0, "weighted": OKAY}[self._kind]
        worth = {"support": 1.0, "partial_support": partial, "not_support": 0.0}
        weights = [1.0 if each["importance"] == "vital" else okay for each in items]
        earned = [weight * worth[reply["verdict"]] for weight, reply in zip(weights, replies, strict=True)]
        points, possible = fsum(earned), fsum(weights)
        lists: dict[str, list[str]] = {"passed": [], "failed": []}
        for item, weight, share in zip(items, weights, earned, strict=True):
            if weight:
                lists["passed" if share == weight else "failed"].append(item["nugget"])
        shown = [
            {"statement": each["nugget"], "importance": each["importance"], **reply}
            for each, reply in zip(items, replies, strict=True)
        ]
        unscored = not possible and self.empty == "unscored"
        return Verdict(
            None if unscored else points / possible if possible else 0.0,
            statements=json.dumps(shown, ensure_ascii=False),
            fields={"points": points, "possible": possible},
            reason=f"the row has no nugget that counts (measure={self.measure!r})" if unscored else None,
            lists=lists,
        )

    @property
    def _kind(self) -> str:
        return self.measure.removeprefix("strict_")
