"""Three people's paths: the README's own commands for a table in a paper, a gate in CI, and a judge on a folder."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from karat.models.testing.fake import FakeServer

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "src" / "karat" / "cli" / "start" / "example"


def section(heading):
    """The commands of each block of the README below a heading."""
    text = re.search(rf"^## {heading}\n(.*?)^## ", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


START, PAPER, GATE, JUDGE = section("Your own files")


@pytest.fixture
def shell(tmp_path, karat_program):
    """Runs commands as they are written, in a folder, and returns the finished process."""
    environment = {**os.environ, "PATH": f"{karat_program.parent}:/usr/bin:/bin"}
    environment |= {"KARAT_CACHE": str(tmp_path / ".cache"), "OPENAI_API_KEY": "sk-of-the-test"}
    environment.pop("KARAT_RUNS", None)

    def run(commands, code=0):
        words = ["bash", "-e", "-c", commands]
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


def copy(path, name):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes((EXAMPLE / name).read_bytes())


def test_the_readme_begins_with_a_number_and_a_folder():
    first = re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[1]
    assert first.rstrip().endswith(".venv/bin/karat demo")


def test_a_folder_is_scored_by_what_init_writes(shell, tmp_path):
    copy(tmp_path / "results" / "ours.jsonl", "after.jsonl")
    copy(tmp_path / "results" / "theirs.jsonl", "before.jsonl")
    assert re.search(r"em +0\.9333 .*theirs\S* is worse than ours", shell(START), re.DOTALL)


def test_a_researcher_gets_a_table_for_a_paper(shell, tmp_path):
    copy(tmp_path / "ours.jsonl", "after.jsonl")
    copy(tmp_path / "theirs.jsonl", "before.jsonl")
    shell(PAPER)
    table = (tmp_path / "table.tex").read_text("utf-8")
    assert r"em & 50.8 & \textbf{93.2} & +42.4" in table


@pytest.mark.parametrize(("found", "code"), [(19, 0), (10, 3)])
def test_an_engineer_gets_a_gate(shell, tmp_path, found, code):
    rows = [
        {"question": f"{n}?", "contexts": ["c"], "answer": "yes", "gold": "yes", "relevant": ["d1"]}
        | {"retrieved": ["d1" if n < found else "d2", "d3"]}
        for n in range(20)
    ]
    (tmp_path / "rag.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert re.search(rf"recall@5 +0\.{found * 500}", shell(GATE, code))


def test_a_judge_grades_a_folder_at_a_server_on_this_machine(shell, tmp_path):
    for name in ("before.jsonl", "after.jsonl"):
        copy(tmp_path / "answers" / name, name)
    install, *commands = JUDGE.splitlines(keepends=True)
    assert install == "pip install '.[judge]'\n"
    with FakeServer({"explanation": "so", "label": "correct"}) as server:
        printed = shell("".join(commands).replace("http://localhost:8000/v1", server.url))
    assert "119 calls, of which 0 are in the cache" in printed
    assert re.search(r"judge:correctness\(model='NAME'\) +1\.0000 .* 120 +1 ", printed)
