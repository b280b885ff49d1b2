"""Several models, samples, orders or documents give one score; the votes are columns beside it."""

import json
import re

import pytest

import karat
from karat.judges import Judge
from karat.judges.replies.forms import Label, Rating, Verdict
from karat.judges.votes import Vote, combine_panel
from karat.models.testing.fake import FakeModel

ROW = {"question": ["q"], "prediction": ["p"], "reference": [["r"]]}
FORM = Label(choices={"good": 1, "fair": 0.5, "bad": 0})


def label(name, said):
    return FakeModel({"explanation": f"{name} says so", "label": said}, name=name)


def details(result):
    spec = result.metrics[0].spec
    row = result.table.to_pylist()[0]
    return {name.removeprefix(f"{spec}."): value for name, value in row.items() if name.startswith(spec)} | {
        "score": row[spec]
    }


def test_the_majority_decides_and_every_vote_is_a_column(governor):
    models = [label("a", "correct"), label("b", "incorrect"), label("c", "correct")]
    judge = Judge("correctness", model=models, governor=governor)
    assert judge.spec == "judge:correctness(model=['a', 'b', 'c'])"
    said = details(karat.score(ROW, judge))
    assert (said["score"], said["label"], said["explanation"]) == (1, "correct", "a says so")
    assert [said[name] for name in "abc"] == ["correct", "incorrect", "correct"]
    assert said["agreement"] == pytest.approx(1 / 3)  # of three pairs of judges one agrees


def test_samples_are_asked_separately_and_counted(governor):
    model = FakeModel([{"explanation": "", "label": said} for said in ("correct", "incorrect", "incorrect")])
    said = details(karat.score(ROW, Judge("correctness", model=model, samples=3, seed=5, governor=governor)))
    assert (said["score"], said["label"]) == (0, "incorrect")
    assert sorted(said[f"fake#{n}"] for n in (1, 2, 3)) == ["correct", "incorrect", "incorrect"]
    assert [request.settings["seed"] for request in model.requests] == [5, 6, 7]


def test_samples_are_kept_apart_in_the_cache():
    replies = iter([{"explanation": "", "label": said} for said in ("correct", "incorrect", "incorrect")])

    class Kept:
        endpoint, name = "http://here/v1", "m"

        async def __call__(self, *_):
            return next(replies)

    for _ in range(2):  # the second time from the cache
        said = details(karat.score(ROW, Judge("correctness", model=Kept(), samples=3)))
        assert sorted(said[f"m#{n}"] for n in (1, 2, 3)) == ["correct", "incorrect", "incorrect"]


def test_equally_frequent_labels_give_the_mean_of_their_scores():
    votes = [Vote(Verdict(1.0, "good", "g")), Vote(Verdict(0.0, "bad", "b"))]
    vote = combine_panel(votes, ["a", "b"], FORM)
    assert (vote.score, vote.verdict.label, vote.agreement) == (0.5, "tie", 0)
    level = combine_panel([*votes, *votes, Vote(Verdict(0.5, "fair", "f"))], list("abcde"), FORM)
    assert (level.score, level.verdict.label) == (0.5, "tie")


def test_numbers_are_averaged_and_agree_by_their_distance():
    form = Rating(low=0, high=10)
    votes = [Vote(Verdict(score, explanation=str(score))) for score in (0.2, 0.6, 1.0)]
    vote = combine_panel(votes, list("abc"), form)
    assert vote.score == pytest.approx(0.6)
    assert vote.verdict.explanation == "0.6"
    assert vote.agreement == pytest.approx(1 - (0.4 + 0.4 + 0.8) / 3)


def test_a_member_that_fails_is_named_and_the_majority_decides(governor):
    one = Judge("correctness", model=[label("a", "correct"), label("b", "correct"), label("c", "?")], governor=governor)
    said = details(karat.score(ROW, one))
    assert (said["score"], said["c"]) == (1, None)
    assert said["error"].startswith("c: the reply's 'label'")
    two = Judge("correctness", model=[label("d", "correct"), label("e", "?")], governor=governor)
    result = karat.score(ROW, two)
    assert details(result)["score"] is None
    assert "1 of 2 judges gave no verdict: e: " in result.table["reason"].to_pylist()[0]


def preferring(rule, name):
    def answer(messages):
        given = json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])
        return {"explanation": "e", "label": rule(given["prediction"], given["other_prediction"])}

    return FakeModel(answer, name=name)


