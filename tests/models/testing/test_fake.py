import asyncio
import http.client
import json
import socket
from collections import Counter
from contextlib import closing
from random import Random

import pytest

from karat.core.errors import SpecError
from karat.models.request import Reply
from karat.models.testing.fake import FakeModel, FakeServer
from karat.models.testing.injected_faults import NAMES, fault_chooser
from karat.models.testing.schema_sample import sample_value

QUESTION = {"model": "small", "messages": [{"role": "user", "content": "2 + 2 = 4?"}]}
SCHEMA = {
    "type": "object",
    "properties": {
        "label": {"enum": ["correct", "incorrect"]},
        "statements": {"type": "array", "items": {"$ref": "#/$defs/statement"}, "minItems": 2, "maxItems": 3},
        "grade": {"type": "integer", "minimum": 1, "maximum": 5},
        "share": {"type": "number", "maximum": -3},
        "kind": {"const": "verdict"},
        "maybe": {"anyOf": [{"type": "null"}, {"type": ["boolean", "string"]}]},
        "why": {"type": "string", "minLength": 9},
    },
    "required": ["label", "statements", "grade", "share", "kind", "maybe", "why"],
    "additionalProperties": False,
    "$defs": {"statement": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
}


def post(server, body=QUESTION, path="/v1/chat/completions", timeout=10, method="POST", **headers):
    """The standard library's own client: status, body as JSON, headers."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)) as connection:
        return exchange(connection, body, path, method, headers)


def exchange(connection, body, path="/v1/chat/completions", method="POST", headers=()):
    connection.request(method, path, body if isinstance(body, str) else json.dumps(body), dict(headers))
    response = connection.getresponse()
    return response.status, json.loads(response.read()), response.headers


def content(said):
    return said["choices"][0]["message"]["content"]


@pytest.mark.parametrize("seed", range(50))
def test_what_is_drawn_for_a_schema_is_valid(seed):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(SCHEMA).validate(sample_value(SCHEMA, Random(seed)))  # noqa: S311


def test_without_a_script_replies_fit_and_depend_on_the_prompt_alone():
    body = QUESTION | {"response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}}}
    prompts = [body | {"messages": [{"role": "user", "content": str(each)}]} for each in range(40)]
    with FakeServer() as one, FakeServer() as other:
        said = [content(post(one, prompt)[1]) for prompt in prompts]
        again = [content(post(other, prompt)[1]) for prompt in reversed(prompts)]
        assert content(post(one)[1]) == "fake"
    assert said == again[::-1]
    assert {json.loads(text)["label"] for text in said} == {"correct", "incorrect"}


def test_a_text_an_object_a_reply_a_list_and_a_function_are_scripts():
    async def said(script, times=1):
        model = FakeModel(script)
        return [(await model(QUESTION["messages"])).text for _ in range(times)]

    assert asyncio.run(said("yes", 2)) == ["yes", "yes"]
    assert asyncio.run(said({"é": 1})) == ['{"é": 1}']
    assert asyncio.run(said(Reply("yes"))) == ["yes"]
    assert asyncio.run(said(["yes", {"no": None}], 2)) == ["yes", '{"no": null}']
    assert asyncio.run(said(lambda messages: messages[0]["content"])) == ["2 + 2 = 4?"]
    with pytest.raises(LookupError, match="it holds 1 replies"):
        asyncio.run(said(["yes"], 2))


def test_a_fake_model_keeps_what_it_was_asked_and_counts_tokens_as_told():
    model = FakeModel(Reply("yes", input_tokens=1000, output_tokens=1, cost=0.5))
    reply = asyncio.run(model(QUESTION["messages"], SCHEMA, {"seed": 7}))
    assert (reply.input_tokens, reply.cost) == (1000, 0.5)
    (asked,) = model.requests
    assert (asked.messages, asked.schema, asked.settings) == (QUESTION["messages"], SCHEMA, {"seed": 7})


def test_one_connection_serves_many_requests_in_order_even_sent_ahead():
    with FakeServer(lambda messages: messages[0]["content"]) as server:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)) as connection:
            for each in range(3):
                body = QUESTION | {"messages": [{"role": "user", "content": str(each)}]}
                assert content(exchange(connection, body)[1]) == str(each)
        ahead = b"".join(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\ncontent-LENGTH:%d\r\n\r\n%s" % (len(body), body)
            for each in range(3)
            for body in [json.dumps(QUESTION | {"messages": [{"role": "user", "content": f"<{each}>"}]}).encode()]
        )
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
            for start in range(0, len(ahead), 7):  # in pieces of seven bytes
                client.sendall(ahead[start : start + 7])
            got = b""
            while got.count(b"chatcmpl-") < 3 or not got.endswith(b"}"):
                got += client.recv(65536)
        assert got.index(b"<0>") < got.index(b"<1>") < got.index(b"<2>")
        assert server.calls == 6


def test_what_else_is_asked_is_answered_as_an_api_does():
    def script(messages):
        return {}["label"]

    with FakeServer(script, key="k") as server:
        assert post(server)[0] == 401
        key = {"Authorization": "Bearer k"}
        assert post(server, path="/v1/completions", **key)[0] == 404
        assert post(server, "{", **key)[0] == 400
        status, said, _ = post(server, **key)
        assert (status, said["error"]["message"]) == (400, "KeyError: 'label'")
        assert post(server, path="/v1/models", method="GET", **key)[1]["data"][0]["id"] == "fake"
        assert server.calls == 1


def test_faults_come_in_the_order_of_their_list_then_none():
    with FakeServer("yes", faults=["429-after", None, "500"], wait=3) as server:
        said = [post(server) for _ in range(4)]
    assert [status for status, *_ in said] == [429, 200, 500, 200]
    assert [headers["Retry-After"] for *_, headers in said] == ["3", None, None, None]
    assert said[0][1]["error"]["code"] == "rate_limit_exceeded"


def test_faults_may_be_chosen_by_the_request():
    with FakeServer("yes", faults=lambda body: "503" if body.get("seed") else None) as server:
        assert [post(server, QUESTION | {"seed": seed})[0] for seed in (0, 1)] == [200, 503]


def test_shares_of_faults_hold_and_repeat_with_their_seed():
    shares = {"429": 0.1, "reset": 0.2}

    def drawn(seed):
        fault = fault_chooser(shares, seed)
        return [fault({}) for _ in range(20_000)]

    counted = Counter(drawn(1))
    assert drawn(1) == drawn(1) != drawn(2)
    assert counted["429"] / 20_000 == pytest.approx(0.1, abs=0.01)
    assert counted["reset"] / 20_000 == pytest.approx(0.2, abs=0.01)
    assert counted.keys() == {"429", "reset", None}


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"hong": 0.1}, "did you mean 'hang'"),
        (["700"], "no fault '700'"),
        ({"429": 0.7, "500": 0.4}, "at most 1"),
        ({"429": -0.1}, "between 0 and 1"),
    ],
)
def test_faults_that_do_not_exist_or_do_not_add_up_are_refused(faults, said):
    with pytest.raises(SpecError, match=said):
        FakeServer(faults=faults)


def test_a_reset_a_cut_and_a_hang_on_the_wire():
    with FakeServer("yes", faults=["reset", "cut", "hang"]) as server:
        with pytest.raises(ConnectionResetError):
            post(server)
        with pytest.raises(http.client.IncompleteRead):
            post(server)
        with pytest.raises(TimeoutError):
            post(server, timeout=0.05)
        assert server.calls == 3


def test_the_end_of_the_block_ends_every_connection():
    with FakeServer("yes", faults=["hang"]) as server:
        client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        body = json.dumps(QUESTION).encode()
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        while not server.calls:
            pass
    with client, pytest.raises(ConnectionResetError):
        client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        post(server)


def test_every_name_of_a_fault_is_explained():
    from karat.cli.fake_llm import fake_llm
    from karat.models.testing import injected_faults

    for name in NAMES:
        assert f"`{name}`" in injected_faults.__doc__
        assert name in fake_llm.help
