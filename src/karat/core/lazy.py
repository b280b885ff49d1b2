"""Names and optional dependencies that are imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any

from karat.core.errors import MissingExtra


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package whose names are imported on first use.

    `modules` maps each module, in full or relative to the package, to the names in it, separated by spaces; `.` stands
    for the package itself, whose names are its submodules. Type checkers read the same imports under `TYPE_CHECKING`.

    >>> get, _, names = lazy_names("karat.core", {".version": "__version__"})
    >>> names, isinstance(get("__version__"), str)
    (['__version__'], True)
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == ".":
            return import_module(f"{package}.{name}")
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(homes), [*homes]


class _Late(ModuleType):
    """A module that is loaded when something of it is asked for."""

    loading = RLock()

    def __getattr__(self, name: str) -> Any:
        with self.loading:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)


def load_late(module: str) -> None:
    """Let `import module` cost nothing in this process until something of the module is used.

    For a program, not for a library: the rest of the process gets the same module.
    """
    if module not in sys.modules and (spec := find_spec(module)) is not None:
        late = sys.modules[module] = _Late(module)
        late.__spec__, late.__file__ = spec, spec.origin  # what `inspect` asks every module for


def import_extra(module: str, *, extra: str, need: str, package: str | None = None) -> Any:
    """An optional dependency, imported; `MissingExtra`, naming `need` and the `package`, if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(package or module, extra=extra, need=need) from None
