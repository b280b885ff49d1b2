"""Files of replies as they should not be: every line has an outcome or an error, and none ends the reading."""

import json
from io import BytesIO

import pytest

from karat.core.errors import DataError
from karat.models.batch import results
from karat.models.batch.results import parse_line, read_lines, read_outcome
from karat.models.governor.faults import Fault

ODD = [None, True, 7, -1.5, 1e400, "", "x", [], ["x"], {}, {"x": 1}]
BODY = {"choices": [{"message": {"content": "yes"}}]}


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_line_whose_parts_have_other_types_is_a_fault_that_says_so(odd):
    for line in (
        {"error": odd},
        {"response": odd},
        {"error": {"code": odd, "message": odd}},
        {"response": {"status_code": odd, "body": BODY}},
        {"response": {"status_code": 200, "body": odd}},
    ):
        outcome = read_outcome(json.loads(json.dumps({"custom_id": "a"} | line)))
        assert isinstance(outcome, Fault), line
        assert outcome.message


@pytest.mark.parametrize(
    "line", [*(json.dumps({"custom_id": odd}) for odd in ODD if not isinstance(odd, str)), "[]", "7", "[" * 100_000]
)
def test_a_line_without_an_id_is_named(line):
    with pytest.raises(DataError, match="file, line 7: expected a JSON object with a custom_id, found b"):
        parse_line(line.encode(), "file, line 7")


def test_of_a_line_that_is_too_long_the_rest_is_not_read_and_the_next_one_is(monkeypatch):
    monkeypatch.setattr(results, "REPLY_BYTES", 10)
    content = b"short\r\n\n" + b"x" * 35 + b"\nlast"
    assert list(read_lines(BytesIO(content))) == [(1, b"short"), (3, b"x" * 11), (4, b"last")]
