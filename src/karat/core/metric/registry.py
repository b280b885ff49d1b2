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
"""From the text that another tool has for a metric to karat's spec of it; None for what it does not know."""

_metrics: dict[str, Metric] = {}
_aliases: dict[str, str] = {}
_dialects: dict[str, Dialect] = {}
_makers: dict[str, Callable[[str], Metric]] = {}


def register(metric: Metric) -> None:
    """Add a metric; `SpecError` if another one has its name or an alias of it.

    Defining the same function again, as one does in a notebook, replaces it.
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
    """The metric of that name or alias, with default settings; `SpecError` with the nearest name if there is none."""
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
    """Let `prefix:NAME` be the metric that `make` makes of NAME, which may be a file's."""
    _makers[prefix] = make


def add_dialect(translate: Dialect) -> None:
    """Let specs be written as another tool writes them, where karat has no metric of that name."""
    _dialects[f"{translate.__module__}.{translate.__qualname__}"] = translate


def translated(text: str) -> str | None:
    """The spec of what another tool calls so; None if none does."""
    load_plugins()
    return next(filter(None, (translate(text) for translate in _dialects.values())), None)


def all_metrics() -> list[Metric]:
    """Every metric that is known, by name."""
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
