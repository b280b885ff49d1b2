"""Gold that a CSV holds as a list is shown as its texts, wherever a person sees it."""

import csv
import json

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main

LISTS = {
    "repr": repr,
    "json": json.dumps,  # with \u00f6
    "json, unescaped": lambda texts: json.dumps(texts, ensure_ascii=False),
}


@pytest.fixture(params=LISTS, scope="module")
def kept(request, tmp_path_factory):
    """A folder with a run whose gold is spelled as a list in a CSV."""
    folder = tmp_path_factory.mktemp("gold")
    golds = [["Wilhelm Conrad Röntgen", "W. C. Röntgen"], ["Marie Curie"]]
    with (folder / "answers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "gold", "answer"])
        writer.writerows([f"q{n}", f"Who, {n}?", LISTS[request.param](golds[n % 2]), "Röntgen"] for n in range(4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder / "runs"))
        patch.chdir(folder)
        karat.score("answers.csv", "exact_match", run="first")
        yield folder


def texts(pieces):
    """The words of a text on the page."""
    return "".join(piece[0] for piece in pieces["pieces"])


def test_on_the_command_line_and_on_a_report(kept):
    def run(*words):
        done = CliRunner().invoke(main, list(words))
        assert done.exit_code == 0, done.output
        return done.stdout

    shown = json.loads(run("show", "first", "--first", "4", "--json"))
    assert shown["rows"][0]["references"] == ["Wilhelm Conrad Röntgen", "W. C. Röntgen"]
    shown = run("show", "first", "--first", "2")
    assert "reference   [-Wilhelm Conrad-] Röntgen\n" in shown
    assert "reference   [-Marie Curie-]\n" in shown
    run("report", "first", "-o", "first.html", "--overwrite")
    page = (kept / "first.html").read_text("utf-8")
    assert '"Wilhelm Conrad Röntgen"' in page
    assert "u00f6" not in page
    assert "['Wilhelm" not in page


def test_on_the_page_and_where_rows_are_labelled(kept, serve):
    served = serve(kept / "runs", "--labels", kept / "labels.jsonl", "--label-map", "good=1,bad=0")
    (run,) = (each["id"] for each in served.post("/api/runs")[1]["runs"])
    _, found = served.post("/api/rows", runs=run.split(","))
    assert [texts(each) for each in found["rows"][0]["reference"]] == ["Wilhelm Conrad Röntgen", "W. C. Röntgen"]
    _, row = served.post("/api/row", runs=[run], id="q1")
    assert [texts(each) for each in row["reference"]] == ["Marie Curie"]
    _, label = served.post("/api/label/next", runs=[run])
    gold = next(cell["values"] for cell in label["cells"] if cell["name"].startswith("gold"))
    assert [texts(each) for each in gold] in (["Wilhelm Conrad Röntgen", "W. C. Röntgen"], ["Marie Curie"])
