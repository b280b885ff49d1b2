from __future__ import annotations

import pytest

from karat.core.errors import ColumnError
from karat.data.roles import ALIASES, UnmappedRoleError, map_columns

PAIR = ["prediction", "reference"]


@pytest.mark.parametrize(
    ("columns", "prediction", "reference"),
    [
        (["prediction", "reference"], "prediction", "reference"),
        (["predictions", "references"], "predictions", "references"),
        (["prediction", "answer"], "prediction", "answer"),
        (["question", "answer", "ground_truth"], "answer", "ground_truth"),
        (["user_input", "response", "reference", "retrieved_contexts"], "response", "reference"),
        (["input", "actual_output", "expected_output"], "actual_output", "expected_output"),
        (["input", "output", "expected"], "output", "expected"),
        (["input", "output", "target"], "output", "target"),
        (["questions", "predicted_answers", "ground_truth_answers"], "predicted_answers", "ground_truth_answers"),
        (["generated_cot", "golden_answer"], "generated_cot", "golden_answer"),
        (["inputs", "outputs", "reference_outputs"], "outputs", "reference_outputs"),
        (["preds", "target"], "preds", "target"),
        (["Question", "Gold answers", "Model answer"], "Model answer", "Gold answers"),
        (["question", "model_answer", "golden_label"], "model_answer", "golden_label"),
    ],
)
def test_the_columns_of_other_tools_are_known(columns, prediction, reference):
    assert map_columns(columns, PAIR) == {"prediction": prediction, "reference": reference}


@pytest.mark.parametrize(
    ("columns", "calls", "expected"),
    [
        (["tool_calls", "reference_tool_calls"], "tool_calls", "reference_tool_calls"),
        (["tool_calls", "expected_tool_calls"], "tool_calls", "expected_tool_calls"),
        (["input", "tools_called", "expected_tools"], "tools_called", "expected_tools"),
        (["messages", "reference_tool_calls", "question"], "messages", "reference_tool_calls"),
        (["messages", "tool_calls", "possible_answer"], "tool_calls", "possible_answer"),
        (["trajectory", "reference_trajectory"], "trajectory", "reference_trajectory"),
    ],
)
def test_columns_of_tool_calls_are_known(columns, calls, expected):
    roles = ["tool_calls", "reference_tool_calls"]
    assert map_columns(columns, roles) == dict(zip(roles, (calls, expected), strict=True))


def test_names_of_conversations_are_none_of_answers():
    answers = {name for role in (*PAIR, "question", "contexts", "retrieved", "relevant") for name in ALIASES[role]}
    assert answers.isdisjoint(ALIASES["messages"] + ALIASES["tool_calls"] + ALIASES["reference_messages"])
    assert answers.isdisjoint(ALIASES["reference_tool_calls"] + ALIASES["tools"])


@pytest.mark.parametrize("columns", [["prediction", "gold", "answer"], ["answer", "response", "gold"]])
def test_two_ways_are_an_error_naming_both_and_the_flag(columns):
    with pytest.raises(ColumnError, match=r"x\.jsonl: answer and \w+ fit .*--map \w+=\w+ \(in Python, map=\{"):
        map_columns(columns, PAIR, where="x.jsonl")


def test_one_column_cannot_be_two_roles():
    with pytest.raises(ColumnError, match="need a column each, but only answer fits"):
        map_columns(["question", "answer"], PAIR)


def test_a_role_without_a_column_suggests_the_nearest():
    with pytest.raises(ColumnError, match=r"did you mean 'refrence'\?.*--map reference=refrence"):
        map_columns(["prediction", "refrence"], PAIR)


def test_what_is_given_decides():
    assert map_columns(["prediction", "gold", "answer"], PAIR, {"reference": "answer"})["reference"] == "answer"
    assert map_columns(["a", "b"], PAIR, {"reference": "a", "prediction": "b"}) == {"prediction": "b", "reference": "a"}


def test_a_given_column_that_is_not_there_suggests_the_nearest():
    with pytest.raises(ColumnError, match="did you mean 'answer'"):
        map_columns(["prediction", "answer"], PAIR, {"reference": "anwser"})


def test_other_roles_map_to_their_own_name():
    assert map_columns(["title", "context", "prompt"], ["title", "contexts", "question"]) == {
        "title": "title",
        "contexts": "context",
        "question": "prompt",
    }


