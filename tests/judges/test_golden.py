"""Published verdicts, replayed through judges by a scripted model, give the published figures."""

import gzip
import json
import re

import pytest

import karat
from karat.judges import Judge
from karat.models.testing.fake import FakeModel

FACTUALITY = """
name = "factuality"
summary = "How the facts of the prediction relate to the reference's, five ways."
source = "the choices and scores of OpenAI's closed-book fact evaluation"
inputs = ["question", "prediction", "reference"]

[prompt]
task = "Compare the facts."

[reply]
kind = "label"
choices = { subset = 0.4, superset = 0.6, same = 1, disagree = 0, immaterial = 1 }
"""

SHARE = """
name = "share"
summary = "Which share of the context the question needs."
source = "a number judge"
inputs = ["question", "contexts"]

[prompt]
task = "Give the share."

[reply]
kind = "number"
low = 0
high = 1
whole = false
explanation = false
"""


@pytest.fixture
def rows(real_data):
    def read(folder, name):
        with gzip.open(real_data(folder) / f"{name}.json.gz", "rt", encoding="utf-8") as file:
            return json.load(file)

    return read


def spell(value):
    """A response as text; a few are the JSON values true and false."""
    return value if isinstance(value, str) else json.dumps(value)


def material(messages):
    return json.loads(messages[-1]["content"].partition("\n")[2].rpartition("\n")[0])


def scores(result):
    return result.table[result.metrics[0].spec].to_pylist()


def test_factuality_has_five_choices_and_their_scores(rows, tmp_path, governor):
    cases = rows("judge_golden_autoevals", "coqa-factuality")
    (tmp_path / "factuality.toml").write_text(FACTUALITY)

    def compare(messages):
        given = material(messages)
        said, gold = given["prediction"], given["reference"][0]
        label = "same" if said == gold else "superset" if gold in said else "disagree"
        return {"explanation": "compared", "label": label}

    judge = Judge(str(tmp_path / "factuality.toml"), model=FakeModel(compare), governor=governor)
    result = karat.score([{"question": case["input"]["input"], **case["input"]} for case in cases], judge,
                         map={"question": "question", "prediction": "output", "reference": "expected"})  # fmt: skip
    assert scores(result) == [case["expected"] for case in cases]
    assert result.counts[judge.spec]["label"] == {"same": 20, "disagree": 20, "superset": 20}


def test_closed_questions_are_right_or_wrong(rows, governor):
    cases = rows("judge_golden_autoevals", "coqa-closed-qa")
    truth = {(case["input"]["input"], case["input"]["output"]): case["expected"] for case in cases}

    def decide(messages):
        given = material(messages)
        right = truth[given["question"], given["prediction"]]
        return {"explanation": "looked up", "label": "correct" if right else "incorrect"}

    table = [
        {
            "question": case["input"]["input"],
            "prediction": case["input"]["output"],
            "reference": [case["input"]["criteria"]],
        }
        for case in cases
    ]
    result = karat.score(table, Judge("correctness", model=FakeModel(decide), governor=governor))
    assert scores(result) == [case["expected"] for case in cases]


def test_relevance_of_contexts_as_statements_and_as_a_number(rows, tmp_path, governor):
    cases = rows("judge_golden_autoevals", "coqa-context-relevancy")
    table = [
        {"question": f"[{n}] {case['input']['input']}", "contexts": [case["input"]["context"]]}
        for n, case in enumerate(cases)
    ]
    truth = {row["question"]: case["expected"] for row, case in zip(table, cases, strict=True)}

    def say(messages):
        given = material(messages)
        share = truth[given["question"]]
        verdicts = {1: ["relevant"], 0: ["irrelevant"]}.get(share, ["relevant", "irrelevant"])
        listed = [{"statement": "s", "reason": "looked up", "verdict": verdict} for verdict in verdicts]
        return {str(each["number"]): listed for each in given["contexts"][0]}

    result = karat.score(table, Judge("context_relevance", model=FakeModel(say), governor=governor))
    expected = [case["expected"] for case in cases]
    assert scores(result) == [each if each in (0, 1) else 0.5 for each in expected]

    (tmp_path / "share.toml").write_text(SHARE)
    number = FakeModel(lambda messages: {"score": truth[material(messages)["question"]]})
    judge = Judge(str(tmp_path / "share.toml"), model=number, governor=governor)
    assert scores(karat.score(table, judge)) == expected


