"""The report under options that are not those of the scoring, of many systems, and over files that are there."""

import base64
import json
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.errors import DataError
from karat.viewer.answers import describe_best


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))


def read(path):
    """The data of a report."""
    held = json.loads(path.read_text("utf-8").split('id="data">')[1].split("</script>")[0])
    return json.loads(zlib.decompress(base64.b64decode(held["deflated"]))) if "deflated" in held else held


def lines(path):
    """The exact numbers of each value: of all rows, corrected by people, and of slices."""
    results = [each["values"]["metrics"] for each in read(path)["of_runs"]["result"]]
    entries = (each for same in zip(*results, strict=True) for each in same)
    parts = (part for each in entries for part in (each, *each["groups"].values(), each.get("corrected")) if part)
    return [[part["value"], part["low"], part["high"]] for part in parts if part["value"] is not None]


def notes(path):
    return "; ".join(read(path)["of_runs"]["result"][0]["values"]["notes"])


@pytest.mark.parametrize("systems", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {"confidence": 0.8},
        {"cluster": "page"},
        {"cluster": "page", "confidence": 0.5, "seed": 3},
        {"human": karat.Labels("person", "good=1,bad=0")},
        {"human": karat.Labels("person", "good=1,bad=0", finite=True), "confidence": 0.9},
        {"human": karat.Labels("person", "good=1,bad=0"), "cluster": "page"},
    ],
)
def test_every_value_is_the_one_of_scoring_with_the_options_of_the_report(systems, options, tmp_path):
    n, rng = 90, np.random.default_rng(5)
    metrics = ["exact_match", "token_f1", "bleu", "percentile(seconds, p=90, direction=maximize)"]
    rows = {"id": [f"q{i:02}" for i in range(n)], "gold": ["the city of Paris"] * n}
    rows |= {"page": [f"p{i // 6}" for i in range(n)], "seconds": rng.gamma(2, 3, n)}
    rows["person"] = [None if i % 3 else ("good", "bad")[i % 2] for i in range(n)]
    tables = [rows | {"prediction": rng.choice(["Paris", "the city of Paris", "Rome"], n)} for _ in range(systems)]
    asked = {} if "human" in options else {"by": "page"} if systems == 1 else {}
    scored = [karat.score(table, metrics, run=f"run{at}", confidence=0.99) for at, table in enumerate(tables)]
    expected = [karat.score(table, metrics, **{"confidence": 0.99} | options | asked) for table in tables]
    if systems == 2:
        options = {"confidence": 0.99} | options
    named = karat.report(*(f"run{at}" for at in range(systems)), output=tmp_path / "named.html", **options, **asked)
    in_memory = karat.report(*scored, output=tmp_path / "memory.html", **options, **asked)
    shown = []
    for spec in expected[0].values:
        for result in expected:
            values = [result.values[spec], *result.groups.get(spec, {}).values()]
            people = result.corrected.get(spec)
            shown += [[each.value, each.low, each.high] for each in values]
            shown += [[people.value, people.low, people.high]] if people and people.value is not None else []
    assert lines(named) == shown
    assert lines(in_memory) == shown
    level = options.get("confidence", 0.99)
    assert f"Brackets hold {100 * level:g} % intervals" in named.read_text("utf-8")


def test_labels_of_the_scoring_are_asked_for_again_where_the_options_are_others(tmp_path):
    rows = {"id": [str(i) for i in range(40)], "prediction": ["Paris", "Rome"] * 20, "gold": ["Paris"] * 40}
    people = {"id": rows["id"][:30], "label": [1, 0, 1] * 10}
    result = karat.score(rows, "exact_match", run="labelled", human=people, on="id", confidence=0.9)
    path = karat.report("labelled", output=tmp_path / "r.html", confidence=0.8)
    assert len(lines(path)) == 1
    assert "name the labels again to see it here (--human)" in notes(path)
    path = karat.report("labelled", output=tmp_path / "r.html", human=people, on="id")
    corrected = result.corrected["exact_match"]
    assert lines(path)[1] == [corrected.value, corrected.low, corrected.high]
    assert read(path)["of_runs"]["result"][0]["command"] == "karat runs show labelled --on id --human LABELS"


