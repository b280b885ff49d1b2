"""Scores that exist: plain files compared, planned and labelled by `column(NAME)`, as runs of our own scoring are."""

import csv
import json

import numpy as np
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner

import karat
from karat import metric
from karat.cli.main import main
from karat.core.errors import ColumnError, DataError, SpecError
from karat.models.request import Reply
from karat.models.testing.fake import FakeModel
from karat.runs.compare.rows_needed import plan_rows
from karat.runs.labels.labels import Labels
from karat.runs.sampling.labels_needed import plan_labels, plan_labels_from_pilot
from karat.testing import assert_at_least


@metric(source="this test", low=0, high=None, direction="minimize", register=False)
def extra_letters(prediction: karat.kinds.Text, reference: karat.kinds.Text) -> karat.kinds.Score:
    """How many letters too many or too few a prediction has."""
    return pc.abs(pc.subtract(pc.utf8_length(prediction), pc.utf8_length(reference)))


OWN = ["exact_match", "token_f1", extra_letters]
GIVEN = {  # the columns of their scores, as metrics of the same range and direction
    "match": "column(match, low=0, high=1)",
    "f1 by us": "column('f1 by us', low=0, high=1)",
    "letters": "column(letters, low=0, direction=minimize)",
}


def systems(n=60, seed=4):
    draw = np.random.default_rng(seed)
    gold = [" ".join(draw.choice(list("abcdef"), 3)) for _ in range(n)]
    rows = {"id": [f"q{at}" for at in range(n)], "gold": gold, "topic": list(draw.choice(["x", "y"], n))}
    for share in (0.5, 0.8):
        answers = [text if draw.random() < share else " ".join(draw.choice(list("abcdef"), 4)) for text in gold]
        yield {**rows, "prediction": [None if draw.random() < 0.05 else answer for answer in answers]}


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write_file(name, columns):
        with (tmp_path / name).open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(columns)
            lines.writerows(zip(*columns.values(), strict=True))
        return name

    return write_file


@pytest.mark.parametrize("by", [None, "topic"])
def test_given_columns_and_own_scoring_give_equal_findings(write, by):
    results = [karat.score(rows, OWN) for rows in systems()]
    own = karat.compare(*results, by=by)
    files = []
    for name, result in zip("AB", results, strict=True):
        table = result.table.select(["id", "topic", "exact_match", "token_f1", "extra_letters"])
        files.append(write(name, table.rename_columns(["id", "topic", *GIVEN]).to_pydict()))
    given = karat.compare(*files, metrics=list(GIVEN.values()), by=by, on="id")
    assert given.notes == ()  # the signatures say that the scores are given
    assert len(own.findings) == len(given.findings)
    for ours, theirs in zip(own.findings, given.findings, strict=True):
        assert ours.comparison == theirs.comparison
        assert (ours.verdict, ours.adjusted, ours.held) == (theirs.verdict, theirs.adjusted, theirs.held)
        assert (ours.sentence, ours.slice) == (theirs.sentence, theirs.slice)


def test_a_run_of_a_column_is_compared_with_a_plain_file(write, monkeypatch, tmp_path):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    first = write("first.csv", {"id": range(20), "passed": ["True", "False"] * 10})
    second = write("second.csv", {"id": range(20), "passed": ["yes"] * 20})
    karat.score(first, "column(passed)", run="first")
    for other in (second, first):
        compared = karat.compare("first", other, metrics="column(passed)")
        assert compared.findings[0].comparison.test == "mcnemar"
        assert compared.findings[0].verdict == ("better" if other == second else "unclear")


def test_less_is_better_where_the_spec_says_so(write):
    first = write("a.csv", {"id": range(20), "seconds": range(20)})
    second = write("b.csv", {"id": range(20), "seconds": range(5, 25)})
    arguments = ["compare", first, second, "--on", "id", "--fail-if-worse", "-m"]
    worse = CliRunner().invoke(main, [*arguments, "column(seconds, direction=minimize)"])
    better = CliRunner().invoke(main, [*arguments, "column(seconds)"])
    assert (worse.exit_code, better.exit_code) == (4, 0)
    assert "b.csv is worse than a.csv by 5" in worse.stderr
    assert "b.csv is better than a.csv by 5" in better.stdout
    gate = ["score", first, "-m", "column(seconds, direction=minimize)", "--fail-under", "9"]
    assert CliRunner().invoke(main, gate).exit_code == 3


def test_metrics_may_come_from_an_iterator(write):
    names = [write(f"{name}.csv", {"id": range(9), "x": range(9), "y": range(9)}) for name in "ab"]
    wanted = ["column(x)", "column(y)"]
    assert [each.metric for each in karat.compare(*names, metrics=iter(wanted[:1])).findings] == wanted[:1]
    assert list(plan_labels(names[0], 5, metrics=iter(wanted[1:]))) == wanted[1:]
    assert [each.score for each in karat.examine(names[0], iter(wanted)).judges] == wanted


def test_other_columns_are_other_metrics(write):
    results = [karat.score({"id": range(5), name: range(5)}, f"column({name!r})") for name in ("x", "a b")]
    with pytest.raises(SpecError, match="no metric was scored in all systems"):
        karat.compare(*results)


