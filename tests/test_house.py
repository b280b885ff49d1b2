"""The rules of the house, as far as they can be tested."""

import ast
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "karat"
FLOORS = [
    {"core"},
    {"models", "text", "data"},
    {"judges", "metrics", "stats"},
    {"runs"},
    {"viewer", "engines", "adapters"},
    {"cli"},
]
HEIGHT = {room: height for height, floor in enumerate(FLOORS) for room in floor}
ORDERED = {  # rooms whose entries stand in an order: each may import those before it
    "karat.core.metric": ["setting", "definition", "rows", "combine", "score", "metric", "registry", "spec"],
    "karat.runs": ["columns", "store", "labels", "scoring", "match", "compare", "judge"],
    "karat.models": ["request", "governor", "context", "encoders"],
}
LARGE = {"karat.data.formats", "karat.cli", "karat.cli.options"}  # may hold more than MOST entries
MOST = 12
PARAMETERS = 6
LINES = {"src": 300, "tests": 400}


def module_name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for pattern in ("*.py", "*.pyx") for path in sorted(SOURCE.rglob(pattern))}
PACKAGES = sorted(name for name, path in MODULES.items() if path.name == "__init__.py" and name != "karat")
TEST_FILES = sorted((ROOT / "tests").rglob("test_*.py"))


@cache
def trees():
    """The syntax tree of each module."""
    return {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items() if path.suffix == ".py"}


def imported_by(tree):
    """The modules of karat that a module imports anywhere in it: in functions and under TYPE_CHECKING too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "karat")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "karat":
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module


@cache
def imports():
    """What each module imports."""
    return {name: set(imported_by(tree)) for name, tree in trees().items()}


def imports_inside(package):
    """Which entries of a package each of its entries imports, a sub-package being one entry."""
    depth = package.count(".") + 1
    found = defaultdict(set)
    for name, targets in imports().items():
        if name.startswith(f"{package}."):
            entry = name.split(".")[depth]
            inner = {target.split(".")[depth] for target in targets if target.startswith(f"{package}.")}
            found[entry] |= inner - {entry}
    return found


def test_imports_point_down_and_never_sideways_between_floors():
    for name, targets in imports().items():
        room = name.split(".")[1] if "." in name else None
        if room not in HEIGHT:  # karat/__init__.py names everything, lazily; two files stand beside the floors
            continue
        for target in targets:
            assert target.startswith("karat."), f"{name} imports {target}"
            other = target.split(".")[1]
            assert other == room or HEIGHT.get(other, 99) < HEIGHT[room], f"{name} imports {target}"


def test_no_adapter_imports_another():
    found = imports_inside("karat.adapters")
    assert {entry: targets for entry, targets in found.items() if targets} == {}


def test_imports_inside_a_room_make_no_circle():
    for package in PACKAGES:
        left = dict(imports_inside(package))
        while free := [entry for entry, targets in left.items() if not targets & left.keys()]:
            for entry in free:
                del left[entry]
        assert not left, f"a circle in {package}: {left}"


def test_imports_inside_an_ordered_room_point_down():
    for package, order in ORDERED.items():
        for entry, targets in imports_inside(package).items():
            if entry in order:
                above = set(order[order.index(entry) + 1 :])
                assert not targets & above, f"{package}.{entry} imports {targets & above}"


def test_comparing_and_experiments_do_not_know_each_other():
    found = imports_inside("karat.runs")
    assert "experiment" not in found["compare"]
    assert "compare" not in found["experiment"]


def entries_of(package):
    names = {
        path.name.partition(".")[0] for path in MODULES[package].parent.iterdir() if path.suffix not in {".so", ".c"}
    }
    return names - {"__init__", "__pycache__"}


def test_a_room_holds_at_most_twelve_entries():
    for package in PACKAGES:
        entries = entries_of(package)
        assert package in LARGE or len(entries) <= MOST, f"{package} holds {len(entries)}: {sorted(entries)}"


def test_a_room_says_what_lives_in_it_and_which_file_to_open_first():
    for package in PACKAGES:
        text = ast.get_docstring(trees()[package]) or ""
        assert len(text) > 150, f"{package}: a paragraph is expected"
        named = set(re.findall(r"`(\w+)[\w./]*`", text))
        assert entries_of(package) & named, f"{package}: which file to open first?"


def test_no_file_is_longer_than_300_lines_without_a_reason():
    for name, path in MODULES.items():
        text = path.read_text("utf-8")
        assert text.count("\n") <= LINES["src"] or "Longer than 300 lines because" in text, name


ANYWHERE = {"karat", "pytest", "packaging", "hypothesis", "scipy", *sys.stdlib_module_names}
ANYWHERE |= {"click", "duckdb", "numpy", "pyarrow", "regex", "rich"}  # what karat requires


def test_a_room_is_collected_without_the_libraries_of_others():
    for path in TEST_FILES:
        if "adapters" in path.parts:
            continue  # whose folders are left out without their framework
        text = path.read_text("utf-8")
        for node in ast.parse(text).body:
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for top in {name.partition(".")[0] for name in names} - ANYWHERE:
                assert f'importorskip("{top}' in text, f"{path}: {top} may not be installed: pytest.importorskip"


def test_no_test_file_is_longer_than_400_lines():
    assert [path for path in TEST_FILES if path.read_text("utf-8").count("\n") > LINES["tests"]] == []


def test_tests_mirror_the_rooms():
    other = {"agree", "bare", "docs", "frozen", "typing"}
    # Agreement with references, the core alone, pages, stored examples, types.
    for path in TEST_FILES:
        folder = path.parent.relative_to(ROOT / "tests")
        assert (
            folder.parts[:1] in {(name,) for name in other}
            or (SOURCE / folder).is_dir()
            or folder.parts[-1:] == ("remem",)
        ), f"tests/{folder} mirrors no room"


def test_every_room_has_a_floor():
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(HEIGHT)


KINDS = {"InOrder", "Percentile", "Curve", "Cut", "Accumulator", "Units", "Tally", "ScoreCounts", "CurveRows"}


def test_no_finish_and_no_accumulator_is_asked_for_its_class():
    """A finish says what keeps its rows (`kept_by`), and the accumulator has the methods."""
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                asked = {getattr(each, "id", getattr(each, "attr", "")) for each in ast.walk(node.args[1])}
                assert not asked & KINDS, f"{name}, line {node.lineno}: isinstance of {asked & KINDS}"


def defined_types(tree):
    """The public classes of a module, and its aliases of types."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            yield node.target.id


