"""The models that metrics ask: at which endpoints, and what they used."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from karat.core.errors import KaratError
from karat.core.metric.metric import Metric
from karat.data.storage.addresses import hide_secrets

if TYPE_CHECKING:
    from karat.models.governor.budget import Totals
    from karat.models.governor.governor import Governor


class ModelUsage:
    """The models that the judges among some metrics ask, and what they used since this was created."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._judges = [metric.judge for metric in metrics if metric.judge is not None]
        self._before: list[tuple[Governor, Totals]] = []
        if self._judges:
            from karat.models.context import current_models  # noqa: PLC0415  (only for judges)

            governors = dict.fromkeys(each.definition.governor or current_models().governor for each in self._judges)
            self._before = [(governor, replace(governor.totals)) for governor in governors]

    def since_start(self) -> dict[str, Any] | None:
        """The names of the models, and the calls, tokens and USD since the start; None without a judge."""
        if not self._judges:
            return None
        names = [name for judge in self._judges for name in _model_names(judge)]
        totals: dict[str, Any] = {}
        for governor, before in self._before:
            earlier = asdict(before)
            for what, now in asdict(governor.totals).items():
                if now is not None:
                    totals[what] = totals.get(what, 0) + now - (earlier[what] or 0)
        return {"names": list(dict.fromkeys(names)), **totals}


def find_endpoints(metrics: Iterable[Metric]) -> list[str]:
    """The addresses of the endpoints that metrics ask, sorted, without keys; [] where a model is no endpoint's."""
    found = set[object]()
    for metric in metrics:
        if not metric.asks_model:
            continue
        from karat.models.context import current_models  # noqa: PLC0415  (only for models)
        from karat.models.openai.client import find_endpoint  # noqa: PLC0415

        with suppress(KaratError):  # what is missing is said when the model is asked
            if metric.judge is None:
                found.add(find_endpoint("embeddings", current_models().base_url).url)
                continue
            own = getattr(metric.judge.definition.function, "models", {})
            for name in _model_names(metric.judge):
                found.add(getattr(own.get(name) or current_models().connect(name), "endpoint", None))
    return sorted(hide_secrets(each) for each in found if isinstance(each, str) and each.startswith("http"))


def _model_names(judge: Metric) -> list[str]:
    named = judge.settings["model"]
    return [named] if isinstance(named, str) else list(named or [])
