"""Phoenix's modules under the name of this package: `karat.adapters.phoenix.llm.prompts`, `….metrics`, `….client`.

Each has the names of Phoenix's module, so an import of Phoenix's works with `karat.adapters.phoenix` in place of
`phoenix.evals`, and with `karat.adapters.phoenix.client` in place of `phoenix.client`. A name that karat defines as
well is karat's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from karat.core.lazy import import_extra
from karat.core.version import warn_of_newer

PACKAGE = "karat.adapters.phoenix"
_HOMES = ("", ".metrics", ".llm", ".evaluators", ".utils", ".exceptions", ".executors")  # searched for a name


@cache
def load_evals() -> Any:
    """The module `phoenix.evals`; raises `MissingExtra` if arize-phoenix-evals is not installed."""
    evals = import_extra("phoenix.evals", extra="phoenix", need=__package__, package="arize-phoenix-evals")
    warn_of_newer("arize-phoenix-evals", "3.9")
    return evals


def find(name: str) -> Any:
    """Phoenix's object of this name, from `phoenix.evals` or one of its modules; a module as one of this package."""
    load_evals()
    for home in _HOMES:
        value = getattr(import_module(f"phoenix.evals{home}"), name, None)
        if value is not None:
            return import_module(f"{PACKAGE}.{name}") if isinstance(value, ModuleType) and not home else value
    raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}")


class PhoenixModule(ModuleType):
    """A module with the names of one of Phoenix's modules."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # the import system sets this module's
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        theirs = sys.modules[_theirs(self.__name__)]
        if name == "__all__" and not hasattr(theirs, name):
            return [each for each in dir(theirs) if not each.startswith("_")]
        value = getattr(theirs, name)
        ours = sys.modules[PACKAGE]
        return getattr(ours, name) if name in ours.__all__ and not isinstance(value, ModuleType) else value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a submodule does not replace the object that Phoenix has under its name."""
        if not isinstance(value, PhoenixModule) or isinstance(getattr(self, name, value), ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return dir(sys.modules[_theirs(self.__name__)])


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of this package that have no file, because Phoenix has them."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{PACKAGE}."):
            return None
        try:
            spec = find_spec(_theirs(fullname))
        except ModuleNotFoundError:
            return None
        return spec and ModuleSpec(fullname, self, is_package=spec.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        import_module(_theirs(spec.name))
        return PhoenixModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do: the names are looked up when they are asked for."""


def _theirs(name: str) -> str:
    tail = name.removeprefix(f"{PACKAGE}.")
    return f"phoenix.{tail}" if f"{tail}.".startswith("client.") else f"phoenix.evals.{tail}"


sys.meta_path.append(_Finder())
