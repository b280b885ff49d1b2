"""What is loaded by name: karat's own metrics, the packages that add metrics, and the compiled kernels.

karat's own are looked for first and one module at a time, so that a metric costs the import of what it needs alone.
Another package adds metrics with an entry point in the group ``karat.metrics`` that names a module; importing the
module registers what it decorates.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

GROUP = "karat.metrics"
METRICS = "karat.metrics"  # the package that holds karat's metrics
JUDGES = "karat.judges"  # adds the prefix `judge:`
EXTRACTORS = "karat.text.extract"  # adds the ways to extract an answer


def load_own_metric(name: str) -> None:
    """Import the modules of karat that may define the metric of this name or alias."""
    import_module(f"{METRICS}.index").import_metric(name)


@cache
def load_plugins() -> dict[str, str]:
    """Import all that adds metrics, once: karat's own modules and those of the entry-point group.

    Returns the error message of each entry point that failed. A plugin that cannot be imported does not affect the
    others: it is a warning here and a line in `karat doctor`.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415  (slow to import, and seldom needed)

    import_module(f"{METRICS}.index").import_all()
    import_module(JUDGES)
    import_module(EXTRACTORS)
    failures = {}
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:  # noqa: BLE001  (a plugin may raise anything)
            failures[f"{point.name} ({point.value})"] = f"{type(error).__name__}: {error}"
            warnings.warn(f"metrics of {point.name!r} could not be loaded: {error!r}", RuntimeWarning, stacklevel=2)
    return failures


def compiled_kernels() -> dict[str, bool]:
    """Whether each of karat's kernels is compiled here, by module name; a kernel is a module with a `.pyi` stub."""
    source = Path(__file__).parents[2]  # files are looked for, because an import may need a missing extra
    return {
        ".".join(stub.relative_to(source).with_suffix("").parts): any(
            stub.with_suffix(suffix).exists() for suffix in EXTENSION_SUFFIXES
        )
        for stub in sorted((source / "karat").rglob("*.pyi"))
    }
