"""Judges: metrics that ask a language model.

Importing this package lets specs say `judge:NAME` or `judge:FILE.toml`; what is heavy is loaded with the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.core.metric.registry import add_maker

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric
    from karat.judges.judge import Judge as Judge
    from karat.judges.rubric import own_judges as own_judges
    from karat.models.context import asking as asking

_HOMES = {"Judge": "judges.judge", "asking": "models.context", "own_judges": "judges.rubric"}
__all__ = [*_HOMES]  # noqa: PLE0604  (strings all)


def _make(name: str) -> Metric:
    from karat.judges.judge import Judge  # noqa: PLC0415  (loaded with the first judge)

    return Judge(name)


add_maker("judge", _make)


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415

    if name.startswith("judge:"):  # so that a judge can be pickled
        return _make(name.removeprefix("judge:"))
    if name not in _HOMES:
        raise AttributeError(f"module 'karat.judges' has no attribute {name!r}")
    return getattr(import_module(f"karat.{_HOMES[name]}"), name)
