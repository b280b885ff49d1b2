"""Cautions about values of which many rows have no score."""

from __future__ import annotations

from collections.abc import Mapping

from karat.stats.value import Value, spell

MANY = 0.1  # the share of unscored rows from which a value is doubtful


def caution_missing(values: Mapping[str, Value], confidence: float) -> dict[str, str]:
    """By spec, how many rows have no score where these are many, and where the value of all rows may lie.

    >>> value = Value(0.5, 0.4, 0.6, 90, 72, 18, 0.4, 0.6, all_low=0.31, all_high=0.69)
    >>> print(caution_missing({"em": value}, 0.95)["em"])
    20 % of the rows have no score; whatever their scores, the value of all is 0.3100 to 0.6900 (95 % interval)
    """
    cautions = dict[str, str]()
    for spec, value in values.items():
        if value.unscored <= MANY * value.n or value.value is None:
            continue
        low, high, span = value.all_low, value.all_high, f" ({100 * confidence:g} % interval)"
        if low is None or high is None:
            low, high, span = value.worst, value.best, ", and further by chance"
        caution = f"{spell(100 * value.unscored / value.n, '.0f')} % of the rows have no score"
        if low is not None and high is not None:
            ends = " to ".join(spell(end, ".4f") for end in sorted((low, high)))
            caution += f"; whatever their scores, the value of all is {ends}{span}"
        cautions[spec] = caution
    return cautions


def join_cautions(*several: Mapping[str, str]) -> dict[str, str]:
    """All cautions about each metric."""
    specs = dict.fromkeys(spec for each in several for spec in each)
    return {spec: "; ".join(each[spec] for each in several if each.get(spec)) for spec in specs}
