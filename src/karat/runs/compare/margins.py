"""The margins of a comparison: one for all metrics, or one for each of some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from karat.core.metric.spec import match_spec
from karat.stats.aggregate import Scale
from karat.stats.inference import Inference
from karat.stats.paired.margin import check_margin

Margin: TypeAlias = float | Mapping[str, float] | None
EVERY = ""  # the spec that stands for all metrics


def find_margins(margin: Margin, scales: Mapping[str, Scale], inference: Inference) -> Mapping[str, float]:
    """The margin of each metric that has one, by spec."""
    if margin is None:
        return {}
    specs = list(scales)
    chosen = margin if isinstance(margin, Mapping) else {EVERY: margin}
    margins = dict.fromkeys(specs, chosen[EVERY]) if EVERY in chosen else {}
    margins |= {match_spec(spec, specs): each for spec, each in chosen.items() if spec != EVERY}
    for spec, scale in scales.items():
        if spec in margins:
            check_margin(margins[spec], round(1 - inference.confidence, 12), scale.bounds, spec)
    return margins


def spell_margins(margin: Margin) -> list[str]:
    """The margins as a command has them.

    >>> spell_margins({"": 0.02, "f1": 0.05}), spell_margins(0.1)
    (['0.02', 'f1=0.05'], ['0.1'])
    """
    margins = margin if isinstance(margin, Mapping) else {} if margin is None else {EVERY: margin}
    return [f"{spec}={each:g}" if spec else f"{each:g}" for spec, each in margins.items()]