def test_a_file_without_scores_names_its_columns_of_numbers(write):
    rows = {"id": range(3), "question": "abc", "acuracy": [1, 0, 1], "time taken": [0.5, 2, 1], "note": "xyz"}
    name = write("a.csv", rows)
    shown = r'a column of numbers is a metric too: -m "column\(acuracy\)" \(or time taken\)'
    with pytest.raises(DataError, match=f"a.csv holds no scores.*{shown}"):
        karat.compare(name, name)
    with pytest.raises(DataError, match=r"""-m "column\('time taken'\)" \(or acuracy\)"""):
        karat.label_next(name, 1, metrics="time_taken")
    with pytest.raises(SpecError, match=f"a.csv: acuracy is not a metric; {shown}"):
        plan_rows(name, 0.1, metrics="acuracy")
    with pytest.raises(
        ColumnError, match=r"a.csv: no column 'accuracy' for column\(accuracy\); did you mean 'acuracy'"
    ):
        karat.compare(name, name, metrics="column(accuracy)")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("1,x", r"a.csv, row 2 \(3 with the header\), column 'g': expected a number, yes or no, found 'x'"),
        ("0,2", r"a.csv, row 2 \(3 with the header\), column 'g': expected a score from 0 to 1, found 2"),
    ],
)
def test_a_bad_cell_is_named(write, cells, message):
    name = write("a.csv", {"id": range(2), "g": cells.split(",")})
    with pytest.raises(DataError, match=message):
        karat.compare(name, name, metrics="column(g, low=0, high=1)")


def test_people_correct_label_and_plan_by_a_column(write):
    draw = np.random.default_rng(1)
    truth = draw.random(400) < 0.7
    judged = np.where(draw.random(400) < 0.9, truth, ~truth)
    name = write("judged.csv", {"id": range(400), "gpt4": judged.astype(int)})
    write("labels.csv", {"id": range(100), "label": truth[:100].astype(int)})
    human, spec = Labels("labels.csv"), "column(gpt4, low=0, high=1)"
    result = karat.score(name, spec, human=human, on="id")
    (found,) = result.corrected.values()
    assert found.low < truth.mean() < found.high
    assert found.effective > 100
    assert plan_labels_from_pilot(name, 0.1, human, metrics=spec)[next(iter(result.corrected))].pilot == 100
    assert (
        karat.label_next(name, 10, metrics=spec, human="labels.csv", by="active", show=["gpt4"]).table.num_rows == 110
    )
    assert karat.examine(name, spec, human="labels.csv", on="id").judges[0].people
    compared = karat.compare(name, name, metrics=spec, human={name: "labels.csv", f"{name} (2)": "labels.csv"}, on="id")
    assert compared.findings[0].corrected.value == 0
    with pytest.raises(AssertionError, match=r"at least 0\.99 is expected"):
        assert_at_least(0.99, name, spec)


def test_the_commands_take_a_column(write):
    name = write("judged.csv", {"id": range(40), "gpt4": [1, 0, 1, 1] * 10, "topic": list("ab") * 20})
    write("labels.csv", {"id": range(12), "label": [1, 0, 1, 0] * 3})
    spec = "column(gpt4, low=0, high=1)"
    people = ["--human", "labels.csv", "--on", "id"]
    for arguments in (
        ["score", name, "-m", spec, *people, "--json"],
        ["judge", name, "-m", spec, *people, "--json"],
        ["power", "--run", name, "-m", spec, "--width", "0.2", *people, "--json"],
        ["power", "--run", name, "-m", spec, "--difference", "0.1", "--json"],
        ["compare", name, name, "-m", spec, "--by", "topic", "--json"],
    ):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)
    done = CliRunner().invoke(main, ["label", name, "-m", spec, "--next", "5", "--show", "gpt4", "-o", "next.csv"])
    assert done.exit_code == 0, done.output


def test_paths_lead_into_objects_of_files_results_and_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    for name, worse in (("a", 0), ("b", 3)):
        rows = [{"id": n, "judge": {"score": n >= worse, "usage": [{"cost": n + worse}]}} for n in range(9)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        karat.score(tmp_path / f"{name}.jsonl", "column('judge.score')", run=name)
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    results = [karat.score(file, "column('judge.score')") for file in files]
    specs = ["column('judge.score')", "column('judge.usage[0].cost', direction=minimize)"]
    by_file, by_result, by_run = (karat.compare(*each, metrics=specs, on="id") for each in (files, results, ["a", "b"]))
    for compared in (by_file, by_result, by_run):
        assert [finding.comparison.difference for finding in compared.findings] == pytest.approx([-3 / 9, 3])
        assert compared.findings[0].comparison.test == "mcnemar"  # yes and no have a range inside objects too
        assert [finding.comparison for finding in compared.findings] == [each.comparison for each in by_run.findings]
    with pytest.raises(ColumnError, match=r"no column 'judge\.scores' for"):
        karat.compare(*files, metrics="column('judge.scores')", on="id")


@pytest.mark.usefixtures("own_replies")
def test_what_a_judge_took_stands_beside_what_it_says(tmp_path, monkeypatch):
    """Cost, latency and tokens of a judge are columns of its run."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = [{"id": n, "question": "When?", "gold": "now", "prediction": "now"} for n in range(9)]
    for name, tokens in (("a", 10), ("b", 20)):
        reply = Reply(json.dumps({"explanation": "it is", "label": "correct"}), tokens, 5)
        judge = karat.Judge("correctness", model=FakeModel(reply), governor=karat.Governor())
        karat.score(rows, ["exact_match", judge], run=name)
    spec = f"column({f'{judge.spec}.input_tokens'!r}, direction=minimize)"
    found = karat.compare("a", "b", metrics=["exact_match", spec]).findings
    assert [each.comparison.difference for each in found] == [0, 10]
    assert found[1].verdict == "worse"
