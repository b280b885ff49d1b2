"""The three grades of SimpleQA, and the figures that its script computes from them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.judges import Judge
from karat.judges.rubric import parse
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel

GRADES = st.lists(st.sampled_from(["correct", "incorrect", "not_attempted"]), min_size=1, max_size=12)


def figures(grades):
    """SimpleQA: the aggregate metrics of simpleqa_eval.py in openai/simple-evals, written anew."""
    correct, wrong = (grades.count(name) / len(grades) for name in ("correct", "incorrect"))
    attempted = correct + wrong
    given = correct / attempted if attempted > 0 else 0
    f = 2 * given * correct / (given + correct) if given + correct > 0 else 0
    return {"correct": correct, "attempted": attempted, "correct_given_attempted": given, "f": f}


def repeat(messages):
    label = json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])["prediction"]
    return {"explanation": "", "label": label}


@given(grades=GRADES)
def test_the_figures_are_those_of_simpleqa(grades):
    rows = [{"question": "?", "prediction": grade, "reference": "x"} for grade in grades]
    judge = Judge("simpleqa", model=FakeModel(repeat), governor=Governor())
    for measure, value in figures(grades).items():
        metric = judge.using(measure=measure)
        result = karat.score(rows, metric)
        assert result.values[metric.spec].value == pytest.approx(value, abs=1e-9)
        assert result.counts[metric.spec]["label"] == {name: grades.count(name) for name in dict.fromkeys(grades)}


def test_the_label_of_no_attempt_is_one_of_the_choices():
    text = 'name="x"\nsummary="y"\nsource="z"\ninputs=["prediction"]\n[prompt]\ntask="t"\n'
    text += '[reply]\nkind="label"\nchoices={ right = 1, wrong = 0 }\ndeclined="rong"'
    with pytest.raises(karat.errors.SpecError, match="did you mean 'wrong'"):
        parse(text.encode(), "x.toml")
