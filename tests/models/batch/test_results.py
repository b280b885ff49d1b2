"""Files of batches as endpoints should not write them: every request has one outcome, and no line ends the reading."""

import json

import pytest

from karat.models.batch.results import read_results
from karat.models.governor.faults import Fault

ODD = [None, True, 7, -1.5, 1e400, "", "x", [], ["x"], {}, {"x": 1}]
BODY = {"choices": [{"message": {"content": "yes"}}]}


def read(**line):
    results = read_results({"file": json.dumps({"custom_id": "a"} | line).encode()}, {"a"}, "batch")
    return results.outcomes["a"], results.problems


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_line_whose_parts_have_other_types_is_a_fault_that_says_so(odd):
    for line in (
        {"error": odd},
        {"response": odd},
        {"error": {"code": odd, "message": odd}},
        {"response": {"status_code": odd, "body": BODY}},
        {"response": {"status_code": 200, "body": odd}},
    ):
        outcome, problems = read(**line)
        assert isinstance(outcome, Fault), line
        assert (bool(outcome.message), problems) == (True, [])


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_id_that_is_no_text_is_a_problem_of_the_file(odd):
    outcome, problems = read(custom_id=odd, response={"status_code": 200, "body": BODY})
    assert (outcome.message, len(problems)) == ("batch batch holds no reply", 1)


def test_a_line_that_is_nested_too_deeply_is_a_problem_of_the_file():
    results = read_results({"file": b"[" * 100_000}, {"a"}, "batch")
    assert len(results.problems) == 1
