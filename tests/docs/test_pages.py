"""The pages are fresh where they are generated, true where they show commands, and readable as plain text."""

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 100


def load(path):
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load(ROOT / "scripts" / "docs.py")
PAGES = SCRIPT.written_pages()
WITH_COMMANDS = [page for page in PAGES if "```console" in page.read_text("utf-8")]
STALE = "run: python scripts/docs.py"


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", ["metrics.md", "names.md", "edge-cases.md", "cli.md", "json.md"])
def test_generated_pages_are_fresh(page):
    assert (ROOT / "docs" / "reference" / page).read_text("utf-8") == SCRIPT.pages()[page], STALE


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_commands_print_what_the_page_shows(page):
    text = page.read_text("utf-8")
    assert SCRIPT.run_commands(text).splitlines() == text.splitlines(), STALE


def test_console_blocks_begin_with_a_command():
    untested = [
        name(page) for page in PAGES if re.search(r"^```console\n(?!\$ )", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert untested == [], "commands that cannot run in the tests stand in ```sh blocks"


def test_another_output_replaces_the_one_shown():
    page = "```console\n$ karat --version\nkarat 0\n```\n\n```console\n$ echo a; echo b > file\n...\n$ cat file\n```\n"
    version = importlib.import_module("karat").__version__
    assert SCRIPT.run_commands(page) == page.replace("karat 0", f"karat {version}").replace(
        "cat file\n", "cat file\nb\n"
    )


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_are_short_outside_of_code_and_tables(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert [line for line in prose.splitlines() if len(line) > LONGEST and not line.startswith(("|", "    "))] == []


def test_continuous_integration_runs_the_readmes_test_command():
    readme = (ROOT / "README.md").read_text("utf-8")
    last = (ROOT / ".ci" / "run").read_text("utf-8").strip().splitlines()[-1]
    assert last in readme
