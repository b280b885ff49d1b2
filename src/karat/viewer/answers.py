"""Comparisons and rankings as the page is answered: the dictionaries of their values, and how they are shown."""

from __future__ import annotations

from typing import Any

from karat.runs.compare.comparison import Compared
from karat.runs.compare.ranking.ranked import Ranked, Ranking
from karat.runs.store.manifest import ScoredMetric
from karat.runs.table.table import spell_p, spell_value
from karat.stats.aggregate import points


def answer_metric(metric: ScoredMetric) -> dict[str, Any]:
    """What the page must know of a metric to show its values."""
    return {"spec": metric.spec, "direction": metric.direction, "low": metric.low, "high": metric.high,
            "scale": points(metric.scale.bounds)}  # fmt: skip


def answer_compared(compared: Compared) -> dict[str, Any]:
    """A comparison, and how each of its findings is shown: its unit, and its p as tables spell it."""
    display = [
        {"heading": each.heading, "scale": each.scale, "direction": each.comparison.direction,
         "p_shown": spell_p(each.adjusted)}
        for each in compared.findings
    ]  # fmt: skip
    return {"compared": compared.as_dict(), "display": display, "labels_note": None}


def answer_ranked(ranked: Ranked) -> dict[str, Any]:
    """Systems in their order, what each ranking says in words, and each pair's p as tables spell it."""
    shown = [[spell_p(pair.p_adjusted) for pair in each.pairs] for each in ranked.rankings]
    sentences = [[each.metric, describe_best(each)] for each in ranked.rankings]
    return {"ranked": ranked.as_dict(), "sentences": sentences, "p_shown": shown}


def describe_best(ranking: Ranking) -> str:
    """Which system is the best, and which are not separated from it, in words."""
    best, *others = ranking.systems
    if best.value is None:
        return "nothing can be said: no value is defined"
    factor = points(ranking.bounds)
    low, high = (spell_value(each, factor) for each in (best.low, best.high))
    value = f"{spell_value(best.value, factor)}{' points' if factor > 1 else ''} [{low}, {high}]"
    near = [each.system for each in others if set(each.groups) & set(best.groups)]
    if not near:
        return f"{best.system} is the best, with {value}, and separated from all others"
    several = f"{len(near)} others are" if len(near) > 6 else f"{', '.join(near)} {'is' if len(near) == 1 else 'are'}"
    return f"{best.system} has the best value, {value}; {several} not separated from it"
