import json
import random

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models import context
from karat.models.testing.fake import FakeServer

pytest.importorskip("aiohttp")


@pytest.fixture
def examine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    context._default.cache_clear()
    rows = [{"id": n, "question": f"q{n}", "prediction": "a" * (n + 1), "gold": "a"} for n in range(20)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "labels.csv").write_text("id,label\n" + "".join(f"{n},{'in' * (n % 2)}correct\n" for n in range(20)))
    draw = random.Random(1)  # noqa: S311

    def reply(_):
        return {"explanation": "…", "label": draw.choice(["correct", "incorrect"])}

    with FakeServer(reply, price=(1.0, 2.0)) as server:

        def run(*words):
            given = ["judge-report", "answers.jsonl", "-m", "judge:correctness", "--model", "small"]
            return CliRunner().invoke(main, [*given, "--base-url", server.url, *words])

        run.server = server
        yield run


def test_the_cost_is_said_before_and_a_dry_run_asks_nothing(examine):
    dry = examine("--dry-run", "--price", "1,2")
    assert (dry.exit_code, examine.server.calls) == (0, 0)
    assert dry.stdout.startswith("140 calls, of which 0 are in the cache; about ")
    report = examine("--no-rewording", "--repetitions", "2")
    assert report.stderr.splitlines()[0].startswith("40 calls, of which 0 are in the cache")
    assert examine.server.calls == 40
    assert "models: 40 calls" in report.stderr


def test_the_report_in_lines_and_as_json(examine):
    lines = examine("--human", "labels.csv", "--on", "id", "--keep-calibration", "kept.json")
    assert lines.exit_code == 0, lines.output
    assert lines.stdout.startswith("judge:correctness(model='small'): 140 verdicts on 20 rows\n")
    for words in ("another verdict when asked again", "error by doubling of the answer", "Brier score", "calibration:"):
        assert words in lines.stdout
    assert "→ asked again, it gives another verdict with a probability of" in lines.stdout
    found = json.loads(examine("--json", "--calibration", "kept.json").stdout)["judges"][0]
    assert found["kept"]["holds"]
    assert found["flips"]["low"] < found["flips"]["value"] < found["flips"]["high"]
    assert found["first_place"]["reason"] == "the judge reads one answer, so there is no order"
    changed = examine("--calibration", "kept.json", "-m", "judge:correctness(temperature=1.0)", "--dry-run")
    assert changed.exit_code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--no-rewording", "--reword", "role"], 2, "exclude each other"),
        (["--keep-calibration", "kept.json"], 2, "--human names their labels"),
        (["--author", "autor"], 1, "author: there is no column 'autor'"),
        (["--human", "labels.csv", "--on", "id", "--label-map", "yes=1"], 1, "labels.csv, row 1 "),
        (["-m", "exact_match"], 2, "exact_match is no judge"),
    ],
)
def test_mistakes_are_found_before_anything_is_asked(examine, words, code, message):
    result = examine(*words)
    assert (result.exit_code, examine.server.calls) == (code, 0), result.output
    assert message in result.stderr
