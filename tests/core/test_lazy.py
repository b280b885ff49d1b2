"""Names that are imported on first use: type checkers are told the same names and modules."""

import ast
import inspect
import pickle
import sys
from importlib import import_module
from pathlib import Path
from unittest import mock

import pytest

from karat.core import lazy

PACKAGES = ["karat", "karat.judges", "karat.adapters.phoenix"]


def imports_under_type_checking(path):
    """Each re-exported name (`X as X`) and its module."""
    (block,) = (node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.If))
    return {
        each.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if each.asname == each.name
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_read_the_same_names_from_the_same_modules(package):
    module = import_module(package)
    calls = []
    path = Path(module.__file__)
    with mock.patch.object(lazy, "lazy_names", side_effect=lambda *given: (calls.append(given), None, [])):
        exec(compile(path.read_text("utf-8"), path, "exec"), {"__name__": package})  # noqa: S102  (our own file)
    ((_, modules),) = calls
    table = {
        name: package if home == "." else f"{package}{home}" if home.startswith(".") else home
        for home, names in modules.items()
        for name in names.split()
    }
    assert table == imports_under_type_checking(path)
    assert sorted(table) == sorted(module.__all__) == sorted(set(dir(module)) & table.keys())


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_there_and_no_other(package):
    module = import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_such_name'"):
        _ = module.no_such_name


def test_a_module_is_loaded_when_something_of_it_is_used(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    lazy.load_late("colorsys")
    import colorsys

    late = sys.modules["colorsys"]
    assert inspect.getmodule(str) is not late
    assert sys.modules["colorsys"] is late is colorsys
    assert colorsys.rgb_to_hls(0, 0, 0) == (0, 0, 0)
    assert sys.modules["colorsys"] is not late
    assert pickle.loads(pickle.dumps(late)) is sys.modules["colorsys"]  # noqa: S301
    lazy.load_late("there_is_no_such_module")
    assert "there_is_no_such_module" not in sys.modules
