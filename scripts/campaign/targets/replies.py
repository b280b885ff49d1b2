"""What models and endpoints reply: texts in each form, tool calls, chat completions, and the files of batches."""

from __future__ import annotations

import json
from contextlib import suppress
from io import BytesIO
from typing import Any

from targets import decode, split

UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)
"""What reading a chat completion is documented to raise."""


def _forms() -> dict[str, Any]:
    from karat.judges.replies.criteria import Criteria
    from karat.judges.replies.forms import Fields, Label, Rating, Statements

    return {
        "label": Label(choices={"yes": 1, "no": 0, "maybe": 0.5}),
        "statements": Statements(split="prediction", verdicts={"true": 1, "false": 0}, sizes=(2,)),
        "fields": Fields(names=("polite", "short"), explanation=False),
        "number": Rating(low=1, high=5),
        "real": Rating(low=0, high=1, whole=False, normalize=False),
        "criteria": Criteria(count=2),
    }


def reply(data: bytes) -> None:
    """A reply that is read fits its schema, as jsonschema says, and has a score in the range of its form.

    One that jsonschema accepts is refused only where it has a key twice, half of a character, or a number out of range.
    """
    import jsonschema

    from karat.judges.replies.parser import ReplyError, read_json, read_reply

    text = decode(data)
    for name, form in _forms().items():
        try:
            value = read_reply(text, form.schema)
        except ReplyError:
            with suppress(ReplyError, UnicodeEncodeError):
                value = read_json(text)
                json.dumps(value, ensure_ascii=False).encode()
                assert not jsonschema.Draft202012Validator(form.schema).is_valid(value), name
            continue
        jsonschema.validate(value, form.schema)
        with suppress(ReplyError):
            score = form.verdict(value).score
            assert score is None or form.range[0] <= score <= form.range[1], name


def completion(data: bytes) -> None:
    """The reply of an endpoint, as text, parts, a refusal or the call of a tool: a text with its use, or an error."""
    from karat.models.openai.model import parse_completion

    with suppress(*UNREADABLE):
        found = parse_completion(decode(data))
        assert isinstance(found.text, str)
        for tokens in (found.input_tokens, found.output_tokens):
            assert tokens is None or isinstance(tokens, int), "tokens"
        assert found.model is None or isinstance(found.model, str), "model"
        assert found.cost is None or isinstance(found.cost, int | float), "cost"
        assert found.text.strip() or found.problem


def batch_results(data: bytes) -> None:
    """The files of a batch: each line has an outcome, or an error that names it."""
    from karat.core.errors import DataError
    from karat.models.batch.results import parse_line, read_lines, read_outcome

    for number, line in read_lines(BytesIO(data)):
        with suppress(DataError):
            key, value = parse_line(line, f"file, line {number}")
            assert isinstance(key, str)
            read_outcome(value)


def tool_calls(data: bytes) -> None:
    """Metrics of tool calls and conversations: JSON of an answer, a tab, JSON of the gold."""
    from karat.metrics import tool_call_f1, tool_call_match, trajectory_match

    columns = [*zip(*split(data, 2), strict=True)]
    for arguments in ("exact", "subset", "superset", "ignore"):
        for metric in (tool_call_f1, tool_call_match, trajectory_match):
            scores = metric.using(arguments=arguments)(*columns).to_pylist()
            assert all(score is None or 0 <= score <= 1 for score in scores)


def allowed_calls(data: bytes) -> None:
    """Calls as BFCL allows them: JSON of calls, of what is allowed and of the tools, with tabs between."""
    from karat.metrics import bfcl_match

    assert set(bfcl_match(*zip(*split(data, 3), strict=True)).to_pylist()) <= {0, 1, None}


def batch_state(data: bytes) -> None:
    """A batch as an endpoint describes it."""
    from karat.models.batch.provider import BatchState

    with suppress(*UNREADABLE):
        state = BatchState.read(json.loads(data))
        assert isinstance(state.problem, str)


def other_replies(data: bytes) -> None:
    """Replies as Haystack's and DataFlow's evaluators read them."""
    from karat.adapters.dataflow.verdict import parse_parts, parse_verdict
    from karat.adapters.haystack.llm.evaluator import read_keys

    text = decode(data)
    for read in (parse_verdict, parse_parts):
        read(text)
    with suppress(ValueError):
        assert read_keys(["a", "b"], text).keys() >= {"a", "b"}
