"""Nuggets give nuggetizer's figures, however they are asked; what is no list of nuggets is not asked."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.core.metric.spec import parse_all
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel

calculate_nugget_scores = pytest.importorskip("nuggetizer.core.metrics").calculate_nugget_scores

LABELS = ["support", "partial_support", "not_support"]
NUGGETS = st.lists(st.tuples(st.sampled_from(["vital", "okay", "failed"]), st.sampled_from(LABELS)), max_size=12)


def figures(nuggets):
    """The figures of nuggetizer, and those of ir_axioms' `TrecRagNuggetAxiom` with `weighted`, written anew."""
    listed = [{"importance": importance, "assignment": label} for importance, label in nuggets]
    own = vars(calculate_nugget_scores("", listed))
    scores = {name: own[f"{name}_score"] for name in ("strict_vital", "vital", "strict_all", "all")}
    weights = [1 if importance == "vital" else 0.5 for importance, _ in nuggets]
    for name, partial in (("strict_weighted", 0), ("weighted", 0.5)):
        worth = {"support": 1, "partial_support": partial, "not_support": 0}
        earned = [weight * worth[label] for weight, (_, label) in zip(weights, nuggets, strict=True)]
        scores[name] = sum(earned) / sum(weights) if weights else 0.0
    return scores


def assign(messages):
    """A model that gives each nugget the label with which its text ends."""
    nuggets = json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])["nuggets"]
    return {str(each["number"]): {"reason": "", "verdict": each["nugget"].split()[-1]} for each in nuggets}


def row(nuggets):
    listed = [{"text": f"{n} {label}", "importance": importance} for n, (importance, label) in enumerate(nuggets)]
    return {"question": "Why?", "prediction": "So.", "nuggets": listed}


def judge(model=assign, **settings):
    return Judge("nuggets", model=FakeModel(model), governor=Governor()).using(**settings)


@given(table=st.lists(NUGGETS, min_size=1, max_size=3), calls=st.sampled_from(["row", "ten", "nugget"]))
@settings(max_examples=10)
def test_the_figures_are_those_of_nuggetizer(table, calls):
    metrics = [judge(measure=measure, calls=calls, empty="zero") for measure in figures([])]
    result = karat.score([row(nuggets) for nuggets in table], metrics)
    for measure, metric in zip(figures([]), metrics, strict=True):
        scores = [figures(nuggets)[measure] for nuggets in table]
        assert result.table[metric.spec].to_pylist() == pytest.approx(scores, abs=1e-12)


def test_a_row_without_a_nugget_that_counts_is_unscored_and_not_asked():
    rows = [row([]), row([("okay", "support")]), row([("vital", "support"), ("okay", "partial_support")])]
    result = karat.score(rows, metric := judge(measure="vital"))
    assert result.table[metric.spec].to_pylist() == [None, None, 1.0]
    assert result.table["reason"].to_pylist()[:2] == ["the row has no nugget that counts (measure='vital')"] * 2
    assert len(metric.definition.function.models["fake"].requests) == 1


def test_ten_nuggets_are_asked_at_once_and_all_are_shown_beside_the_score():
    nuggets = [("vital", "support")] * 11 + [("okay", "partial_support")]
    metric = judge(calls="ten", measure="all")
    table = karat.score([row(nuggets)], metric).table
    assert len(metric.definition.function.models["fake"].requests) == 2
    assert table[metric.spec][0].as_py() == pytest.approx(11.5 / 12)
    assert table[f"{metric.spec}.failed"][0].as_py() == ["11 partial_support"]
    assert len(table[f"{metric.spec}.passed"][0]) == 11


@pytest.mark.parametrize(
    ("nuggets", "reason"),
    [
        ("none", "nuggets: a list such as"),
        ([{"importance": "vital"}], "item 1 has no text 'text'"),
        ([{"text": "a"}], "item 1 has importance None; vital or okay is expected"),
        ([{"text": "a", "importance": "Vital"}], "item 1 has importance 'Vital'"),
    ],
)
def test_what_is_no_list_of_nuggets_is_not_asked(nuggets, reason):
    rows = [{"question": "q", "prediction": "p", "nuggets": nuggets}]
    assert reason in karat.score(rows, judge()).table["reason"][0].as_py()


def test_the_preset_is_nuggetizers_file_of_metrics():
    measures = [(metric.settings["measure"], metric.settings["empty"]) for metric in parse_all("preset:nuggetizer")]
    assert measures == [(each, "zero") for each in ("strict_vital", "strict_all", "vital", "all")]