@pytest.fixture
def pandalm(rows, expected):
    human = rows("judge_pairwise_pandalm", "testset-v1")
    votes = [[row[f"annotator{n}"] for n in (1, 2, 3)] for row in human]
    majority = [str(max(set(each), key=each.count)) for each in votes]
    return human, majority, expected("judge_pairwise_pandalm")


LABELS = {"gpt-3.5-turbo": {"Tie": "0", "1": "1", "2": "2"}, "pandalm-7b": {"0": "0", "1": "1", "2": "2"}}


@pytest.mark.parametrize("name", LABELS)
def test_verdict_files_are_scored_and_garbage_is_a_failure(name, rows, pandalm):
    _, majority, figures = pandalm
    field = {"gpt-3.5-turbo": "gpt_result", "pandalm-7b": "pandalm_result"}[name]
    said = [str(row[field]) for row in rows("judge_pairwise_pandalm", f"{name}-testset-v1")]
    counts = figures[name]["labels"]
    table = {"prediction": [LABELS[name].get(each) for each in said], "reference": majority}
    value = karat.score(table, "label_accuracy").values["label_accuracy"]
    assert (value.n, value.unscored) == (999, counts.get("-1", 0))
    assert value.worst == pytest.approx(figures[name]["accuracy"], abs=1e-12)  # published with garbage as wrong
    macro = "label_f(average='macro', labels=['0', '1', '2'])"
    table["prediction"] = [LABELS[name].get(each, "garbage") for each in said]  # a miss of the class that was due
    assert karat.score(table, macro).values[macro].value == pytest.approx(figures[name]["f1_macro"], abs=1e-12)


def test_a_judge_that_replays_the_verdicts_gives_the_same_figures(rows, pandalm, governor):
    human, majority, figures = pandalm
    said = [row["gpt_result"] for row in rows("judge_pairwise_pandalm", "gpt-3.5-turbo-testset-v1")]

    def replay(messages):
        given = material(messages)
        row = int(re.match(r"\[(\d+)\]", given["question"])[1])
        verdict = {"1": "first", "2": "second", "Tie": "tie"}.get(said[row])
        if verdict is None:
            return "Response 1 and Response 2 are both garbage."
        if given["prediction"] != spell(human[row]["response1"]) and verdict != "tie":
            verdict = {"first": "second", "second": "first"}[verdict]
        return {"explanation": "as recorded", "label": verdict}

    table = [
        {"question": f"[{n}] {row['instruction']}\n{row['input']}", "prediction": row["response1"],
         "other_prediction": row["response2"]}
        for n, row in enumerate(human)
    ]  # fmt: skip
    result = karat.score(table, Judge("pairwise", model=FakeModel(replay), governor=governor))
    spec = result.metrics[0].spec
    assert result.counts[spec] == {"label": {"first": 460, "second": 476, "tie": 38}, "consistent": {"true": 974}}
    value = result.values[spec]
    assert (value.n, value.scored, value.unscored) == (999, 974, 25)
    assert value.value == pytest.approx((460 + 38 / 2) / 974)
    labels = [
        {"first": "1", "second": "2", "tie": "0"}.get(label) for label in result.table[f"{spec}.label"].to_pylist()
    ]
    accuracy = karat.score({"prediction": labels, "reference": majority}, "accuracy").values["label_accuracy"]
    assert accuracy.worst == pytest.approx(figures["gpt-3.5-turbo"]["accuracy"], abs=1e-12)


def test_examples_of_haystacks_documentation_give_its_scores(governor):
    python = (
        "Python, created by Guido van Rossum in the late 1980s, is a high-level general-purpose programming language. "
        "Its design philosophy emphasizes code readability, and its language constructs aim to help programmers write "
        "clear, logical code for both small and large-scale software projects."
    )
    row = {
        "question": "Who created the Python language?",
        "contexts": [python],
        "predicted_answer": "Python is a high-level general-purpose programming language that was created by "
        "George Lucas.",
    }
    statements = [
        ("Python is a high-level general-purpose programming language.", "supported"),
        ("Python was created by George Lucas.", "unsupported"),
    ]
    said = {"1": [{"statement": s, "reason": "r", "verdict": v} for s, v in statements]}
    judge = Judge("faithfulness", model=FakeModel(said), governor=governor)
    assert scores(karat.score([row], judge)) == [0.5]
    relevant = lambda messages: {  # noqa: E731
        str(each["number"]): [{"statement": each["sentence"], "reason": "r", "verdict": "relevant"}]
        for each in material(messages)["contexts"][0]
    }
    judge = Judge("context_relevance", model=FakeModel(relevant), governor=governor)
    assert scores(karat.score([row], judge)) == [1.0]