def test_a_report_of_more_systems_than_letters_names_each(tmp_path):
    rows = {"id": ["a", "b", "c"], "gold": ["x"] * 3}
    results = [karat.score(rows | {"prediction": ["x", "y", "xy"[at % 2]]}, "exact_match") for at in range(28)]
    path = karat.report(*results, output=tmp_path / "r.html")
    assert len(lines(path)) == 28
    data, ranked = read(path), karat.rank(*results).as_dict()["rankings"]
    assert len(data["compare"]["compared"]["findings"]) == 27
    assert [each["systems"] for each in data["rank"]["ranked"]["rankings"]] == [each["systems"] for each in ranked]
    static = path.read_text("utf-8").split("<main")[1].split("</main>")[0]
    assert all(f">{name}<" in static for name in ("A", "Z", "AA", "AB"))
    assert describe_best(karat.rank(*results).rankings[0]) in static


def keep(name):
    karat.score(
        {"id": ["q0000", "q0001"], "prediction": ["Paris", "Rome"], "gold": ["Paris", "a"]}, "exact_match", run=name
    )


@pytest.mark.parametrize("name", ["r.pdf", "r.PNG", "r", "r.html.gz", "r.csv", "report.docx"])
def test_names_of_other_kinds_of_files_are_refused_with_what_to_type(name, tmp_path):
    keep("one")
    answer = CliRunner().invoke(main, ["report", "one", "-o", f"{tmp_path}/{name}"])
    assert answer.exit_code != 0
    assert "a report is one HTML page: -o " in answer.output
    assert not (tmp_path / name).exists()


def test_a_report_replaces_only_one_on_the_same_systems(tmp_path):
    for name in ("one", "three"):
        keep(name)
    hostile = str(tmp_path / "q'uote & <b>.parquet")
    karat.score({"id": ["q0000", "q0001"], "prediction": ["a", "b"], "gold": ["a", "a"]}, "exact_match", output=hostile)
    path, options = tmp_path / "r.html", {"on": "id", "allow_different": True}
    karat.report("one", hostile, output=path, **options)
    first = path.read_text("utf-8")
    karat.report("one", hostile, output=path, title="again", **options)
    assert path.read_text("utf-8") != first
    for others in (("one",), ("one", "three"), (hostile, "one")):
        with pytest.raises(DataError, match="a report on one and "):
            karat.report(*others, output=path)
    other = tmp_path / "other.html"
    for text in ("", "<html>somebody's page", '<meta name="karat-systems" content="{">'):
        other.write_text(text)
        answer = CliRunner().invoke(main, ["report", "one", "-o", str(other)])
        assert answer.exit_code != 0
        assert "is there already" in answer.output
        assert other.read_text() == text
    assert CliRunner().invoke(main, ["report", "one", "-o", str(other), "--overwrite"]).exit_code == 0
    assert len(lines(other)) == 1


def test_scores_are_drawn_by_no_column_that_is_left_out(tmp_path):
    rows = {"id": [f"q{at}" for at in range(12)], "cost": [0.25 * at for at in range(12)], "gold": ["x"] * 12}
    result = karat.score(rows | {"prediction": ["x", "y"] * 6}, ["em", "f1"], keep=True)

    def drawn(**options):
        path = karat.report(result, output=tmp_path / "r.html", overwrite=True, **options)
        curves = read(path)["curves"]["em"]
        return {across: len(found["systems"][0]["parts"]) for across, found in curves.items()}

    assert drawn() == {"length": 1, "cost": 10, "f1": 2}
    assert drawn(redact="cost") == {"length": 1, "f1": 2}
    assert drawn(texts=False) == {"length": 0, "f1": 2}
