"""The digest of code that is not karat's covers the modules beside it that it imports, and no others."""

import sys
from hashlib import sha256
from modulefinder import ModuleFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.runs.experiment.task import load_task
from karat.runs.scoring.provenance.own_code import MOST, _find_imported, digest_source

FILES = {
    "ours/__init__.py": "",
    "ours/metrics.py": "import json, karat, numpy\nfrom ours.words import LIMIT\nfrom . import other\nimport helper\n",
    "ours/words.py": "from .deep.inner import LIMIT\n",
    "ours/deep/__init__.py": "",
    "ours/deep/inner.py": "LIMIT = 3\ndef late():\n    from ..late import VALUE\n",
    "ours/late.py": "import ours.metrics\nVALUE = 1\n",  # a circle
    "ours/other.py": "this is no Python",
    "ours/unused.py": "",
    "helper.py": "import unknown_module\n",
    "unused.py": "",
    "json.py": "",  # has the name of a module of Python
    "karat/__init__.py": "",
}
USED = {"ours", "ours.words", "ours.deep", "ours.deep.inner", "ours.late", "ours.other", "helper", "json"}


def write(root, files):
    for name, text in files.items():
        (path := root / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def module(root, name="ours.metrics"):
    found = ModuleType(name)
    found.__file__, found.__package__ = str(root.joinpath(*name.split(".")).with_suffix(".py")), name.rpartition(".")[0]
    return found


def digest(root, name="ours.metrics"):
    found = module(root, name)
    return digest_source(Path(found.__file__).read_bytes(), found)


@pytest.mark.parametrize("folder", ["project", "site-packages"])
def test_a_change_of_a_module_that_is_imported_changes_the_digest(tmp_path, folder):
    write(root := tmp_path / folder, FILES)
    used = {name for name in USED if folder == "project" or name.startswith("ours")}
    before = digest(root)
    for name, text in FILES.items():
        path = root / name
        path.write_text(text + "\nMORE = 1\n", "utf-8")
        imported = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        assert (digest(root) != before) == (imported in used | {"ours.metrics"}), name
        path.write_text(text, "utf-8")
    assert digest(root) == before


def test_code_that_imports_nothing_beside_it_has_the_digest_of_its_source(tmp_path):
    write(tmp_path, {"alone.py": "import karat\n"})
    assert digest(tmp_path, "alone") == sha256(b"import karat\n").hexdigest()[:32]
    assert digest_source(b"x = 1", None) == sha256(b"x = 1").hexdigest()[:32]


def test_no_more_than_a_bounded_number_of_modules_is_read(tmp_path):
    write(tmp_path, {f"m{at}.py": f"import m{at + 1}\n" for at in range(MOST + 20)})
    names = [name for name, _ in _find_imported(tmp_path / "m0.py", "")]
    assert names == [f"m{at}" for at in range(1, MOST + 1)]


PLACES = {"a": "a.py", "b": "b.py", "p": "p/__init__.py", "p.a": "p/a.py", "p.b": "p/b.py",
          "p.q": "p/q/__init__.py", "p.q.a": "p/q/a.py", "p.q.b": "p/q/b.py"}  # fmt: skip
LINES = [
    *(f"import {name}" for name in PLACES),
    *(f"from {parent} import {name}" for parent in ("p", "p.q") for name in ("a", "b", "q", "no")),
]
ABOVE = [f"from {{}} import {name}" for name in "abq"] + [f"from {{}}{name} import VALUE" for name in ("a", "b", "q.a")]


def code_of(name):
    """A module of some imports, of which Python refuses none."""
    dots = 0 if name in {"a", "b"} else 2 if name.startswith("p.q") else 1
    lines = LINES + [line.format("." * each) for line in ABOVE for each in range(1, dots + 1)]
    return st.lists(st.sampled_from(lines), max_size=2).map(lambda lines: "\n".join(["VALUE = 1", *lines]))


@settings(max_examples=100, deadline=None)
@given(st.fixed_dictionaries({name: code_of(name) for name in PLACES}), st.sampled_from(["p.q.a", "p.a", "a"]))
def test_the_modules_are_those_that_pythons_own_finder_finds(sources, start):
    with TemporaryDirectory() as folder:
        write(Path(folder), {PLACES[name]: text for name, text in sources.items()})
        finder = ModuleFinder(path=[folder])
        finder.import_hook(start)
        found = {name for name, _ in _find_imported(Path(folder, PLACES[start]), start.rpartition(".")[0])}
        assert found | {start} == finder.modules.keys()


def test_a_task_has_the_digest_of_what_it_imports(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    write(
        tmp_path, {"task.py": "import own_prompts\ndef answer(question):\n    return ''\n", "own_prompts.py": "A = 1\n"}
    )
    before = load_task(f"{tmp_path / 'task.py'}:answer").digest
    assert load_task(f"{tmp_path / 'task.py'}:answer").digest == before
    (tmp_path / "own_prompts.py").write_text("A = 2\n", "utf-8")
    assert load_task(f"{tmp_path / 'task.py'}:answer").digest != before
