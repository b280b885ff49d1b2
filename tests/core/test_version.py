"""Releases of frameworks: the warning of newer ones, and the table in the documentation."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from karat.core.version import warn_of_newer

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("installed", ["3.5.0", "3.5.0rc1", "3.10", "4.0"])
def test_a_newer_release_is_named_with_the_way_back(installed, monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda package: installed)
    with pytest.warns(UserWarning, match=rf"a-framework {installed} is newer .* pip install 'a-framework==3\.4\.\*'"):
        warn_of_newer("a-framework", "3.4")


@pytest.mark.parametrize("installed", ["3.4", "3.4.9", "3.4.1.dev5+g1234", "2.30", "3.1.0"])
def test_a_tested_or_older_release_is_not_warned_of(installed, monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda package: installed)
    warn_of_newer("a-framework", "3.4")


def test_a_framework_that_is_not_installed_as_a_package_has_no_release():
    warn_of_newer("a-package-that-nobody-has", "1")


def test_the_table_of_releases_names_those_that_are_tested():
    """The lowest is what an extra asks for, the newest the one beyond which the adapter warns."""
    page = (ROOT / "docs" / "reference" / "releases.md").read_text("utf-8")
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src/karat/adapters").rglob("*.py"))
    newest = dict(re.findall(r'warn_of_newer\("([\w-]+)", "([\d.]+)"\)', source))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    lowest = dict(re.findall(r"([\w-]+)>=([\d.]+)", "\n".join(each for extra in extras.values() for each in extra)))
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert {name: high for name, _, high in rows} == newest
    assert all(low == lowest.get(name, low) for name, low, _ in rows)
