"""The form of a reply on criteria with points: whether a prediction meets each, and the score that follows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.definition import Cut, Finish
from karat.core.metric.setting import Setting
from karat.judges.replies.forms import Verdict
from karat.judges.replies.items import ItemForm, ListedItem


@dataclass(frozen=True, kw_only=True)
class Criteria(ItemForm):
    """Whether each criterion of a row is met. The score is the points of those that are met by the points above 0.

    `tag`: only criteria with this tag count. `only_penalties`: the score where no points are above 0: 1 minus the
    `share` of the penalties, or `unscored`. `clip`: what is cut to 0 and 1, the `mean` of the rows as in HealthBench,
    or each `row`.
    """

    tag: str | None = None
    only_penalties: str = "share"
    clip: str = "mean"

    input = "criteria"
    item = "criterion"
    verdicts = ("met", "unmet")
    settings: ClassVar[Mapping[str, Setting]] = MappingProxyType(
        {
            "calls": Setting("calls", "row", Literal["row", "criterion"]),
            "tag": Setting("tag", None, str | None),
            "only_penalties": Setting("only_penalties", "share", Literal["share", "unscored"]),
            "clip": Setting("clip", "mean", Literal["mean", "row"]),
        }
    )

    @property
    def finish(self) -> Finish | None:
        return clipped_mean if self.clip == "mean" else None

    def statistics(self, verdict: Verdict) -> tuple[float, ...]:
        score = float("nan") if verdict.score is None else verdict.score
        return (score, 1.0) if self.clip == "mean" else (min(max(score, 0.0), 1.0),)

    @property
    def worth(self) -> dict[str, Any]:
        return {"met": "the points of the criterion", "by": "the points above 0"}

    def choose(self, items: Sequence[ListedItem]) -> Sequence[ListedItem]:
        return [each for each in items if self.tag is None or self.tag in each["tags"]]

    def weigh(self, items: Sequence[ListedItem], replies: Sequence[Mapping[str, Any]]) -> Verdict:
        if not items:
            return Verdict(None, reason=f"no criterion has the tag {self.tag!r}")
        pairs = [(each, reply["verdict"] == "met") for each, reply in zip(items, replies, strict=True)]
        possible = fsum(each["points"] for each in items if each["points"] > 0)
        penalties = -fsum(each["points"] for each in items if each["points"] < 0)
        points = fsum(each["points"] for each, met in pairs if met)
        score = points / possible if possible else None
        if score is None and penalties and self.only_penalties == "share":
            score = 1 + points / penalties
        lists: dict[str, list[str]] = {"passed": [], "failed": []}
        for each, met in pairs:
            if each["points"]:
                lists["passed" if met == (each["points"] > 0) else "failed"].append(each["criterion"])
        shown = [
            {
                "statement": each["criterion"],
                "points": each["points"],
                "reason": reply["reason"],
                "verdict": reply["verdict"],
            }
            for each, reply in zip(items, replies, strict=True)
        ]
        return Verdict(
            score,
            statements=json.dumps(shown, ensure_ascii=False),
            fields={"points": points, "possible": possible},
            reason=None if score is not None else "no criterion has points above 0",
            lists=lists,
        )


def _mean(totals: Array) -> Array:
    score, rows = np.moveaxis(totals, -1, 0)
    mean: Array = score / rows
    return mean


clipped_mean = Cut(_mean, 0.0, 1.0)
"""The mean of the scores, cut to 0 and 1."""
