"""Tests that Phoenix's plugin of pytest records; `test_server.py` runs them."""

import pytest
from karat.adapters.phoenix.client.pytest import evaluate, log_output

from karat.adapters.phoenix import as_evaluator


@pytest.mark.phoenix(dataset="pytest suite")
@pytest.mark.parametrize(("output", "expected"), [("a cat", "the cat"), ("a dog", "a cat")], ids=["one", "two"])
def test_answers(output, expected):
    log_output(output)
    (score,) = evaluate(as_evaluator("token_f1", name="f1"), output=output, expected=expected)
    assert score.score == 1
