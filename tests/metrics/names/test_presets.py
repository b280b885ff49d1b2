from pathlib import Path

import pytest

import karat
from karat.core.metric import registry
from karat.core.metric.registry import add_preset, all_presets, find_preset
from karat.core.metric.spec import parse, parse_all
from karat.errors import SpecError

ROWS = {"prediction": ["Paris.", ""], "reference": [["Paris", "Lyon"], [""]]}


@pytest.mark.parametrize("preset", all_presets(), ids=lambda preset: preset.name)
def test_a_preset_is_metrics_with_settings(preset):
    metrics = parse_all(f"preset:{preset.name}")
    assert [parse(spec) for spec in preset.specs] == metrics
    assert preset.summary.endswith(".")
    assert preset.source


def test_a_preset_is_named_with_and_without_its_prefix():
    for name in ("preset:squad", " preset:squad ", "squad"):
        assert list(karat.score(ROWS, name).values) == ["em", "f1"]
    assert find_preset("token_f1") is None


def test_a_metric_of_the_same_name_comes_first(monkeypatch):
    monkeypatch.setattr(registry, "_presets", dict(registry._presets))
    add_preset("math", "exact_match", summary="Not the metric.", source="here")
    assert [parse("math").name, parse("preset:math").name] == ["math_match", "exact_match"]


def test_a_wrong_name_suggests_the_nearest():
    for text in ("preset:sqad", "sqad"):
        with pytest.raises(SpecError, match=r"there is no .* 'sqad'; did you mean 'squad'"):
            parse_all(text)


def test_where_one_metric_is_expected_a_preset_of_several_is_refused():
    with pytest.raises(SpecError, match="preset:squad stands for 2 metrics, one is expected: em, f1"):
        parse("preset:squad")


def test_runs_are_compared_by_a_preset():
    a, b = karat.score(ROWS, "squad"), karat.score({**ROWS, "prediction": ["Rome", ""]}, "squad")
    compared = karat.compare(a, b, metrics="preset:squad")
    assert [finding.metric for finding in compared.findings] == list(a.values)


def test_the_page_has_a_row_for_each_preset():
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "presets.md").read_text("utf-8")
    rows = {cells[1].strip(): cells[2] for cells in (line.split("|") for line in page.splitlines()) if len(cells) == 6}
    for preset in all_presets():
        listed, count = ", ".join(f"`{spec}`" for spec in preset.specs), f"{len(preset.specs)} metrics"
        assert rows[f"`{preset.name}`"].strip() == (listed if len(preset.specs) < 10 else count)


def test_a_metric_may_be_given_beside_a_preset_that_holds_it():
    whole = parse_all("preset:trec_eval")
    assert parse_all(["preset:trec_eval", "ndcg@10"]) == whole
    assert sorted(map(str, parse_all(["ndcg@10", "preset:trec_eval"]))) == sorted(map(str, whole))
    assert parse_all(["preset:squad", "preset:squad", "f1"]) == parse_all("preset:squad")
    with pytest.raises(SpecError, match="ndcg@10 is given twice"):
        parse_all(["preset:trec_eval", "ndcg@10", "ndcg@10"])


def test_the_preset_is_named_in_the_manifest_and_beside_the_values(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows = {"prediction": ["a", "b"], "reference": ["a", "a"]}
    scored = karat.score(rows, ["rouge_l", "squad"], run="one")
    assert [each.recipe for each in scored.run.manifest.metrics] == ["", "squad", "squad"]
    assert "recipe squad: em, f1" in scored.values_table().notes
    assert parse_all("squad")[1].using(normalize="none").recipe == ""
    karat.score(rows, ["em", "f1"], run="two")
    assert karat.compare("one", "two").findings[0].comparison.difference == 0
