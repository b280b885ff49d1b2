"""What the judges of a run asked, and what that took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from karat.core.metric.metric import Metric

if TYPE_CHECKING:
    from karat.models.governor.governor import Governor


class Asked:
    """The models that judges among these metrics ask, and their totals from here on."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._judges = [metric for metric in metrics if metric.definition.judge]
        self._before = [(governor, replace(governor.totals)) for governor in self._governors()]

    def since(self) -> dict[str, Any] | None:
        """The names of the models, and how many calls, tokens and USD they have taken since; None without a judge."""
        if not self._judges:
            return None
        given = [metric.settings["model"] for metric in self._judges]
        names = [name for each in given for name in ([each] if isinstance(each, str) else each or [])]
        totals: dict[str, Any] = {}
        for governor, before in self._before:
            was = asdict(before)
            for what, now in asdict(governor.totals).items():
                if now is not None:
                    totals[what] = totals.get(what, 0) + now - (was[what] or 0)
        return {"names": list(dict.fromkeys(names)), **totals}

    def _governors(self) -> list[Governor]:
        if not self._judges:
            return []
        from karat.models.context import current  # noqa: PLC0415  (only where a model is asked)

        own = (getattr(metric.definition.function, "governor", None) for metric in self._judges)
        return list(dict.fromkeys(governor or current().governor for governor in own))
