"""The forms that a judge's reply can have: for each its JSON Schema, its outline for the prompt, and its score.

``label``       one of several choices, each with a score
``statements``  a list of statements, each with a verdict; the score is the mean of the verdicts' scores
``fields``      named fields of 0 or 1; the score is their mean
``number``      a number on a scale, by default normalised to 0 to 1

Each form has the `schema` of a reply (strict, every key required), its `outline` as the prompt shows it, the `range` of
scores, the rule that turns a reply into a score (`worth`, a part of a judge's digest), and the `verdict` of a reply. A
reply has its reason before its verdict, so that the model derives the verdict from the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from karat.judges.reply_parser import ReplyError, strict_object

TEXT = {"type": "string"}


@dataclass(frozen=True)
class Verdict:
    """The content of one reply. If it has no score, `reason` says why."""

    score: float | None
    label: str | None = None
    explanation: str | None = None
    statements: str | None = None
    fields: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Label:
    """One of several choices.

    >>> Label(choices={"correct": 1, "wrong": 0}).verdict({"explanation": "as the reference", "label": "correct"})
    Verdict(score=1.0, label='correct', explanation='as the reference', statements=None, fields={}, reason=None)
    """

    choices: Mapping[str, float]
    explanation: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        return _explained(self.explanation, {"label": {"type": "string", "enum": list(self.choices)}})

    @property
    def outline(self) -> str:
        return _outline(self.explanation, {"label": _either(self.choices)})

    @property
    def range(self) -> tuple[float, float]:
        return min(self.choices.values()), max(self.choices.values())

    @property
    def worth(self) -> dict[str, Any]:
        return dict(self.choices)

    def verdict(self, reply: Any) -> Verdict:
        return Verdict(float(self.choices[reply["label"]]), reply["label"], reply.get("explanation"))


@dataclass(frozen=True, kw_only=True)
class Statements:
    """A list of statements with a verdict each. `empty`: the score of an empty list, or None for no score."""

    verdicts: Mapping[str, float]
    empty: float | None = None

    @property
    def schema(self) -> dict[str, Any]:
        verdict = {"type": "string", "enum": list(self.verdicts)}
        item = strict_object({"statement": TEXT, "reason": TEXT, "verdict": verdict})
        return strict_object({"statements": {"type": "array", "items": item}})

    @property
    def outline(self) -> str:
        return f'{{"statements": [{{"statement": "…", "reason": "…", "verdict": {_either(self.verdicts)}}}, …]}}'

    @property
    def range(self) -> tuple[float, float]:
        worth = [*self.verdicts.values(), *([] if self.empty is None else [self.empty])]
        return min(worth), max(worth)

    @property
    def worth(self) -> dict[str, Any]:
        return {"verdicts": dict(self.verdicts), "empty": self.empty}

    def verdict(self, reply: Any) -> Verdict:
        statements = reply["statements"]
        text = json.dumps(statements, ensure_ascii=False)
        if not statements:
            reason = "the reply lists no statement" if self.empty is None else None
            return Verdict(self.empty, statements=text, reason=reason)
        worth = [self.verdicts[each["verdict"]] for each in statements]
        return Verdict(sum(worth) / len(worth), statements=text)


@dataclass(frozen=True, kw_only=True)
class Fields:
    """Named fields of 0 or 1."""

    names: tuple[str, ...]
    explanation: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        return _explained(self.explanation, {name: {"type": "integer", "enum": [0, 1]} for name in self.names})

    @property
    def outline(self) -> str:
        return _outline(self.explanation, dict.fromkeys(self.names, "0 or 1"))

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def worth(self) -> dict[str, Any]:
        return {"mean": list(self.names)}

    def verdict(self, reply: Any) -> Verdict:
        fields = {name: int(reply[name]) for name in self.names}
        return Verdict(sum(fields.values()) / len(fields), explanation=reply.get("explanation"), fields=fields)


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number from `low` to `high`, `whole` or not; `normalize` maps it to 0 to 1.

    >>> Number(low=1, high=5).verdict({"explanation": "", "score": 4}).score
    0.75
    """

    low: float
    high: float
    whole: bool = True
    normalize: bool = True
    explanation: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        return _explained(self.explanation, {"score": {"type": "integer" if self.whole else "number"}})

    @property
    def outline(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        return _outline(self.explanation, {"score": f"{kind} from {self.low:g} to {self.high:g}"})

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.normalize else (self.low, self.high)

    @property
    def worth(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "normalize": self.normalize}

    def verdict(self, reply: Any) -> Verdict:
        number = reply["score"]
        if not self.low <= number <= self.high:
            raise ReplyError(f"the reply's 'score' is {number}, which is not from {self.low:g} to {self.high:g}")
        score = (number - self.low) / (self.high - self.low) if self.normalize else number
        return Verdict(float(score), explanation=reply.get("explanation"))


Form: TypeAlias = Label | Statements | Fields | Number
KINDS = ("label", "statements", "fields", "number")


def _explained(explanation: bool, properties: dict[str, Any]) -> dict[str, Any]:
    return strict_object(({"explanation": TEXT} if explanation else {}) | properties)


def _outline(explanation: bool, properties: dict[str, str]) -> str:
    shown = ({"explanation": '"…"'} if explanation else {}) | properties
    return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {value}" for key, value in shown.items()) + "}"


def _either(choices: Mapping[str, float]) -> str:
    return " or ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
