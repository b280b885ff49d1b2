"""Evaluators as Phoenix's experiments call them; with a real server in test_phoenix_server.py."""

import asyncio

import pytest

pytest.importorskip("phoenix.evals")

import karat
from karat.adapters.phoenix import PrecisionRecallFScore, experiment_evaluator

GIVEN = {"output": {"answer": "Paris", "sure": True}, "expected": {"answer": "Paris"}, "input": {"question": "?"}}


def test_dicts_of_one_value_are_that_value_and_a_mapping_says_which_of_several():
    one = experiment_evaluator("token_f1", {"prediction": "output.answer"})
    assert [each["score"] for each in one.evaluate(**GIVEN)] == [1.0]
    with pytest.raises(
        karat.errors.ColumnError, match=r"output holds several values: select one by a mapping, such as 'output\.NAME'"
    ):
        experiment_evaluator("token_f1").evaluate(**GIVEN)


def test_a_path_that_is_not_there_is_told_as_it_is():
    one = experiment_evaluator("token_f1", {"prediction": "expected.wrong"})
    with pytest.raises(ValueError, match=r"^Path not found: expected\.wrong$"):
        asyncio.run(one.async_evaluate(**GIVEN))


def test_every_score_keeps_its_own_name():
    one = experiment_evaluator(PrecisionRecallFScore(), {"output": "output", "expected": "expected"})
    scores = one.evaluate(output=["a", "b"], expected=["a", "a"])
    assert [(each["name"], each["score"]) for each in scores] == [
        ("precision", pytest.approx(0.5)), ("recall", pytest.approx(0.25)), ("f1", pytest.approx(1 / 3)),
    ]  # fmt: skip
