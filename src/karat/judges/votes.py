"""Combine several votes into one: the two orders of a pair, the items of a list, the members of a panel."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import fsum
from typing import Any, Protocol

from karat.judges.replies.forms import Label, Verdict
from karat.judges.replies.items import Form, ItemForm, ListedItem
from karat.judges.rubric import Swap

USAGE = ("input_tokens", "output_tokens", "cost")
"""The fields of votes and of replies that add up."""


class NotJudged(str):
    """The error of a row that was not judged, because its model could no longer be reached."""

    __slots__ = ()


@dataclass(frozen=True)
class Vote:
    """The result of judging one row: a verdict or an error, and what the requests cost.

    `raw`: the last reply, if it could not be read or was mended. `repaired`: True if a reply was mended, else None; it
    is counted where it is true. `consistent`: whether the verdicts on both orders of a pair agree;
    `orders`: their labels, as each reply has it. `agreement`: how similar the votes of a panel's members are; `votes`:
    these votes. `trace_id`: of the row's span.
    """

    verdict: Verdict | None = None
    error: str | None = None
    raw: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    latency: float | None = None
    repaired: bool | None = None
    consistent: bool | None = None
    orders: tuple[str, str] | None = None
    agreement: float | None = None
    trace_id: str | None = None
    votes: Sequence[Vote] = field(default=(), repr=False)

    @property
    def score(self) -> float | None:
        return None if self.verdict is None else self.verdict.score


class Agenda(Protocol):
    """Gives a judge the numbers of its rows, one whenever it can ask another, and hears each vote.

    The numbers are of the rows that reach the judge, from 0. `ended`: no further call is to start, also for rows whose
    numbers were taken.
    """

    @property
    def ended(self) -> bool: ...

    def __iter__(self) -> Iterator[int]: ...

    async def turn(self, number: int) -> None:
        """Wait until a row whose number was taken is to be asked."""
        ...

    def add(self, number: int, vote: Vote) -> None:
        """Hear the vote on a row; rows end in any order."""
        ...

    def why_left_out(self, number: int) -> str:
        """Why a row has no vote that counts, in the end; empty where its vote counts."""
        ...


def combine_orders(first: Vote, swapped: Vote, swap: Swap, form: Label) -> Vote:
    """The vote on a pair: the label of both orders if they agree, else the tie."""
    whole = _add_usage([first, swapped])
    if first.verdict is None or swapped.verdict is None:
        return whole
    label, opposite = first.verdict.label or "", swapped.verdict.label or ""
    other = swap.swap_label(opposite)
    whole = replace(whole, orders=(label, opposite))
    if label == other:
        return replace(whole, verdict=first.verdict, consistent=True)
    both = f"In the given order {label}: {first.verdict.explanation} "
    both += f"In the other {other}: {swapped.verdict.explanation}"
    return replace(whole, verdict=Verdict(float(form.choices[swap.tie]), swap.tie, both), consistent=False)


def combine_items(votes: Sequence[Vote]) -> Vote:
    """The vote on a list: the mean of its items' scores; an error if one item has no verdict."""
    whole = _add_usage(votes)
    verdicts = [vote.verdict for vote in votes if vote.verdict is not None]
    if len(verdicts) < len(votes):
        place = next(place for place, vote in enumerate(votes, 1) if vote.verdict is None)
        return replace(whole, error=f"item {place} of {len(votes)}: {whole.error}")
    items = [{"label": v.label, "explanation": v.explanation, "score": v.score} for v in verdicts]
    reason = next((v.reason for v in verdicts if v.score is None), None)
    score = None if reason else fsum(v.score or 0 for v in verdicts) / len(verdicts)
    return replace(whole, verdict=Verdict(score, statements=json.dumps(items, ensure_ascii=False), reason=reason))


def combine_listed(votes: Sequence[Vote], items: Sequence[ListedItem], form: ItemForm) -> Vote:
    """The vote on all items of a row from its requests' votes; an error if one request has no verdict."""
    whole, replies = _add_usage(votes), list[Mapping[str, Any]]()
    for place, vote in enumerate(votes, 1):
        if vote.verdict is None:
            which = "request" if form.calls == "ten" else form.item
            return replace(
                whole, error=f"{which} {place}: {vote.error}" if len(votes) > 1 else vote.error, raw=vote.raw
            )
        replies += json.loads(vote.verdict.statements or "[]")
    return replace(whole, verdict=form.weigh(items, replies))


def combine_panel(votes: Sequence[Vote], names: Sequence[str], form: Form) -> Vote:
    """The vote of a panel: the most frequent label, or the mean of the scores.

    If several labels are equally frequent, the label is `tie` and the score is the mean of their scores. The error
    names members without a verdict; the others decide if they are more than half.
    """
    whole = _add_usage(votes)
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
    explanations = sorted(f"{verdict.label}: {verdict.explanation}" for verdict in level.values())
    return Verdict(fsum(v.score or 0 for v in level.values()) / len(level), "tie", " / ".join(explanations))


def _mean(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict whose score is nearest to the mean of all, with the mean as its score."""
    mean = fsum(verdict.score or 0 for verdict in verdicts) / len(verdicts)
    nearest = min(verdicts, key=lambda verdict: abs((verdict.score or 0) - mean))
    fields = {name: fsum(v.fields[name] for v in verdicts) / len(verdicts) for name in nearest.fields}
    return replace(nearest, score=mean, fields=fields)


def _agreement(verdicts: Sequence[Verdict], form: Form) -> float | None:
    """The mean similarity of two votes: 1 or 0 for labels; for scores 1 minus their distance divided by the range."""
    pairs = list(combinations(verdicts, 2))
    if not pairs:
        return None
    low, high = form.range

    def similarity(a: Verdict, b: Verdict) -> float:
        return (
            float(a.label == b.label) if a.label else max(0.0, 1 - abs((a.score or 0) - (b.score or 0)) / (high - low))
        )

    return fsum(similarity(a, b) for a, b in pairs) / len(pairs)


def _add_usage(votes: Sequence[Vote]) -> Vote:
    """The usage of votes that were made at the same time, and the first error among them."""
    failed = next((vote for vote in votes if vote.error), Vote())
    latency = max((vote.latency for vote in votes if vote.latency is not None), default=None)
    counts = {name: sum_known(getattr(vote, name) for vote in votes) for name in USAGE}
    raw = next((vote.raw for vote in (failed, *votes) if vote.raw is not None), None)
    repaired = any(vote.repaired for vote in votes) or None
    return Vote(error=failed.error, raw=raw, latency=latency, repaired=repaired, **counts)


def sum_known(numbers: Iterable[int | float | None]) -> Any:
    """The sum of the numbers that are not None; None if there is none."""
    known = [number for number in numbers if number is not None]
    return fsum(known) if any(isinstance(n, float) for n in known) else sum(known) if known else None
