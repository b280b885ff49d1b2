"""From several votes to one: of the two orders of a pair, of the items of a list, of the judges of a panel."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import fsum
from typing import Any

from karat.judges.reply_forms import Form, Label, Verdict
from karat.judges.rubric import Swap


@dataclass(frozen=True)
class Vote:
    """What one judge gave for one row: a verdict or an error, and what it took.

    `raw` is the last reply, kept where it could not be read. `consistent` says, where a pair was judged in both orders,
    whether the verdicts agree. `agreement` says how alike the votes of a panel are; `votes` are theirs.
    `trace_id` is that of the row's span, where it has one.
    """

    verdict: Verdict | None = None
    error: str | None = None
    raw: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    latency: float | None = None
    consistent: bool | None = None
    agreement: float | None = None
    trace_id: str | None = None
    votes: Sequence[Vote] = field(default=(), repr=False)

    @property
    def score(self) -> float | None:
        return None if self.verdict is None else self.verdict.score


def of_both_orders(given: Vote, swapped: Vote, swap: Swap, form: Label) -> Vote:
    """The vote on a pair: what both orders say, or a tie where they disagree."""
    whole = _taken([given, swapped])
    if given.verdict is None or swapped.verdict is None:
        return whole
    there, back = given.verdict.label or "", swap.label(swapped.verdict.label or "")
    if there == back:
        return replace(whole, verdict=given.verdict, consistent=True)
    said = f"In the given order {there}: {given.verdict.explanation} In the other {back}: {swapped.verdict.explanation}"
    return replace(whole, verdict=Verdict(float(form.choices[swap.tie]), swap.tie, said), consistent=False)


def of_items(votes: Sequence[Vote]) -> Vote:
    """The vote on a list: the mean of its items, each of which is kept; an error where one of them has no verdict."""
    whole = _taken(votes)
    verdicts = [vote.verdict for vote in votes if vote.verdict is not None]
    if len(verdicts) < len(votes):
        place = next(place for place, vote in enumerate(votes, 1) if vote.verdict is None)
        return replace(whole, error=f"item {place} of {len(votes)}: {whole.error}")
    items = [{"label": v.label, "explanation": v.explanation, "score": v.score} for v in verdicts]
    reason = next((v.reason for v in verdicts if v.score is None), None)
    score = None if reason else fsum(v.score or 0 for v in verdicts) / len(verdicts)
    return replace(whole, verdict=Verdict(score, statements=json.dumps(items, ensure_ascii=False), reason=reason))


def of_panel(votes: Sequence[Vote], names: Sequence[str], form: Form) -> Vote:
    """The vote of several judges: of labels the most frequent, of scores the mean.

    Where labels are equally frequent, the label is `tie` and the score the mean of theirs. A judge without a verdict is
    named in the error; the others decide as long as they are more than half.
    """
    whole = _taken(votes)
    missing = [f"{name}: {vote.error}" for name, vote in zip(names, votes, strict=True) if vote.verdict is None]
    whole = replace(whole, votes=votes, error="; ".join(missing) or None)
    valid = [vote.verdict for vote in votes if vote.verdict is not None]
    if 2 * len(valid) <= len(votes):
        return replace(whole, error=f"{len(missing)} of {len(votes)} judges gave no verdict: {whole.error}")
    scored = [verdict for verdict in valid if verdict.score is not None]
    if not scored:
        return replace(whole, verdict=valid[0])
    chosen = _majority(scored) if all(verdict.label for verdict in scored) else _mean(scored)
    consistent = None if all(v.consistent is None for v in votes) else all(v.consistent is not False for v in votes)
    return replace(whole, verdict=chosen, consistent=consistent, agreement=_agreement(scored, form))


def _majority(verdicts: Sequence[Verdict]) -> Verdict:
    counts = Counter(verdict.label for verdict in verdicts)
    most = max(counts.values())
    level = {verdict.label: verdict for verdict in reversed(verdicts) if counts[verdict.label] == most}
    if len(level) == 1:
        return next(iter(level.values()))
    return Verdict(
        fsum(v.score or 0 for v in level.values()) / len(level), "tie", " / ".join(sorted(map(_said, level.values())))
    )


def _said(verdict: Verdict) -> str:
    return f"{verdict.label}: {verdict.explanation}"


def _mean(verdicts: Sequence[Verdict]) -> Verdict:
    """The mean of the scores, with the words of the verdict that is nearest to it."""
    mean = fsum(verdict.score or 0 for verdict in verdicts) / len(verdicts)
    nearest = min(verdicts, key=lambda verdict: abs((verdict.score or 0) - mean))
    fields = {name: fsum(v.fields[name] for v in verdicts) / len(verdicts) for name in nearest.fields}
    return replace(nearest, score=mean, fields=fields)


def _agreement(verdicts: Sequence[Verdict], form: Form) -> float | None:
    """How alike two of the votes are, on average: labels equal or not; of scores, how near for their range."""
    pairs = list(combinations(verdicts, 2))
    if not pairs:
        return None
    low, high = form.range

    def alike(a: Verdict, b: Verdict) -> float:
        return float(a.label == b.label) if a.label else 1 - abs((a.score or 0) - (b.score or 0)) / (high - low)

    return fsum(alike(a, b) for a, b in pairs) / len(pairs)


def _taken(votes: Sequence[Vote]) -> Vote:
    """What several votes took together, and the first error among them; they were asked at the same time."""
    failed = next((vote for vote in votes if vote.error), Vote())
    return Vote(
        error=failed.error,
        raw=failed.raw,
        input_tokens=_sum(vote.input_tokens for vote in votes),
        output_tokens=_sum(vote.output_tokens for vote in votes),
        cost=_sum(vote.cost for vote in votes),
        latency=max((vote.latency for vote in votes if vote.latency is not None), default=None),
    )


def _sum(numbers: Iterable[int | float | None]) -> Any:
    """The sum of the numbers that are known, None where none is."""
    known = [number for number in numbers if number is not None]
    return fsum(known) if any(isinstance(n, float) for n in known) else sum(known) if known else None
