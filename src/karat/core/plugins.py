"""What is loaded by name: the packages that add metrics, files of Python that users name, and the compiled kernels.

A package adds metrics with an entry point in the group ``karat.metrics`` that names a module; importing the module
registers what it decorates. karat's own metrics, judges and extractors are loaded in the same way.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from karat.core.errors import DataError, SpecError

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


def load_file(file: str) -> ModuleType:
    """Run a file of Python and return it as a module; the files beside it can be imported.

    Raises `SpecError` for what is not a Python file, `DataError` for one that cannot be run.
    """
    path = Path(file)
    spec = spec_from_file_location(f"karat_task_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SpecError(f"{file} is not a Python file; expected FILE.py:NAME")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # its functions and classes have this name as their __module__
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise DataError(f"{file} cannot be loaded: {type(error).__name__}: {error}") from error
    return module


def compiled_kernels() -> dict[str, bool]:
    """Whether each of karat's kernels is compiled here, by module name; a kernel is a module with a `.pyi` stub."""
    source = Path(__file__).parents[2]  # files are looked for, because an import may need a missing extra
    modules = [stub.with_suffix("") for stub in sorted((source / "karat").rglob("*.pyi"))]
    compiled = [any(module.with_suffix(suffix).exists() for suffix in EXTENSION_SUFFIXES) for module in modules]
    return dict(zip([".".join(module.relative_to(source).parts) for module in modules], compiled, strict=True))