def test_after_a_join_each_side_gives_its_own_role():
    sides = {"id": "reference", "answer_gold": "reference", "answer": "prediction", "question": "reference"}
    assert map_columns(list(sides), PAIR, {"reference": "answer_gold"}, sides=sides)["prediction"] == "answer"
    sides = {"id": "reference", "gold": "reference", "answer": "prediction", "expected": "prediction"}
    assert map_columns(list(sides), PAIR, sides=sides) == {"prediction": "answer", "reference": "gold"}


RANKED = ["retrieved", "relevant"]


@pytest.mark.parametrize(
    ("columns", "retrieved", "relevant"),
    [
        (["query_id", "retrieved", "retrieved_scores", "relevant"], "retrieved", "relevant"),
        (
            ["question", "retrieved_documents", "ground_truth_documents"],
            "retrieved_documents",
            "ground_truth_documents",
        ),
        (["gold_docs", "retrieved_docs"], "retrieved_docs", "gold_docs"),
        (["retrieved_chunks", "gold_docs", "answer"], "retrieved_chunks", "gold_docs"),
        (["retrieved_context_ids", "reference_context_ids"], "retrieved_context_ids", "reference_context_ids"),
        (["qid", "results", "qrels"], "results", "qrels"),
        (["Ranking", "Relevant Docs"], "Ranking", "Relevant Docs"),
        (["retrieved_ids", "gold_ids"], "retrieved_ids", "gold_ids"),
    ],
)
def test_the_columns_of_retrieval_in_other_tools_are_known(columns, retrieved, relevant):
    assert map_columns(columns, RANKED) == {"retrieved": retrieved, "relevant": relevant}


def test_retrieval_takes_no_column_from_text():
    columns = ["question", "answer", "ground_truth", "contexts", "retrieved_documents", "relevant_docs"]
    assert map_columns(columns, ["prediction", "reference", "contexts", *RANKED]) == {
        "prediction": "answer",
        "reference": "ground_truth",
        "contexts": "contexts",
        "retrieved": "retrieved_documents",
        "relevant": "relevant_docs",
    }
    assert map_columns(["retrieved_documents"], ["contexts"]) == {"contexts": "retrieved_documents"}


def test_all_roles_without_a_column_are_named_at_once():
    with pytest.raises(UnmappedRoleError, match=r"no column fits 'prediction' .*or 'reference'; ") as raised:
        map_columns(["q", "model_output", "truth"], PAIR)
    assert "Say which: --map prediction=model_output --map reference=COLUMN (in Python, map={" in str(raised.value)
    assert "Gold in a second file: --gold FILE --on ID" in str(raised.value)
    with pytest.raises(UnmappedRoleError, match="--map 'prediction=LLM Answer' --map reference=gold_label "):
        map_columns(["LLM Answer", "gold_label"], PAIR)


@pytest.mark.parametrize(
    ("columns", "role", "column", "problem"),
    [
        (
            ["prediction", "refrence"],
            "reference",
            "refrence",
            "no column fits 'reference' (did you mean 'refrence'?); ",
        ),
        (["prediction", "x"], "reference", "COLUMN", "no column fits 'reference'; the columns are prediction, x"),
        (["prediction", "gold", "target"], "reference", "gold", "gold and target fit 'reference'"),
    ],
)
def test_an_error_about_a_role_holds_the_role_and_the_column_to_suggest(columns, role, column, problem):
    with pytest.raises(UnmappedRoleError) as raised:
        map_columns(columns, PAIR)
    assert (raised.value.role, raised.value.column) == (role, column)
    assert raised.value.problem.startswith(problem)
    assert f". Say which: --map {role}={column} " in str(raised.value)
    assert f" (in Python, map={{{role!r}: {column!r}}})" in str(raised.value)
    assert ("--map reference=gold or --map reference=target" in str(raised.value)) == (len(columns) == 3)
    assert ("Gold in a second file: --gold FILE --on ID" in str(raised.value)) == (column == "COLUMN")


def test_a_table_without_columns_is_named_as_such():
    with pytest.raises(ColumnError, match="expected rows, found none, and no columns"):
        map_columns([], PAIR)