LONGER = preferring(lambda a, b: "first" if len(a) > len(b) else "second" if len(b) > len(a) else "tie", "longer")
PAIRS = {"question": ["q"] * 3, "prediction": ["long answer", "x", "same"], "other_prediction": ["short", "yy", "also"]}


def test_pairs_are_asked_in_both_orders(governor):
    result = karat.score(PAIRS, Judge("pairwise", model=LONGER, governor=governor))
    spec = result.metrics[0].spec
    assert result.table[spec].to_pylist() == [1, 0, 0.5]
    assert result.table[f"{spec}.label"].to_pylist() == ["first", "second", "tie"]
    assert result.counts[spec]["consistent"] == {"true": 3}
    assert governor.totals.calls == 6


def test_a_judge_with_position_bias_gives_ties_which_are_counted(governor):
    model = preferring(lambda a, b: "first", "partial")
    result = karat.score(PAIRS, Judge("pairwise", model=model, governor=governor))
    spec = result.metrics[0].spec
    assert result.table[spec].to_pylist() == [0.5] * 3
    assert result.counts[spec] == {"label": {"tie": 3}, "consistent": {"false": 3}}
    assert "In the other second" in result.table[f"{spec}.explanation"].to_pylist()[0]


def test_a_pair_of_which_one_order_fails_has_no_score(governor):
    model = preferring(lambda a, b: "first" if len(a) >= len(b) else "neither", "half")
    result = karat.score(PAIRS, Judge("pairwise", model=model, governor=governor))
    assert result.table[result.metrics[0].spec].to_pylist() == [None, None, 0.5]
    assert result.values[result.metrics[0].spec].unscored == 2


def test_a_panel_is_consistent_if_all_members_are(governor):
    partial = preferring(lambda a, b: "first", "partial")
    result = karat.score(PAIRS, Judge("pairwise", model=[LONGER, partial], samples=1, governor=governor))
    spec = result.metrics[0].spec
    assert result.counts[spec]["consistent"] == {"false": 3}
    assert result.table[f"{spec}.partial"].to_pylist() == ["tie"] * 3


@pytest.mark.parametrize(
    ("members", "panel"),
    [
        ((True, True), True),
        ((True, False), False),
        ((True, None), True),
        ((None, False), False),
        ((None, None), None),
    ],
)
def test_members_that_saw_one_order_alone_say_nothing_of_consistency(members, panel):
    votes = [Vote(verdict=Verdict(1.0, "good"), consistent=each) for each in members]
    assert combine_panel(votes, ["a", "b"], FORM).consistent is panel


def test_documents_are_judged_one_by_one_and_averaged(governor):
    def answer(messages):
        return {"explanation": "e", "label": "relevant" if "Seine" in messages[-1]["content"] else "irrelevant"}

    rows = {"question": ["q", "q", "q"], "contexts": [["the Seine", "a hill", "x", "y"], ["on the Seine"], []]}
    result = karat.score(rows, Judge("document_relevance", model=FakeModel(answer), governor=governor))
    spec = result.metrics[0].spec
    assert result.table[spec].to_pylist() == [0.25, 1, None]
    labels = [each["label"] for each in json.loads(result.table[f"{spec}.statements"][0].as_py())]
    assert labels == ["relevant", "irrelevant", "irrelevant", "irrelevant"]
    assert governor.totals.calls == 5
    one = karat.score(
        {"question": ["q"], "document": ["the Seine"]}, Judge("document_relevance", model=FakeModel(answer))
    )
    assert one.table[spec].to_pylist() == [1]


def test_a_list_of_which_one_item_has_no_score_has_none(governor, tmp_path):
    file = tmp_path / "claims.toml"
    file.write_text("""
name = "claims"
summary = "The share of the claims in each context that are true."
source = "ours"
inputs = ["contexts"]
each = "contexts"
[prompt]
task = "List the claims, with true or false."
[reply]
kind = "statements"
split = "contexts"
verdicts = { true = 1, false = 0 }
uncounted = "none"
""")

    def answer(messages):
        (context,) = re.findall(r'"sentence": "(.*?)"', messages[-1]["content"])
        return {"1": [{"statement": said, "reason": "", "verdict": said} for said in context.split()]}

    judge = Judge(str(file), model=FakeModel(answer), governor=governor)
    rows = {"contexts": [["true", "true false"], ["true", ""], ["none", "true"]]}
    result = karat.score(rows, judge)
    assert result.table[judge.spec].to_pylist() == [0.75, None, None]
    assert result.table["reason"].to_pylist() == [None, *["no sentence of contexts has anything to judge"] * 2]
