"""Doubtful gold on the page of labels: what the page is answered, without a server."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.core.errors import SpecError
from karat.runs.gold.people import CHOICES
from karat.viewer.page.label_file import LabelFile
from karat.viewer.page.labelling import Labelling
from karat.viewer.page.query import Query
from karat.viewer.page.workspace import Workspace

ANSWERS = [{"system": "gpt", "answer": "Paris"}, {"system": "bert", "answer": "Nice"}]


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    rows = [{"id": at, "question": "?", "reference": ["Lyon"], "answers": ANSWERS} for at in (1, 2)]
    Path("doubts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    file = LabelFile(Path("patch.jsonl"), "ada", CHOICES, ("gold", "doubts.jsonl"), rows=("doubts.jsonl",), gold=True)
    return Labelling(file), Workspace(None, file)


def test_a_patch_is_made_on_the_page(page):
    labelling, space = page
    row = labelling.show(space, Query())
    assert [cell["name"] for cell in row["cells"]] == ["question", "gold", "answers"]
    assert "gpt" not in json.dumps(row)
    assert row["takes_gold"] == ["wrong", "also right"]
    assert row["command"] == "karat label -o patch.jsonl --gold doubts.jsonl --annotator ada"
    with pytest.raises(SpecError, match="places below 2"):
        labelling.mark(space, Query(at=row["at"], action="label", label="wrong", chosen=(2,)))
    asked = Query.read({"at": row["at"], "action": "label", "label": "also right", "chosen": [0], "gold": " Lutetia "})
    after = labelling.mark(space, asked)
    assert after["finished"] == 1
    (line,) = (json.loads(line) for line in Path("patch.jsonl").read_text("utf-8").splitlines())
    shown = "".join(piece for piece, _ in row["cells"][2]["values"][0]["pieces"])
    assert (line["verdict"], line["new"]) == ("also right", [shown, "Lutetia"])
    assert labelling.show(space, Query(at=row["at"]))["mark"]["new"] == (shown, "Lutetia")


def test_flags_that_do_not_belong_to_doubtful_gold(page):
    found = CliRunner().invoke(
        main, ["view", "--labels", "patch.jsonl", "--gold", "doubts.jsonl", "--label-map", "a=1,b=0"]
    )
    assert "leave --label-map out" in found.output
    assert "--gold needs --labels FILE" in CliRunner().invoke(main, ["view", "--gold", "doubts.jsonl"]).output
