"""Metrics of confidences in files, runs, tasks and comparisons, and what they refuse."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.errors import RowError, SpecError
from karat.core.metric.spec import parse
from karat.metrics.confidence.calibration import _bin_of
from karat.runs.scoring.pipeline import score
from karat.stats.ordered.curve_rows import DISTINCT

ALL = [
    "brier(exact_match)",
    "log_loss(exact_match)",
    "brier_term(exact_match)",
    "ece(exact_match)",
    "ece(exact_match, binning=mass)",
    "auroc(exact_match)",
    "auprc(exact_match)",
    "aurc(exact_match)",
    "accuracy_at_coverage(exact_match)",
]
CURVES = [spec for spec in ALL if spec.startswith(("au", "acc")) or "mass" in spec]


def table(n=400, seed=0, sharp=1.0):
    random = np.random.default_rng(seed)
    confidence = random.beta(2, 1, n).round(3)
    chance = np.random.default_rng(seed + 1).random(n)
    right = chance < 0.5 + sharp * (confidence - 0.5)
    return {
        "id": [f"q{at}" for at in range(n)],
        "prediction": np.where(right, "yes", "no").tolist(),
        "reference": ["yes"] * n,
        "confidence": confidence.tolist(),
        "topic": ["x", "y"] * (n // 2),
    }


def test_values_have_intervals_and_groups():
    result = karat.score(table(), ALL, by="topic")
    for spec, value in result.values.items():
        assert value.low < value.value < value.high, spec
        assert result.groups[spec]["x"].scored == 200


def test_tasks_and_runs_give_the_same_bits_and_do_not_differ(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = table(n=17_000)
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet", row_group_size=4_000)
    specs = ["brier_term(exact_match)", "ece(exact_match)", "ece(exact_match, binning=mass)", "auroc(exact_match)"]
    one = score(rows, specs, by="topic", run="one")
    parts = score(tmp_path / "rows.parquet", specs, by="topic", run="parts", engine="threads")
    assert one.values == parts.values
    assert one.groups == parts.groups
    for finding in karat.compare("one", "parts").findings:
        assert (finding.comparison.difference, finding.comparison.p) == (0, 1)
        assert finding.comparison.a == pytest.approx(one.values[finding.metric].value, abs=1e-12)


def test_files_and_runs_are_compared_with_slices(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name, sharp in (("a", 0.2), ("b", 1.0)):
        rows = table(sharp=sharp)
        lines = (json.dumps(dict(zip(rows, each, strict=True))) for each in zip(*rows.values(), strict=True))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
        karat.score(rows, ALL, run=name)
    compared = karat.compare("a", "b", by="topic")
    assert len(compared.findings) == 3 * len(ALL)
    whole = {each.metric: each for each in compared.findings if each.slice is None}
    for spec in ("auroc", "aurc", "ece", "brier"):
        assert whole[spec].verdict == "better", spec
        comparison = whole[spec].comparison
        assert comparison.low <= comparison.difference <= comparison.high
    assert whole["auroc"].comparison.test == "student"


def test_curves_are_ranked_and_clusters_leave_their_values_without_an_interval(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    result = karat.score(table(), ALL, cluster="topic")
    for spec in (each for each in ALL if each != "log_loss(exact_match)"):  # it has no interval of two clusters
        value = result.values[parse(spec).spec]
        assert value.value is not None
        assert (value.low is None) == (spec in CURVES)
    for name in "ab":
        karat.score(table(), "auroc(exact_match)", run=name)
    (ranking,) = karat.rank("a", "b").rankings
    assert [each.rank for each in ranking.systems] == [1, 1]
    assert [(each.difference, each.p) for each in ranking.pairs] == [(0, 1)]


def test_more_confidences_than_are_told_apart_are_rounded():
    random = np.random.default_rng(0)
    confidence = random.random(2 * DISTINCT)
    rows = {"confidence": confidence, "right": (random.random(2 * DISTINCT) < confidence) * 1.0}
    rounded = rows | {"confidence": np.rint(confidence * DISTINCT) / DISTINCT}
    spec = "auroc(column(right))"
    values = [karat.score(each, spec, keep=False).values[spec].value for each in (rows, rounded)]
    assert values[0] == values[1]


@pytest.mark.parametrize("spec", ALL)
def test_a_confidence_out_of_its_range_is_an_error_with_its_place(spec, tmp_path):
    rows = [{"prediction": "a", "reference": "a", "confidence": each} for each in (0.5, 87)]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(RowError, match=r"rows\.jsonl.*2.*'confidence'.*from 0 to 1, found 87.*scale='percent'"):
        karat.score(path, spec)


def test_scales():
    rows = {"right": [1, 0, 1], "confidence": [0.9, 0.2, 1.0]}
    wanted = karat.score(rows, "brier(column(right))").values["brier(column(right))"].value
    for scale, numbers in (("percent", [90, 20, 100]), ("log", np.log([0.9, 0.2, 1.0]))):
        spec = f"brier(column(right), scale='{scale}')"
        assert karat.score(rows | {"confidence": numbers}, spec).values[spec].value == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["confidence", "probability", "Prob", "confidence_score"])
def test_columns_of_other_names_are_found(name):
    rows = {"right": [1, 0], name: [0.9, 0.2], "answer": ["x", "y"], "label": ["x", "z"]}
    spec = "brier(exact_match)"
    assert karat.score(rows, spec).values["brier"].value == pytest.approx(0.025)


def test_rows_without_a_score_or_a_confidence_say_why():
    rows = {"prediction": ["a", "a", None, "b"], "reference": ["a", "a", "a", "a"], "confidence": [0.9, None, 0.1, 0.2]}
    result = karat.score(rows, ["auroc(exact_match)", "ece(f1)"])
    for value in result.values.values():
        assert (value.scored, value.unscored) == (2, 2)
    graded = karat.score({"score": [0.5, 1, 0], "confidence": [0.5, 0.9, 0.1]}, "auroc(column(score))")
    assert (graded.values["auroc(column(score))"].scored, graded.values["auroc(column(score))"].value) == (2, 1.0)
    at_half = "auroc(column(score), threshold=0.5)"
    assert karat.score({"score": [0.5, 1, 0], "confidence": [0.5, 0.9, 0.1]}, at_half).values[at_half].scored == 3


@pytest.mark.parametrize("spec", ["auroc(exact_match)", "auprc(exact_match)"])
def test_a_value_that_is_undefined_is_none(spec):
    rows = {"prediction": ["b", "b"], "reference": ["a", "a"], "confidence": [0.5, 0.6]}
    value = next(iter(karat.score(rows, spec).values.values()))
    assert (value.value, value.low, value.scored) == (None, None, 2)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("brier(wer)", "scores from 0.0 to None; a metric with scores from 0 to 1"),
        ("accuracy_at_coverage(exact_match, c=0)", "above 0, up to 1"),
        ("ece(exact_match, bins=0)", "from 1 to 1000"),
        ("ece(exact_match, binning=equal)", "not one of its values"),
        ("log_loss(exact_match, clip=0)", "above 0, up to 0.5"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec, message):
    with pytest.raises(SpecError, match=message):
        parse(spec)


def test_scores_of_a_column_that_are_not_shares_are_refused_with_a_reason():
    result = karat.score({"right": [3.0, 1.0], "confidence": [0.5, 0.5]}, "brier(column(right))")
    assert result.values["brier(column(right))"].scored == 1
    assert "not from 0 to 1" in str(result.reasons)


def test_a_run_of_curves_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    karat.score(table(), ALL, run="kept")
    page = CliRunner().invoke(main, ["report", "kept", "--by", "topic", "-o", str(tmp_path / "page.html")])
    assert page.exit_code == 0, page.output
    assert "auroc" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 15, 49, 100, 333, 1000])
def test_bins_are_those_between_the_edges(bins):
    edges = np.linspace(0, 1, bins + 1)
    near = [np.nextafter(edges, -1), edges, np.nextafter(edges, 2), np.arange(bins + 1) / bins]
    sure = np.clip(np.concatenate([*near, np.random.default_rng(0).random(500), [0.0, 5e-324, 1.0]]), 0, 1)
    assert _bin_of(sure, bins).tolist() == np.searchsorted(edges[1:-1], sure).tolist()
    assert set(_bin_of(np.array([np.nan, -np.inf, -1.0, 2.0, np.inf]), bins)) <= {0, bins - 1}
