"""Documentation that is generated is fresh; documentation that is written is true."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from karat.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def generated():
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts" / "docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


@pytest.mark.parametrize("name", ["metrics.md", "edge-cases.md", "cli.md"])
def test_generated_pages_are_fresh(name):
    assert (ROOT / "docs" / "reference" / name).read_text("utf-8") == generated()[name], "run: python scripts/docs.py"


def commands_shown():
    """Every `$ karat ...` of a page with the output shown under it."""
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, output = shown.partition("\n")
                if line.startswith("karat "):
                    yield pytest.param(line, output, id=f"{page.name}: {line[:60]}")


@pytest.mark.parametrize(("line", "output"), list(commands_shown()))
def test_commands_print_what_the_page_shows(line, output, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    result = CliRunner().invoke(main, shlex.split(line)[1:])
    squeezed = [re.sub(r"\s+", " ", text).strip() for text in (result.output, output)]
    assert squeezed[0] == squeezed[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_continuous_integration_runs_the_readmes_test_command():
    readme = (ROOT / "README.md").read_text("utf-8")
    last = (ROOT / ".ci" / "run").read_text("utf-8").strip().splitlines()[-1]
    assert last in readme