def test_a_public_type_has_a_name_that_no_other_module_defines():
    modules = defaultdict(set)
    for name, tree in trees().items():
        if not name.startswith("karat.adapters."):  # their classes are named as in their frameworks
            for defined in defined_types(tree):
                modules[defined].add(name)
    assert {name: each for name, each in modules.items() if len(each) > 1 and not name.startswith("_")} == {}


def test_there_is_one_context_variable():
    holders = [name for name, path in MODULES.items() if "ContextVar(" in path.read_text("utf-8")]
    assert holders == ["karat.core.context"]


def is_public(function, owner):
    """Whether users or frameworks write a function's parameters: public API, metrics, commands, constructors."""
    decorated = {word for each in function.decorator_list for word in re.findall(r"\w+", ast.unparse(each))}
    return bool(decorated & {"metric", "click"}) or not public_names().isdisjoint({function.name, owner})


def imported_by_users():
    """Names that users import: what the packages that users import name in their `__init__`."""
    adapters = [name for name in PACKAGES if name.startswith("karat.adapters.")]
    for package in ("karat", "karat.kinds", "karat.errors", "karat.judges", *adapters):
        for node in ast.walk(trees()[package]):
            if isinstance(node, ast.ImportFrom):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@cache
def public_names():
    """The names that users import, and the names of the classes that these extend."""
    named = {*imported_by_users(), "FakeServer"}
    classes = [node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return named | {
        base.id for each in classes if each.name in named for base in each.bases if isinstance(base, ast.Name)
    }


def long_parameter_lists():
    for name, tree in trees().items():
        owners = {
            id(function): node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            for function in node.body
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = len([each for each in arguments if each.arg not in {"self", "cls"}])
                if count > PARAMETERS and not is_public(node, owners.get(id(node))):
                    yield f"{name}.{node.name} has {count} parameters"


def test_inner_functions_have_at_most_six_parameters():
    assert not list(long_parameter_lists())


def test_every_public_name_is_there():
    import karat

    for name in karat.__all__:
        assert getattr(karat, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = karat.scores
