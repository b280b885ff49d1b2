"""All metrics by name: karat's own, those of installed plugins, and those defined in this process.

Importing the module that defines a metric registers it. A name that is not registered is looked for among karat's own
metrics, then in the packages that add some: see `karat.core.plugins`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

from karat.core.errors import SpecError, did_you_mean
from karat.core.metric.metric import Metric
from karat.core.plugins import JUDGES, METRICS, load_own_metric, load_plugins

Dialect: TypeAlias = Callable[[str], str | None]
"""From another tool's name of a metric to karat's spec; None for an unknown name."""

_metrics: dict[str, Metric] = {}
_aliases: dict[str, str] = {}
_dialects: dict[str, Dialect] = {}
_makers: dict[str, Callable[[str], Metric]] = {}


def register(metric: Metric) -> None:
    """Add a metric; raises `SpecError` if another one has its name or one of its aliases.

    Defining the same function again, as in a notebook, replaces the metric.
    """
    definition = metric.definition
    for name in (definition.name, *definition.aliases):
        if not definition.function.__module__.startswith(f"{METRICS}."):
            load_own_metric(name)  # so that a name of karat's own is refused
        taken = _get(name)
        if taken is not None and _origin(taken) != _origin(metric):
            raise SpecError(f"there is a metric {name!r} already, defined in {_origin(taken)}")
    _metrics[definition.name] = metric
    _aliases.update(dict.fromkeys(definition.aliases, definition.name))


def find(name: str) -> Metric:
    """The metric of that name or alias, with default settings; raises `SpecError` with the nearest name."""
    prefix, colon, rest = name.partition(":")
    if colon:
        return _find_maker(prefix, name)(rest)
    if (found := _get(name)) is None:
        load_own_metric(name)
        found = _get(name)
    if found is None:
        load_plugins()
        found = _get(name)
    if found is None:
        raise SpecError(f"there is no metric {name!r}{did_you_mean(name, [*_metrics, *_aliases])}")
    return found


def add_maker(prefix: str, make: Callable[[str], Metric]) -> None:
    """Define `prefix:NAME` as the metric that `make` returns for NAME, which may be the name of a file."""
    _makers[prefix] = make


def add_dialect(translate: Dialect) -> None:
    """Accept the names that another tool has for metrics, where karat has no metric of that name."""
    _dialects[f"{translate.__module__}.{translate.__qualname__}"] = translate


def translated(text: str) -> str | None:
    """The spec of the metric that another tool calls by this name; None if there is none."""
    load_plugins()
    return next(filter(None, (translate(text) for translate in _dialects.values())), None)


def all_metrics() -> list[Metric]:
    """Every registered metric, sorted by name."""
    load_plugins()
    return [_metrics[name] for name in sorted(_metrics)]


def _get(name: str) -> Metric | None:
    return _metrics.get(_aliases.get(name, name))


def _find_maker(prefix: str, name: str) -> Callable[[str], Metric]:
    if prefix not in _makers:
        import_module(JUDGES)
    if prefix not in _makers:
        load_plugins()
    if prefix not in _makers:
        raise SpecError(f"there is no metric {name!r}{did_you_mean(prefix, _makers)}")
    return _makers[prefix]


def _origin(metric: Metric) -> str:
    return f"{metric.definition.function.__module__}.{metric.definition.function.__qualname__}"
