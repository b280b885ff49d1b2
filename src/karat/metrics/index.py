"""Which modules define a metric, found in their source text, so that only these are imported.

A metric is a function ``def NAME(`` in a sub-package of `karat.metrics`, below a decorator with its ``aliases=(…)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import ModuleInfo, iter_modules
from typing import Any

from karat import metrics

_REGISTERS = re.compile(rb"^(?:@metric\(|add_)", re.MULTILINE)


def import_metric(name: str) -> None:
    """Import the modules that define a function of this name, else those that have it among the aliases of a metric.

    It may import more than it needs, and finds nothing where no source text is installed; `import_all` is sure.
    """
    for module in _homes(name):
        import_module(module)


def import_all() -> None:
    """Import every module of metrics, which registers what it decorates."""
    for module in _sources():
        import_module(module)


@lru_cache
def _homes(name: str) -> list[str]:
    """The modules that have the name, the fewest that are sure."""
    word = re.escape(name).encode()
    for pattern in (rb"^def %b\(" % word, rb"\baliases=\([^)]*[\"']%b[\"']" % word):
        homes = [module for module, source in _sources().items() if re.search(pattern, source, re.MULTILINE)]
        if homes:
            return homes
    return []


@cache
def _sources() -> dict[str, bytes]:
    """The source text of each module that registers something, by its name; empty where only byte code is installed."""
    rooms = (room for room in iter_modules(metrics.__path__, f"{metrics.__name__}.") if room.ispkg)
    sources = dict(each for room in rooms if not room.name.endswith("._kernels") for each in _list_sources(room))
    return {name: source for name, source in sources.items() if not source or _REGISTERS.search(source)}


def _list_sources(room: ModuleInfo) -> Iterator[tuple[str, bytes]]:
    """The source text of each module of a package, and of the packages in it, which are not imported."""
    for module in iter_modules(_spec(room).submodule_search_locations, f"{room.name}."):
        if module.ispkg:
            yield from _list_sources(module)
        else:
            spec, source = _spec(module), b""
            with suppress(OSError):
                source = spec.loader.get_data(f"{spec.origin.rpartition('.')[0]}.py")
            yield module.name, source


def _spec(module: ModuleInfo) -> Any:
    return module.module_finder.find_spec(module.name, None)
