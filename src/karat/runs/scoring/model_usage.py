"""The use of models by the judges of a run: calls, tokens and costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from karat.core.metric.metric import Metric

if TYPE_CHECKING:
    from karat.models.governor.budget import Totals
    from karat.models.governor.governor import Governor


class ModelUsage:
    """The models that the judges among some metrics ask, and what they used since this was created."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._judges = [metric for metric in metrics if metric.definition.judge]
        self._before: list[tuple[Governor, Totals]] = []
        if self._judges:
            from karat.models.context import current_models  # noqa: PLC0415  (only for judges)

            governors = dict.fromkeys(each.definition.governor or current_models().governor for each in self._judges)
            self._before = [(governor, replace(governor.totals)) for governor in governors]

    def since_start(self) -> dict[str, Any] | None:
        """The names of the models, and the calls, tokens and USD since the start; None without a judge."""
        if not self._judges:
            return None
        models = [metric.settings["model"] for metric in self._judges]
        names = [name for each in models for name in ([each] if isinstance(each, str) else each or [])]
        totals: dict[str, Any] = {}
        for governor, before in self._before:
            earlier = asdict(before)
            for what, now in asdict(governor.totals).items():
                if now is not None:
                    totals[what] = totals.get(what, 0) + now - (earlier[what] or 0)
        return {"names": list(dict.fromkeys(names)), **totals}
