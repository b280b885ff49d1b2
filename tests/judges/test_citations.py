"""Citations give TREC's weighted precision and recall of support; what cannot support is not asked about."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.judges import Judge
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel

GRADES = {"full_support": 1.0, "partial_support": 0.5, "no_support": 0.0}
CONTEXTS = [f"Passage with {grade}." for grade in GRADES] + [" "]
CITED = st.lists(st.integers(1, 6), max_size=3)


def grade(messages):
    """A model that gives the grade that the passage names."""
    shown = json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])
    assert shown.keys() == {"sentence", "passage"}
    assert "[" not in shown["sentence"]
    return {"1": {"reason": "", "verdict": shown["passage"].split()[-1].rstrip(".")}}


def judge(**options):
    return Judge("citations", model=FakeModel(grade), governor=Governor()).using(**options)


def worth(number):
    return list(GRADES.values())[number - 1] if number <= 3 else 0.0


@given(answers=st.lists(CITED, min_size=1, max_size=4), most=st.sampled_from([1, 2, None]), after=st.booleans())
@settings(max_examples=25)
def test_precision_and_recall_are_the_weighted_ones_of_trec(answers, most, after):
    marks = ["".join(f"[{number}]" for number in cited) for cited in answers]
    text = " ".join(f"Fact {n} holds.{each}" if after else f"Fact {n} holds {each}." for n, each in enumerate(marks))
    cited = [numbers[:most] for numbers in answers]
    pairs = [worth(number) for numbers in cited for number in numbers]
    precision = sum(pairs) / len(pairs) if pairs else 0.0
    recall = sum(max(map(worth, numbers), default=0.0) for numbers in cited) / len(cited)
    metrics = [judge(measure=measure, at_most_citations=most) for measure in ("precision", "recall")]
    result = karat.score([{"prediction": text, "contexts": CONTEXTS}], metrics)
    assert [result.table[each.spec][0].as_py() for each in metrics] == pytest.approx([precision, recall], abs=1e-12)


def test_what_cites_nothing_or_no_context_is_not_asked_about():
    metric = judge(at_most_citations=None)
    rows = [{"prediction": "It rains. It pours [9]. It snows [1, 2].", "contexts": CONTEXTS}]
    rows += [{"prediction": "…", "contexts": CONTEXTS}]
    table = karat.score(rows, metric).table
    assert table[metric.spec].to_pylist() == [pytest.approx(1 / 3), None]
    assert table["reason"][1].as_py() == "prediction has no sentence"
    assert len(metric.definition.function.models["fake"].requests) == 2
    assert table[f"{metric.spec}.failed"][0].as_py() == ["It rains.", "It pours."]
    reasons = [each["reason"] for each in json.loads(table[f"{metric.spec}.statements"][0].as_py())]
    assert reasons == ["it cites nothing", "there is no context 9", "", ""]
