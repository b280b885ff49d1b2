"""The report under options that are not those of the scoring, of many systems, and over files that are there."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.errors import DataError


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))


def section(path, name):
    """The markup of a section of a report."""
    return path.read_text("utf-8").split(f'aria-labelledby="{name}"')[1].split("</section>")[0]


def lines(path, name="values"):
    """The exact numbers of each line of a section's plots."""
    rows = (dict(re.findall(r'data-(\w+)="([^"]*)"', row)) for row in re.findall("<tr[^>]*>", section(path, name)))
    ends = ([row.get(end) for end in ("value", "low", "high")] for row in rows if "value" in row)
    return [[None if end is None else float(end) for end in each] for each in ends]


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
    metrics = ["em", "f1", "bleu", "percentile(seconds, p=90, direction=maximize)"]
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
    result = karat.score(rows, "em", run="labelled", human=people, on="id", confidence=0.9)
    path = karat.report("labelled", output=tmp_path / "r.html", confidence=0.8)
    assert len(lines(path)) == 1
    assert "name the labels again to see it here (--human)" in section(path, "values")
    path = karat.report("labelled", output=tmp_path / "r.html", human=people, on="id")
    corrected = result.corrected["exact_match"]
    assert lines(path)[1] == [corrected.value, corrected.low, corrected.high]
    assert "karat runs show labelled --on id --human LABELS" in section(path, "provenance")


def test_a_report_of_more_systems_than_letters_names_each(tmp_path):
    rows = {"id": ["a", "b", "c"], "gold": ["x"] * 3}
    results = [karat.score(rows | {"prediction": ["x", "y", "xy"[at % 2]]}, "em") for at in range(28)]
    path = karat.report(*results, output=tmp_path / "r.html")
    assert len(lines(path)) == 28
    assert len(lines(path, "differences")) == 27
    assert all(f">{name}<" in section(path, "values") for name in ("A", "Z", "AA", "AB"))


def keep(name):
    karat.score({"id": ["q0000", "q0001"], "prediction": ["Paris", "Rome"], "gold": ["Paris", "a"]}, "em", run=name)


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
    karat.score({"id": ["q0000", "q0001"], "prediction": ["a", "b"], "gold": ["a", "a"]}, "em", output=hostile)
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
