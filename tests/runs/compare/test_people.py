"""Differences corrected by people's labels of each system: `karat.compare(…, human=)`."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.errors import JoinError, SpecError
from karat.runs.match import alignment
from karat.runs.match.match import match
from karat.stats.corrected.estimate import corrected_difference
from karat.stats.corrected.judged import Judged
from karat.stats.paired.multiple import holm

N = 300
random = np.random.default_rng(8)
RIGHT = {"a": random.random(N) < 0.5, "b": random.random(N) < 0.7}
SEEN = {name: np.where(random.random(N) < 0.9, right, ~right) for name, right in RIGHT.items()}
AT = random.permutation(N)[:90]
MAP = {"good": 1, "bad": 0}
ROWS = {"id": [f"q{at:03}" for at in range(N)], "topic": ["xy"[at % 2] for at in range(N)], "gold": ["x"] * N}


def labels(name, at=AT):
    return [{"id": f"q{row:03}", "label": "good" if RIGHT[name][row] else "bad"} for row in at]


BOTH = [{**row, "system": name} for name in "ab" for row in labels(name)]


@pytest.fixture(autouse=True)
def _runs_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, order in (("a", np.arange(N)), ("b", random.permutation(N))):
        human = np.full(N, None, object)
        human[AT] = RIGHT[name][AT].astype(float)
        rows = {**ROWS, "prediction": np.where(SEEN[name], "x", "y"), "human": human}
        karat.score(
            {column: [cells[row] for row in order] for column, cells in rows.items()}, ["exact_match", "bleu"], run=name
        )


def judged(name, part=slice(None)):
    said = np.full(N, np.nan)
    said[AT] = RIGHT[name][AT]
    return Judged(SEEN[name][part].astype(float), said[part])


@pytest.mark.parametrize("human", [BOTH, {"a": labels("a"), "b": labels("b")}, "human"])
def test_each_difference_and_slice_is_corrected(human):
    compared = karat.compare(
        "a", "b", metrics="exact_match", human=human, label_map=None if human == "human" else MAP, by="topic"
    )
    odd = np.arange(N) % 2 == 1
    parts = {None: slice(None), "x": ~odd, "y": odd}
    for finding in compared.findings:
        part = parts[finding.slice]
        assert finding.corrected == corrected_difference(judged("a", part), judged("b", part))
    adjusted = holm([finding.corrected.p for finding in compared.findings])
    for finding, p, printed in zip(compared.findings, adjusted, compared.as_dict()["findings"], strict=True):
        assert finding.by_people.adjusted == printed["by_people"]["adjusted"] == p
        assert printed["verdict_by_people"] == ("better" if p <= 0.05 else "unclear")
        assert printed["corrected"]["p"] == finding.corrected.p
        assert " after Holm over 3; 90 labels" in finding.corrected_sentence or finding.slice
    assert "corrected by people, b is better than a by" in compared.findings[0].corrected_sentence


@pytest.mark.parametrize("human", [BOTH, "human"])
def test_differences_of_rows_that_are_read_as_they_come_are_corrected_alike(monkeypatch, human):
    shown = [5, 3, *range(6, N), 0, 4, 2, 1]  # in both runs, and not in the order of the ids
    for name in "ab":
        said = np.full(N, None, object)
        said[AT] = RIGHT[name][AT].astype(float)
        rows = {**ROWS, "prediction": np.where(SEEN[name], "x", "y"), "human": said}
        karat.score(
            {column: [cells[row] for row in shown] for column, cells in rows.items()}, "exact_match", run=f"{name}2"
        )
    named = [{**row, "system": f"{row['system']}2"} for row in BOTH] if human is BOTH else human
    options = {"human": karat.Labels(named, None if human == "human" else MAP, strata="topic"), "by": "topic"}
    held = karat.compare("a2", "b2", **options)
    monkeypatch.setattr(alignment, "_MANY", 1)
    monkeypatch.setattr(alignment, "LIMIT", 1)
    assert match(["a2", "b2"]).rows.in_step
    streamed = karat.compare("a2", "b2", **options)
    for one, other in zip(held.findings, streamed.findings, strict=True):
        assert (one.slice, one.corrected.labelled) == (other.slice, other.corrected.labelled)
        assert one.corrected.value == pytest.approx(other.corrected.value, abs=1e-12)
        assert one.corrected.low == pytest.approx(other.corrected.low, abs=1e-9)


def test_with_labels_a_system_is_worse_where_people_find_it_worse():
    words = ["compare", "--fail-if-worse", "-m", "exact_match", "--label-map", "good=1,bad=0"]
    Path("both.jsonl").write_text("\n".join(map(json.dumps, BOTH)))
    back = CliRunner().invoke(main, [*words, "b", "a", "--human", "both.jsonl"])
    assert back.exit_code == 4
    assert "exact_match: corrected by people, a is worse than b by" in back.stderr
    turned = [{**row, "label": "bad" if row["label"] == "good" else "good"} for row in BOTH]
    compared = karat.compare("a", "b", metrics="exact_match", human=turned, label_map=MAP)
    assert (compared.findings[0].verdict, compared.findings[0].verdict_by_people) == ("better", "worse")
    assert compared.worse == compared.findings


def test_a_difference_by_strata_of_exactly_these_rows():
    human = karat.Labels(BOTH, MAP, strata="topic", finite=True)
    compared = karat.compare("a", "b", metrics="exact_match", human=human)
    sides = (replace(judged(name), strata=np.arange(N) % 2) for name in "ab")
    expected, found = corrected_difference(*sides, finite=True), compared.findings[0].corrected
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert compared.notes[-2:] == human.notes
    fitted = karat.compare("a", "b", metrics="exact_match", human=karat.Labels(BOTH, MAP, threshold="fit")).findings[0]
    assert fitted.corrected.value == pytest.approx(corrected_difference(judged("a"), judged("b")).value, abs=0.02)


def test_without_labels_nothing_is_said_of_them():
    finding = karat.compare("a", "b", metrics="exact_match").findings[0]
    assert (finding.corrected, finding.corrected_sentence) == (None, None)
    assert "corrected" not in finding.as_dict()


def test_a_value_that_is_no_mean_is_not_corrected():
    corrected = {each.metric: each.corrected for each in karat.compare("a", "b", human=BOTH, label_map=MAP).findings}
    assert corrected["bleu"].reason == "its value is not the mean of its rows' scores"
    assert corrected["exact_match"].value is not None


def test_clusters_widen_the_corrected_difference_too():
    labels_alone = [
        karat.compare("a", "b", metrics="exact_match", human=BOTH, label_map=MAP, cluster=cluster).findings[0].corrected
        for cluster in (None, "gold", "topic")
    ]
    assert labels_alone[0].low is not None
    assert labels_alone[1].reason == "all 90 labels are of one cluster"
    assert labels_alone[2].low < labels_alone[0].low


@pytest.mark.parametrize(
    ("human", "error", "message"),
    [
        (labels("a"), SpecError, "of which system are these labels.*'system' with the names a and b.*--human a=FILE"),
        ({"a": labels("a")}, SpecError, "labels of b are missing"),
        ({"a": labels("a"), "bb": labels("b")}, SpecError, "labels of 'bb': there is no such system; did you mean 'b'"),
        ([*BOTH, {"id": "zz", "label": "good", "system": "b"}], JoinError, r"not in b: 'zz' \(labels, row 181\)"),
    ],
)
def test_labels_that_fit_no_system_are_refused(human, error, message):
    with pytest.raises(error, match=message):
        karat.compare("a", "b", metrics="exact_match", human=human, label_map=MAP)


def test_the_command_reads_a_file_for_each_system_or_one_for_all():
    for name in "ab":
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, labels(name))))
    Path("both.jsonl").write_text("\n".join(map(json.dumps, BOTH)))
    words = ["compare", "a", "b", "-m", "exact_match", "--label-map", "good=1,bad=0"]
    two = CliRunner().invoke(main, [*words, "--human", "a=a.jsonl", "--human", "b=b.jsonl"])
    one = CliRunner().invoke(main, [*words, "--human", "both.jsonl"])
    assert two.stdout == one.stdout
    assert "exact_match: corrected by people, b is better than a by" in one.stdout
    column = CliRunner().invoke(main, ["compare", "a", "b", "-m", "exact_match", "--human", "human"])
    assert column.stdout == one.stdout
