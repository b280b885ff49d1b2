"""The form of a reply on criteria with points: whether a prediction meets each, and the score that follows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import Array
from karat.core.metric.definition import Cut, Finish
from karat.core.metric.setting import Setting
from karat.judges.replies.forms import TEXT, Fields, Label, Rating, Statements, Verdict
from karat.judges.replies.parser import strict_object


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """Whether each criterion of a row is met. The score is the points of those that are met by the points above 0.

    A reply has a verdict for each criterion under its number; `count`: how many a request has. The others are the
    judge's settings. `calls`: one request a `row`, or one a `criterion`. `tag`: only criteria with this tag count.
    `only_penalties`: the score where no points are above 0: 1 minus the `share` of the penalties, or `unscored`.
    `clip`: what is cut to 0 and 1, the `mean` of the rows as in HealthBench, or each `row`.
    """

    count: int = 1
    calls: str = "row"
    tag: str | None = None
    only_penalties: str = "share"
    clip: str = "mean"

    settings: ClassVar[Mapping[str, Setting]] = MappingProxyType(
        {
            "calls": Setting("calls", "row", Literal["row", "criterion"]),
            "tag": Setting("tag", None, str | None),
            "only_penalties": Setting("only_penalties", "share", Literal["share", "unscored"]),
            "clip": Setting("clip", "mean", Literal["mean", "row"]),
        }
    )
    details: ClassVar[Mapping[str, pa.DataType]] = MappingProxyType(
        dict.fromkeys(("passed", "failed"), pa.list_(pa.string())) | dict.fromkeys(("points", "possible"), pa.float64())
    )

    def using(self, values: Mapping[str, Any]) -> Self:
        return replace(self, **{name: values[name] for name in self.settings})

    @property
    def finish(self) -> Finish | None:
        return clipped_mean if self.clip == "mean" else None

    def statistics(self, verdict: Verdict) -> tuple[float, ...]:
        score = float("nan") if verdict.score is None else verdict.score
        return (score, 1.0) if self.clip == "mean" else (min(max(score, 0.0), 1.0),)

    @property
    def schema(self) -> dict[str, Any]:
        verdict = strict_object({"reason": TEXT, "verdict": {"type": "string", "enum": ["met", "unmet"]}})
        return strict_object({str(number): verdict for number in range(1, self.count + 1)})

    @property
    def outline(self) -> str:
        return '{"1": {"reason": "…", "verdict": "met" or "unmet"}, …}'

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def worth(self) -> dict[str, Any]:
        return {"met": "the points of the criterion", "by": "the points above 0"}

    def verdict(self, reply: Any) -> Verdict:
        """The verdicts on the criteria of a request, without a score: `weigh` gives it once all are there."""
        verdicts = [reply[str(number)] for number in range(1, self.count + 1)]
        return Verdict(None, statements=json.dumps(verdicts, ensure_ascii=False))

    def choose(self, criteria: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The criteria that count."""
        return [each for each in criteria if self.tag is None or self.tag in each["tags"]]

    def split(self, criteria: Sequence[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
        """The criteria of each request."""
        return [criteria] if self.calls == "row" else [[each] for each in criteria]

    def weigh(self, criteria: Sequence[Mapping[str, Any]], replies: Sequence[Mapping[str, Any]]) -> Verdict:
        """The verdict on a row from what was replied on each of its criteria."""
        pairs = [(each, reply["verdict"] == "met") for each, reply in zip(criteria, replies, strict=True)]
        possible = fsum(each["points"] for each in criteria if each["points"] > 0)
        penalties = -fsum(each["points"] for each in criteria if each["points"] < 0)
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
            for each, reply in zip(criteria, replies, strict=True)
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


Form: TypeAlias = Label | Statements | Fields | Rating | Criteria
KINDS = ("label", "statements", "fields", "number", "criteria")
