"""`karat.gold` of two systems says what the doubtful rows change."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

ROWS = 60


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = ["the same"] * 8 + [f"x{at}" for at in range(8)]
    for name, answers in (("a", [*wrong, *["g"] * 44]), ("b", [*wrong[:8], *["g"] * 52])):
        karat.score({"id": range(ROWS), "prediction": answers, "gold": ["g"] * ROWS}, "em", run=name)
    return "a", "b"


def test_the_command_says_what_they_change(runs):
    found = karat.gold(*runs)
    compared = karat.compare(*runs).findings[0]
    scored = found.consequence.outcomes[0]
    assert (scored.rows, scored.verdict, scored.p) == ("as scored", compared.verdict, compared.comparison.p)
    assert found.consequence.doubtful == (found.reported or len(found.rows))
    printed = CliRunner().invoke(main, ["gold", *runs, "-o", "doubts.md", "-o", "doubts.csv"])
    assert printed.exit_code == 0, printed.output
    assert found.consequence.sentence in " ".join(printed.output.split())
    assert "| 0 | no | g |" in Path("doubts.md").read_text("utf-8")
    patch = [{"id": 0, "old": "g", "new": "the same", "verdict": "wrong"}]
    assert karat.gold(*runs, gold_patch=patch).consequence.outcomes[2].rows == "patched by list"
    assert karat.gold(*runs, gold_patch=patch).reported == 1
