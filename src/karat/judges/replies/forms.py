"""The forms that a judge's reply can have: for each its JSON Schema, its outline for the prompt, and its score.

``label``       one of several choices, each with a score
``statements``  for each sentence of an input its statements with a verdict each; the score is the mean of the verdicts'
``fields``      named fields of 0 or 1; the score is their mean
``number``      a number on a scale, by default normalised to 0 to 1

Each form has the `schema` of a reply (strict, every key required), its `outline` as the prompt shows it, the `range` of
scores, the rule that turns a reply into a score (`worth`, a part of a judge's digest), and the `verdict` of a reply. A
reply has its reason before its verdict, so that the model derives the verdict from the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, islice
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from karat.core.columns.kinds import Array
from karat.core.metric.definition import Finish
from karat.core.metric.rows import divide
from karat.core.metric.setting import Setting
from karat.judges.replies.parser import ReplyError, strict_object
from karat.judges.replies.sentences import split_sentences

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
    lists: Mapping[str, list[str]] = field(default_factory=dict, repr=False)


class Averaged:
    """A form whose value is the mean of the scores; without settings of its own."""

    settings: ClassVar[Mapping[str, Setting]] = MappingProxyType({})

    def using(self, _values: Mapping[str, Any]) -> Self:
        """The form with the values of its settings."""
        return self

    @property
    def finish(self) -> Finish | None:
        """From totals of statistics to values; None for the mean."""
        return None

    def statistics(self, verdict: Verdict) -> tuple[float, ...]:
        """The statistics of a row with a score."""
        return (float("nan") if verdict.score is None else verdict.score,)


LabelMeasure: TypeAlias = Literal["correct", "attempted", "correct_given_attempted", "f"]


@dataclass(frozen=True, kw_only=True)
class Label(Averaged):
    """One of several choices.

    `declined`: the label of an answer that attempts nothing; the judge then has the setting `measure`, whose value is
    the mean of the scores, the share that is attempted, the scores by what is attempted, or the harmonic mean of the
    first and the third.

    >>> Label(choices={"correct": 1, "wrong": 0}).verdict({"explanation": "as the reference", "label": "correct"})
    Verdict(score=1.0, label='correct', explanation='as the reference', statements=None, fields={}, reason=None)
    """

    choices: Mapping[str, float]
    explanation: bool = True
    declined: str | None = None
    measure: str = "correct"

    @property
    def settings(self) -> Mapping[str, Setting]:  # type: ignore[override]
        return {} if self.declined is None else {"measure": Setting("measure", "correct", LabelMeasure)}

    def using(self, values: Mapping[str, Any]) -> Self:
        return self if self.declined is None else replace(self, measure=values["measure"])

    @property
    def finish(self) -> Finish | None:
        return {"correct_given_attempted": correct_given_attempted, "f": f_of_attempts}.get(self.measure)

    def statistics(self, verdict: Verdict) -> tuple[float, ...]:
        (score,), attempted = super().statistics(verdict), float(verdict.label != self.declined)
        if self.finish is not None:
            return score, attempted, 1.0
        return (attempted if self.measure == "attempted" else score,)

    @property
    def schema(self) -> dict[str, Any]:
        return _explained(self.explanation, {"label": {"type": "string", "enum": list(self.choices)}})

    @property
    def outline(self) -> str:
        return _outline(self.explanation, {"label": either(self.choices)})

    @property
    def range(self) -> tuple[float, float]:
        return min(self.choices.values()), max(self.choices.values())

    @property
    def worth(self) -> dict[str, Any]:
        return (
            dict(self.choices) if self.declined is None else {"choices": dict(self.choices), "declined": self.declined}
        )

    def verdict(self, reply: Any) -> Verdict:
        return Verdict(float(self.choices[reply["label"]]), reply["label"], reply.get("explanation"))


@dataclass(frozen=True, kw_only=True)
class Statements(Averaged):
    """For each sentence of an input, its statements with a verdict each, under the sentence's number.

    `split`: the input, whose sentences karat numbers; its texts are `alternatives`, of which the best counts, or all
    count. `uncounted`: the verdict on a sentence that has nothing to judge. `empty`: the score where nothing is judged,
    or None for no score. `sizes`: the numbers of sentences of each text in a request.

    >>> form = Statements(split="prediction", verdicts={"true": 1, "false": 0}, uncounted="no_claim")
    >>> shown, form = form.number({"prediction": "Hello! It rains."})
    >>> shown["prediction"]
    [{'number': 1, 'sentence': 'Hello!'}, {'number': 2, 'sentence': 'It rains.'}]
    >>> form.verdict({"1": [{"verdict": "no_claim"}], "2": [{"verdict": "true"}]}).score
    1.0
    """

    split: str
    verdicts: Mapping[str, float]
    uncounted: str | None = None
    alternatives: bool = False
    empty: float | None = None
    sizes: tuple[int, ...] = (1,)

    def number(self, material: Mapping[str, Any]) -> tuple[dict[str, Any], Self]:
        """The material with numbered sentences in place of the texts, and the form of the reply on them."""
        value, numbers = material[self.split], count(1)
        texts = [split_sentences(text) for text in ([value] if isinstance(value, str) else value)]
        shown = [[{"number": next(numbers), "sentence": sentence} for sentence in text] for text in texts]
        form = replace(self, sizes=tuple(len(text) for text in texts))
        return {**material, self.split: shown[0] if isinstance(value, str) else shown}, form

    @property
    def schema(self) -> dict[str, Any]:
        verdict = {"type": "string", "enum": self._labels}
        item = strict_object({"statement": TEXT, "reason": TEXT, "verdict": verdict})
        return strict_object({str(n): {"type": "array", "items": item} for n in range(1, sum(self.sizes) + 1)})

    @property
    def outline(self) -> str:
        item = f'{{"statement": "…", "reason": "…", "verdict": {either(self._labels)}}}'
        return f'{{"1": [{item}, …], …}}'

    @property
    def range(self) -> tuple[float, float]:
        worth = [*self.verdicts.values(), *([] if self.empty is None else [self.empty])]
        return min(worth), max(worth)

    @property
    def worth(self) -> dict[str, Any]:
        about = {"split": self.split, "uncounted": self.uncounted, "alternatives": self.alternatives}
        return {"verdicts": dict(self.verdicts), "empty": self.empty, **about}

    @property
    def _labels(self) -> list[str]:
        return [*self.verdicts, *([] if self.uncounted is None else [self.uncounted])]

    def verdict(self, reply: Any) -> Verdict:
        """The verdict on all sentences; raises `ReplyError` where one has none."""
        if lacking := [number for number, listed in reply.items() if not listed]:
            raise ReplyError(f"the reply has no verdict on number {', '.join(lacking)}")
        numbers, verdicts = count(1), list[Verdict]()
        for size in self.sizes if self.alternatives else (sum(self.sizes),):
            shown = [{"sentence": n, **each} for n in islice(numbers, size) for each in reply[str(n)]]
            worth = [self.verdicts[each["verdict"]] for each in shown if each["verdict"] != self.uncounted]
            score = sum(worth) / len(worth) if worth else self.empty
            reason = f"no sentence of {self.split} has anything to judge" if score is None else None
            verdicts.append(Verdict(score, statements=json.dumps(shown, ensure_ascii=False), reason=reason))
        return max(verdicts, key=lambda each: float("-inf") if each.score is None else each.score)


@dataclass(frozen=True, kw_only=True)
class Fields(Averaged):
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
class Rating(Averaged):
    """A number from `low` to `high`, `whole` or not; `normalize` maps it to 0 to 1.

    >>> Rating(low=1, high=5).verdict({"explanation": "", "score": 4}).score
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


def correct_given_attempted(totals: Array) -> Array:
    """The scores by the attempts; 0 where nothing is attempted."""
    score, attempted, _ = np.moveaxis(totals, -1, 0)
    return divide(score, attempted)


def f_of_attempts(totals: Array) -> Array:
    """The harmonic mean of the scores by the rows and of the scores by the attempts."""
    score, attempted, rows = np.moveaxis(totals, -1, 0)
    return divide(2 * score, attempted + rows)


def _explained(explanation: bool, properties: dict[str, Any]) -> dict[str, Any]:
    return strict_object(({"explanation": TEXT} if explanation else {}) | properties)


def _outline(explanation: bool, properties: dict[str, str]) -> str:
    shown = ({"explanation": '"…"'} if explanation else {}) | properties
    return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {value}" for key, value in shown.items()) + "}"


def either(choices: Iterable[str]) -> str:
    return " or ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
