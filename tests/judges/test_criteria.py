"""Criteria with points give HealthBench's scores, however they are asked, and what is no criterion is not asked."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat.errors import SpecError
from karat.judges import Judge
from karat.judges.rubric import parse
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel

ITEMS = st.lists(st.tuples(st.integers(-10, 10), st.booleans()), min_size=1, max_size=6)
TABLES = st.lists(ITEMS.filter(lambda items: any(points > 0 for points, _ in items)), min_size=1, max_size=5)


def calculate_score(points, met):
    """HealthBench: `calculate_score` of healthbench_eval.py in openai/simple-evals, written anew."""
    possible = sum(each for each in points if each > 0)
    if possible == 0:
        return None
    return sum(each for each, is_met in zip(points, met, strict=True) if is_met) / possible


def material(messages):
    return json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])


def grade(messages):
    """A model that meets the criteria which say so."""
    criteria = material(messages)["criteria"]
    verdicts = ["unmet" if each["criterion"].endswith("no") else "met" for each in criteria]
    return {str(n): {"reason": "", "verdict": each} for n, each in enumerate(verdicts, 1)}


def row(items, **more):
    """A row with a criterion for each pair of points and whether it is met."""
    criteria = [
        {"criterion": f"{n}: {'yes' if met else 'no'}", "points": points} for n, (points, met) in enumerate(items)
    ]
    return {"question": "Why?", "prediction": "So.", "criteria": criteria, **more}


def judge(model=grade, **settings):
    return Judge("rubric", model=FakeModel(model), governor=Governor()).using(**settings)


@given(table=TABLES)
@pytest.mark.parametrize("calls", ["row", "criterion"])
def test_the_value_is_that_of_healthbench(calls, table):
    scores = [calculate_score(*zip(*items, strict=True)) for items in table]
    metric = judge(calls=calls)
    result = karat.score([row(items) for items in table], metric)
    assert result.values[metric.spec].value == pytest.approx(np.clip(np.mean(scores), 0, 1), abs=1e-9)
    points, possible = (np.array(result.table[f"{metric.spec}.{name}"]) for name in ("points", "possible"))
    assert points / possible == pytest.approx(scores, abs=1e-9)
    assert result.table[metric.spec].to_pylist() == pytest.approx(np.clip(scores, 0, 1), abs=1e-9)


def test_each_row_may_be_cut_before_the_mean():
    rows = [row([(5, True)]), row([(5, False), (-10, True)])]
    assert judge()(**columns(rows)).to_pylist() == [1, 0]
    for clip, value in (("mean", 0), ("row", 0.5)):
        metric = judge(clip=clip)
        assert karat.score(rows, metric).values[metric.spec].value == value


def columns(rows):
    return {name: [each[name] for each in rows] for name in rows[0]}


@pytest.mark.parametrize(
    ("items", "score"),
    [
        ([(-2, False), (-6, False)], 1.0),
        ([(-2, True), (-6, False)], 0.75),
        ([(-2, True), (-6, True)], 0.0),
        ([(0, True)], None),
        ([(0, True), (-4, True)], 0.0),
    ],
)
def test_penalties_alone(items, score):
    assert judge()(**columns([row(items)])).to_pylist() == [score]
    unscored = karat.score([row(items)], judge(only_penalties="unscored"))
    assert unscored.table["reason"].to_pylist() == ["no criterion has points above 0"]


def test_one_request_for_a_row_or_for_a_criterion():
    asked = []

    def count(messages):
        asked.append([each["number"] for each in material(messages)["criteria"]])
        return grade(messages)

    rows = [row([(1, True), (2, False), (-3, False)])]
    judge(count)(**columns(rows))
    assert asked == [[1, 2, 3]]
    judge(count, calls="criterion")(**columns(rows))
    assert asked[1:] == [[1], [1], [1]]


def test_points_and_tags_are_not_shown_and_failed_criteria_are_counted():
    def check(messages):
        assert "points" not in messages[-1]["content"]
        return grade(messages)

    metric = judge(check)
    result = karat.score([row([(5, False), (-3, True), (2, True)]), row([(5, False)])], metric)
    assert result.counts[metric.spec] == {"failed": {"0: no": 2, "1: yes": 1}, "passed": {"2: yes": 1}}
    shown = json.loads(result.table[f"{metric.spec}.statements"][0].as_py())
    assert [(each["statement"], each["points"], each["verdict"]) for each in shown] == [
        ("0: no", 5, "unmet"),
        ("1: yes", -3, "met"),
        ("2: yes", 2, "met"),
    ]


def test_criteria_of_one_tag():
    rows = [row([(5, True), (5, False)]), row([(1, True)])]
    rows[0]["criteria"][1]["tags"] = ["axis:accuracy"]
    result = karat.score(rows, judge(tag="axis:accuracy"))
    assert result.table.column(3).to_pylist() == [0, None]
    assert result.table["reason"][1].as_py() == "no criterion has the tag 'axis:accuracy'"


def test_criteria_as_text_under_another_name_and_conversations_as_questions():
    rows = [row([(5, True)], question=[{"role": "user", "content": "Why?"}])]
    rows[0]["rubrics"] = json.dumps(rows[0].pop("criteria"))
    metric = judge(lambda messages: grade(messages) if material(messages)["question"][0]["role"] == "user" else None)
    assert karat.score(rows, metric).values[metric.spec].value == 1


@pytest.mark.parametrize(
    ("criteria", "reason"),
    [
        ("[]", 'criteria: a list such as [{"criterion": "…", "points": 5}] is expected, found []'),
        ("be polite", "criteria: a list such as"),
        ('[{"points": 1}]', "criteria: item 1 has no text 'criterion'"),
        ('[{"criterion": "x", "points": 1}, "y"]', "criteria: item 2 has no text 'criterion': 'y'"),
        ('[{"criterion": "x", "points": true}]', "criteria: item 1 has no number 'points'"),
    ],
)
def test_what_is_no_list_of_criteria_is_not_asked(criteria, reason):
    asked = []
    result = karat.score([{"question": "?", "prediction": "!", "criteria": criteria}], judge(asked.append))
    assert result.table["reason"][0].as_py().startswith(reason)
    assert not asked


@pytest.mark.parametrize(
    ("numbers", "reason"), [("1", "has no key '2'"), ("123", "has the key '3'"), ("", "no key '1'")]
)
def test_a_reply_that_lacks_or_adds_a_criterion_is_refused(numbers, reason):
    metric = judge({number: {"reason": "", "verdict": "met"} for number in numbers})
    result = karat.score([row([(1, True), (2, True)])], metric)
    assert reason in result.table["reason"][0].as_py()
    assert result.table[metric.spec].to_pylist() == [None]


def test_a_random_reply_in_the_form_is_read():
    metric = Judge("rubric", model=FakeModel(), governor=Governor())
    assert karat.score([row([(1, True)] * 5)], metric).values[metric.spec].scored == 1


def test_a_criterion_without_a_verdict_leaves_the_row_unscored():
    metric = judge(lambda messages: grade(messages) if "0:" in messages[-1]["content"] else "?", calls="criterion")
    result = karat.score([row([(1, True), (2, True)])], metric)
    assert result.table["reason"][0].as_py().startswith("criterion 2: the reply is not one JSON value")
    alone = karat.score([row([(2, True)])], judge(lambda _: "?", calls="criterion"))
    assert alone.table["reason"][0].as_py().startswith("the reply is not one JSON value")


def test_a_panel_has_the_mean_and_each_vote():
    def harsh(messages):
        return {number: {**each, "verdict": "unmet"} for number, each in grade(messages).items()}

    kind, strict = FakeModel(grade, name="kind"), FakeModel(harsh, name="strict")
    metric = Judge("rubric", model=[kind, strict], governor=Governor())
    result = karat.score([row([(1, True), (3, True)])], metric)
    assert result.values[metric.spec].value == 0.5
    assert [result.table[f"{metric.spec}.{name}"][0].as_py() for name in ("kind", "strict", "agreement")] == [1, 0, 0]


def test_the_form_and_the_input_go_together():
    text = 'name="x"\nsummary="y"\nsource="z"\ninputs={inputs}\n[prompt]\ntask="t"\n[reply]\nkind="{kind}"\n'
    choices = "choices={ a = 1, b = 0 }"
    for inputs, kind, more in (('["prediction"]', "criteria", ""), ('{ criteria = "criteria" }', "label", choices)):
        content = text.replace("{inputs}", inputs).replace("{kind}", kind) + more
        with pytest.raises(
            SpecError, match="one input of the kind 'criteria' goes with replies of the kind 'criteria'"
        ):
            parse(content.encode(), "x.toml")


def test_settings_of_other_judges_are_as_they_were():
    sent = {"extra_body", "max_tokens", "reasoning_effort", "seed", "temperature"}
    assert set(Judge("correctness").settings) == {"model", "replies", "samples", *sent}
    with pytest.raises(SpecError, match="judge:correctness has no setting 'clip'"):
        Judge("correctness").using(clip="row")
