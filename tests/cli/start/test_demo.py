"""`karat demo`: the bundled example, and where its files are."""

import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.cli.start import demo as module


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, beside an empty folder for temporary files."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "mine"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_the_example_is_scored_compared_and_reported_outside_the_working_folder(folder):
    done = CliRunner().invoke(main, ["demo"])
    assert done.exit_code == 0, done.output
    (kept,) = (folder / "temporary").iterdir()
    assert f"The report is {kept / 'report.html'}" in done.stdout
    assert "<html" in (kept / "report.html").read_text("utf-8")
    assert "after is better than before by" in done.stdout
    assert done.stdout.count("95 % interval") == 4
    for line in module.COMMANDS:
        assert f"$ {line}\n" in done.stdout
    assert not list((folder / "work").iterdir())
    assert not (folder / "mine").exists()  # the user's own runs


def test_the_values_are_those_of_the_commands_that_it_shows(folder):
    shown = CliRunner().invoke(main, ["demo", "-o", "here/demo"]).stdout
    kept = folder / "work" / "here" / "demo"
    assert f"delete {kept} when" in shown
    assert sorted(path.name for path in kept.iterdir()) == ["after.jsonl", "before.jsonl", "karat-runs", "report.html"]
    again = CliRunner().invoke(main, ["score", "here/demo/before.jsonl", "-m", "em"]).stdout
    (line,) = (line for line in again.splitlines() if line.startswith("em  "))
    assert line in shown


def test_a_folder_with_files_is_left_alone(folder):
    Path("full").mkdir()
    Path("full/mine.txt").touch()
    done = CliRunner().invoke(main, ["demo", "-o", "full"])
    assert (done.exit_code, "expected a new or an empty folder" in done.stderr) == (2, True)
    assert [path.name for path in Path("full").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("words", "terminal", "desktop", "opened"),
    [([], True, True, 1), (["--no-open"], True, True, 0), ([], False, True, 0), ([], True, False, 0)],
)
def test_a_browser_opens_from_a_terminal_with_a_desktop_only(folder, monkeypatch, words, terminal, desktop, opened):
    seen = []
    monkeypatch.setattr(module.click, "launch", seen.append)
    monkeypatch.setattr(module, "has_desktop", lambda: desktop)
    monkeypatch.setattr(module, "is_terminal", lambda: terminal)
    assert CliRunner().invoke(main, ["demo", *words]).exit_code == 0
    assert len(seen) == opened
    assert all(address.startswith("file://") and address.endswith("report.html") for address in seen)


def test_the_example_is_small_and_in_the_package():
    files = sorted(module.EXAMPLE.iterdir())
    assert [file.name for file in files] == ["after.jsonl", "before.jsonl"]
    assert sum(file.stat().st_size for file in files) < 20_000
