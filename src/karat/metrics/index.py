"""Which modules define a metric, found in their source text, so that only these are imported.

A metric is a function ``def NAME(`` in a sub-package of `karat.metrics`, below a decorator with its ``aliases=(…)``.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from importlib import import_module
from pkgutil import get_data, iter_modules

from karat import metrics


def import_metric(name: str) -> None:
    """Import the modules that define a function of this name, else those that have it among the aliases of a metric.

    It may import more than it needs, and finds nothing where no source text is installed; `import_all` is sure.
    """
    word = re.escape(name).encode()
    for pattern in (rb"^def %b\(" % word, rb"\baliases=\([^)]*[\"']%b[\"']" % word):
        found = [module for module, source in _sources().items() if re.search(pattern, source, re.MULTILINE)]
        if list(map(import_module, found)):
            return


def import_all() -> None:
    """Import every module of metrics, which registers what it decorates."""
    for module in _sources():
        import_module(module)


@cache
def _sources() -> dict[str, bytes]:
    """The source text of each module of metrics, by its name; empty where only byte code is installed."""
    sources = {}
    for room in iter_modules(metrics.__path__, f"{metrics.__name__}."):
        if room.ispkg and not room.name.endswith("._kernels"):
            for module in iter_modules(import_module(room.name).__path__, f"{room.name}."):
                sources[module.name] = b""
                with suppress(OSError):
                    sources[module.name] = get_data(room.name, f"{module.name.rpartition('.')[2]}.py") or b""
    return sources
