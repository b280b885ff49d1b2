"""What is loaded by name: the packages that add metrics, and the compiled kernels.

A package adds metrics with an entry point in the group ``karat.metrics`` that names a module; importing the module
registers what it decorates. karat's own metrics, judges and extractors are loaded in the same way.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

GROUP = "karat.metrics"


@cache
def load_own_plugin() -> None:
    """Import the module of karat's own entry point, which registers where its metrics are."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (slow to import, and seldom needed)

    for point in entry_points(group=GROUP, name="karat"):
        point.load()


@cache
def load_plugins() -> dict[str, str]:
    """Import the modules of the entry-point group, once.

    Returns the error message of each entry point that failed, which is also a warning and a line in `karat doctor`.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415  (slow to import, and seldom needed)

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
    modules = [stub.with_suffix("") for stub in sorted((source / "karat").rglob("*.pyi"))]
    compiled = [any(module.with_suffix(suffix).exists() for suffix in EXTENSION_SUFFIXES) for module in modules]
    return dict(zip([".".join(module.relative_to(source).parts) for module in modules], compiled, strict=True))
