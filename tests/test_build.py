"""How karat is built and released: the lock, the workflows, and where an install is refused."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCK = (ROOT / "requirements.txt").read_text("utf-8")
WORKFLOWS = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
REFUSED = """
import runpy, sys, sysconfig
from unittest.mock import MagicMock
for name in ("Cython", "Cython.Build", "setuptools", "setuptools.command", "setuptools.command.build_ext"):
    sys.modules[name] = MagicMock()
ask = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: 1 if name == "Py_GIL_DISABLED" else ask(name)
runpy.run_path("setup.py", run_name="__main__")
"""


def required(lines):
    """The requirements, with those of the extras of karat that they name."""
    for line in lines:
        requirement = Requirement(line)
        if requirement.name == "karat":
            yield from required(each for name in requirement.extras for each in PROJECT["optional-dependencies"][name])
        else:
            yield requirement


def locked():
    """The locked versions of each package, with the platforms and Pythons that they are for."""
    found = {}
    for line in re.findall(r"^[a-z0-9].*?(?= \\$)", LOCK, re.MULTILINE):
        requirement = Requirement(line)
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def test_the_lock_has_a_version_of_every_requirement_and_it_is_allowed():
    packages = locked()
    for requirement in required([*PROJECT["dependencies"], "karat[test]"]):
        versions = packages.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement} is not locked: nox -s lock -- --write"
        for each in versions:
            (version,) = (specifier.version for specifier in each.specifier)
            assert requirement.specifier.contains(version), f"{each} is not {requirement}: nox -s lock -- --write"


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_lock_has_one_version_for_each_python_and_platform(python, platform):
    system = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[platform]
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": platform,
        "platform_system": system,
    }
    for name, versions in locked().items():
        fitting = [each for each in versions if (each.marker or Marker("python_version > '3'")).evaluate(environment)]
        assert len(fitting) <= 1, f"{name}: {fitting}"


def test_the_lock_names_hashes_and_no_place():
    assert LOCK.count("--hash=sha256:") > LOCK.count("==")
    assert not re.search(r"://|file:|--(index|find|extra)", LOCK)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit_with_their_version(path):
    for line in re.findall(r"uses: (.*)", path.read_text("utf-8")):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", line), line


def test_free_threaded_python_is_refused_by_name():
    done = subprocess.run([sys.executable, "-c", REFUSED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not for free-threaded CPython: DuckDB" in done.stderr
    assert "python3.14 instead of python3.14t" in done.stderr
