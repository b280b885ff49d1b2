"""A digest of code that is not karat's, and of the modules beside it that it imports."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

MOST = 500  # modules
_INSTALLED = ("site-packages", "dist-packages")  # folders in which packages of others are neighbours


def digest_function(function: Callable[..., Any]) -> str:
    """The digest of the module of a function; of a script or a notebook only of the function.

    Raises `OSError` or `TypeError` where there is no source: it was defined in a shell, or compiled.
    """
    function = inspect.unwrap(function)
    module = inspect.getmodule(function) if function.__module__ != "__main__" else None
    return digest_source(inspect.getsource(module or function).encode(), module)


def digest_source(source: bytes, module: ModuleType | None) -> str:
    """The digest of a source and of what the module that it belongs to imports, itself or through others.

    Modules count that are beside it: in its folder, or where its package is, and in packages there; of an installed
    package only its own. They are found by their names in import statements, with the packages around them, as Python
    runs these too; at most 500.
    """
    digest = sha256(source)
    if module is not None and module.__name__ != "__main__" and module.__file__:
        for name, code in _find_imported(Path(module.__file__), module.__package__ or ""):
            digest.update(f"\0{name}\0".encode() + code)
    return digest.hexdigest()[:32]


def _find_imported(file: Path, package: str) -> Iterator[tuple[str, bytes]]:
    """The names and the sources of the modules that a file imports, each once."""
    parts = package.split(".") if package else []
    if parts != list(file.parts[-1 - len(parts) : -1]):  # the package is not where its name says
        parts = []
    root = Path(*file.parts[: -1 - len(parts)])
    installed = any(name in root.parts for name in _INSTALLED)
    package = ".".join(parts)
    seen, left = {file}, [(_read(file), package)]
    for source, inside in left:
        for name in _imported_names(source, inside):
            top = name.partition(".")[0]
            if top == "karat" or (installed and [top] != parts[:1]):
                continue
            path = root.joinpath(*name.split("."))
            module = next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)
            if module is None or module in seen or len(seen) > MOST:
                continue
            seen.add(module)
            left.append((_read(module), name if module.stem == "__init__" else name.rpartition(".")[0]))
            yield name, left[-1][0]


def _imported_names(source: bytes, package: str) -> Iterable[str]:
    """The names of modules that a source in a package may import, with the packages around them, sorted."""
    names, parts = {package}, package.split(".") if package else []
    with suppress(SyntaxError, ValueError, RecursionError):  # it is not imported as it is
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level <= len(parts):
                above = parts[: len(parts) + 1 - node.level] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    names = {".".join(name.split(".")[:end]) for name in names for end in range(1, name.count(".") + 2)}
    return sorted(name for name in names if all(map(str.isidentifier, name.split("."))))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
