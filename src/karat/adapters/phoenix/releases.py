"""Phoenix's packages: imported when first needed, with a warning for a release that karat has not been tested with."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import version
from typing import Any

from karat.core.lazy import import_extra

NEWEST = {"arize-phoenix-evals": (3, 9), "arize-phoenix-client": (3, 5)}
"""The newest release of each package that karat's tests have run with; pyproject.toml has the lowest."""


@cache
def load_evals() -> Any:
    """The module `phoenix.evals`; raises `MissingExtra` if arize-phoenix-evals is not installed."""
    evals = import_extra("phoenix.evals", extra="phoenix", need=__package__, package="arize-phoenix-evals")
    warn_of_newer("arize-phoenix-evals")
    return evals


@cache
def warn_of_newer(package: str) -> None:
    """Warn, once in a process, of a release that is newer than those tested."""
    installed = version(package)
    tested = ".".join(map(str, NEWEST[package]))
    if tuple(int(part) for part in installed.split(".")[:2] if part.isdigit()) > NEWEST[package]:
        warnings.warn(
            f"{package} {installed} is newer than {tested}, the newest release that this karat was tested with; "
            "a newer karat may know it: pip install -U karat",
            stacklevel=3,
        )
