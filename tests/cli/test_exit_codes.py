"""A command that found nothing to say does not end with 0."""

import pytest
from click.testing import CliRunner

from karat.cli.main import main

ROWS = "".join(f'{{"id": "{n}", "s": null, "answer": "x"}}\n' for n in range(3))


@pytest.mark.parametrize(
    "words",
    [
        "score {rows} -m column(s)",
        "score {rows} -m column(s) --json",
        "score {rows} -m column(s) --fail-under -1",
        "compare {rows} {rows} --on id -m column(s)",
        "rank {rows} {rows} --on id -m column(s)",
        "agreement {rows} --column s --human {labels} --on id",
        "judge-report {rows} -m column(s,low=0,high=1) --human {labels} --on id --answer answer",
        "power --run kept --difference 0.1",
    ],
)
def test_nothing_was_scored(words, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows, labels = tmp_path / "rows.jsonl", tmp_path / "labels.csv"
    rows.write_text(ROWS)
    labels.write_text("id,label\n0,1\n1,0\n2,1\n")
    if "kept" in words:
        CliRunner().invoke(main, ["score", str(rows), "-m", "column(s)", "--run", "kept"])
    result = CliRunner().invoke(main, words.format(rows=rows, labels=labels).split())
    assert result.exit_code == (3 if "--fail-under" in words else 1), result.output
    assert "Traceback" not in result.output
