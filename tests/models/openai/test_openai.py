import asyncio
import json
import re
import subprocess
import sys

import pytest

from karat.core.errors import SpecError
from karat.models.governor.faults import classify
from karat.models.openai import client
from karat.models.openai.body import UnreadableReply
from karat.models.openai.client import EndpointConnectionError, EndpointError
from karat.models.openai.model import OpenAIModel, add_schema, parse_completion
from karat.models.request import Reply
from karat.models.testing.fake import FakeServer
from karat.models.testing.http import HttpResponse

MESSAGES = [{"role": "system", "content": "You grade answers."}, {"role": "user", "content": "2 + 2 = 4?"}]
SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "label": {"enum": ["correct", "incorrect"]}},
    "required": ["reason", "label"],
    "additionalProperties": False,
}
VERDICT = {"reason": "It is so.", "label": "correct"}
SAID = json.dumps(VERDICT)


def ask(server, *, schema=SCHEMA, settings=None, messages=MESSAGES, times=1, seconds=10.0, **how):
    """The last of `times` replies, asked one after another in a loop of their own."""
    model = OpenAIModel("small", base_url=server.url, **{"api_key": "k-123", **how})

    async def each():
        for _ in range(times):
            async with asyncio.timeout(seconds):
                reply = await model(messages, schema, settings)
        return reply

    return asyncio.run(each())


def test_what_is_asked_and_what_comes_back():
    with FakeServer(VERDICT, key="k-123", price=(1.0, 10.0)) as server:
        reply = ask(server, settings={"temperature": 0, "seed": 7, "max_tokens": None})
    (asked,) = server.requests
    assert asked.pop("response_format")["json_schema"] == {"name": "reply", "strict": True, "schema": SCHEMA}
    assert asked == {"model": "small", "messages": MESSAGES, "temperature": 0, "seed": 7}
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.model) == (SAID, 7, 11, "small")
    assert reply.cost == pytest.approx(7e-6 + 110e-6)
    assert reply.problem is None


def test_text_of_every_script_arrives_as_it_was_sent():
    text = 'tabs\t, quotes ", \u2028 line ends, nulls \0, astral \U0001f600, ' + "and length " * 50_000
    with FakeServer(lambda messages: messages[0]["content"]) as server:
        assert ask(server, schema=None, messages=[{"role": "user", "content": text}]).text == text


FORMS = {
    "json_schema": lambda body: "response_format" in body,
    "tool": lambda body: body["tool_choice"]["function"]["name"] == body["tools"][0]["function"]["name"],
    "text": lambda body: not {"tools", "response_format"} & set(body),
}


@pytest.mark.parametrize("offered", [("json_schema", "tool"), ("tool",), ()])
def test_the_first_form_that_the_endpoint_accepts_is_found_once(offered):
    with FakeServer(VERDICT, forms=offered) as server:
        reply = ask(server, times=4)
    found = [*offered, "text"][0]
    refused = list(FORMS).index(found)
    assert reply.text == SAID
    assert server.calls == 4 + refused
    for form, body in zip([*list(FORMS)[:refused], found, found, found, found], server.requests, strict=True):
        assert FORMS[form](body)


def test_calls_find_the_form_side_by_side_and_later_ones_know_it():
    with FakeServer(VERDICT, forms=(), latency=0.01) as server:
        model = OpenAIModel("small", base_url=server.url)

        async def together():
            return await asyncio.gather(*(model(MESSAGES, SCHEMA) for _ in range(32)))

        assert {reply.text for reply in asyncio.run(together())} == {SAID}
        assert server.calls <= 3 * 32
        before = server.calls
        assert {reply.text for reply in asyncio.run(together())} == {SAID}
        assert server.calls == before + 32


def test_a_request_that_is_refused_for_itself_changes_no_form(monkeypatch):
    """One of two calls at a time is refused in every form, the other is answered in the first."""
    forms = []

    async def post(_, __, body, ___):
        await asyncio.sleep(0)
        forms.append("tool" if "tools" in body else "json_schema" if "response_format" in body else "text")
        if "bad" in str(body["messages"]):
            raise EndpointError(400, {}, "this text is not accepted")
        return Reply(SAID)

    monkeypatch.setattr("karat.models.openai.model.post", post)
    model = OpenAIModel("small", base_url="http://127.0.0.1:1/v1")

    async def together():
        bad = [{"role": "user", "content": "bad"}]
        return await asyncio.gather(model(bad, SCHEMA), model(MESSAGES, SCHEMA), return_exceptions=True)

    refused, answered = asyncio.run(together())
    assert isinstance(refused, EndpointError)
    assert answered.text == SAID
    asyncio.run(model(MESSAGES, SCHEMA))
    assert forms.count("json_schema") >= 3
    assert forms[-1] == "json_schema"


def test_a_form_asked_for_is_the_only_one_tried():
    with FakeServer(VERDICT, forms=("json_schema",)) as server:
        with pytest.raises(EndpointError, match="tool is not supported"):
            ask(server, structured="tool")
        assert server.calls == 1


def test_without_tools_or_schemas_the_schema_is_told_in_words():
    for messages in (MESSAGES, MESSAGES[1:]):
        body = add_schema({"model": "small", "messages": messages}, SCHEMA, "text")
        assert [each["role"] for each in body["messages"]] == ["system", "user"]
        assert body["messages"][0]["content"].startswith("You grade answers." if messages == MESSAGES else "Reply")
        assert json.loads(body["messages"][0]["content"].rpartition("\n")[2]) == SCHEMA
        assert body["messages"][1] == MESSAGES[1]


@pytest.mark.parametrize(
    ("fault", "error", "kind", "status"),
    [
        ("400", EndpointError, "fatal", 400),
        ("401", EndpointError, "fatal", 401),
        ("403", EndpointError, "fatal", 403),
        ("404", EndpointError, "fatal", 404),
        ("408", EndpointError, "transient", 408),
        ("409", EndpointError, "transient", 409),
        ("422", EndpointError, "fatal", 422),
        ("429", EndpointError, "overload", 429),
        ("429-after", EndpointError, "overload", 429),
        ("429-date", EndpointError, "overload", 429),
        ("quota", EndpointError, "fatal", 429),
        ("500", EndpointError, "transient", 500),
        ("502", EndpointError, "transient", 502),
        ("503", EndpointError, "overload", 503),
        ("503-after", EndpointError, "overload", 503),
        ("context", EndpointError, "row", 400),
        ("filtered", EndpointError, "row", 400),
        ("reset", EndpointConnectionError, "transient", None),
        ("cut", EndpointConnectionError, "transient", None),
        ("page", UnreadableReply, "transient", 200),
        ("no-choices", UnreadableReply, "transient", 200),
    ],
)
def test_each_fault_is_told_for_what_it_is(fault, error, kind, status):
    with FakeServer(VERDICT, faults={fault: 1.0}, wait=2.0) as server, pytest.raises(error) as raised:
        ask(server)
    told = classify(raised.value)
    assert (told.kind, told.status) == (kind, status)
    if fault.endswith("-after"):
        assert told.retry_after == 2.0
    elif fault.endswith("-date"):
        assert 0 <= told.retry_after <= 2
    else:
        assert told.retry_after is None
    assert server.calls == (3 if fault in {"400", "422"} else 1)  # a refusal could be meant for the form


def test_nothing_is_asked_twice_behind_the_governors_back():
    with FakeServer(VERDICT, faults=["500", None]) as server:
        with pytest.raises(EndpointError):
            ask(server)
        assert server.calls == 1


def test_a_call_that_hangs_can_be_given_up_and_the_next_one_works():
    with FakeServer(VERDICT, faults=["hang"]) as server:
        model = OpenAIModel("small", base_url=server.url)

        async def twice():
            hanging = asyncio.create_task(model(MESSAGES, SCHEMA))
            while not server.calls:  # noqa: ASYNC110  (the server is in another thread)
                await asyncio.sleep(0.01)
            hanging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hanging
            return await model(MESSAGES, SCHEMA)

        assert asyncio.run(twice()).text == SAID


def test_a_reply_that_drips_arrives_whole():
    with FakeServer(VERDICT, faults=["drip"], latency=0.02) as server:
        assert ask(server).text == SAID


def test_nobody_listening_is_a_lost_connection():
    with FakeServer() as server:
        pass
    with pytest.raises(EndpointConnectionError) as raised:
        ask(server)
    assert classify(raised.value).kind == "transient"
    assert re.search("connect", classify(raised.value).message, re.IGNORECASE)
    assert "timed out" not in str(raised.value)


@pytest.mark.parametrize("forms", [("json_schema",), ("tool",), ()])
@pytest.mark.parametrize(
    ("fault", "text", "problem"),
    [
        ("refusal", "I cannot help with that.", "refused: I cannot help with that."),
        ("filter", "", "stopped by the content filter"),
        ("length", SAID[: len(SAID) // 2], "cut off at the token limit"),
        ("empty", "", "nothing said"),
        ("truncated", SAID[: len(SAID) // 2], None),
        ("fenced", f"```json\n{SAID}\n```", None),
        ("prose", f"Certainly. Here is my verdict:\n\n{SAID}\n\nI hope this helps.", None),
        ("keys", '{"my_reason": "It is so.", "my_label": "correct"}', None),
        ("types", '{"reason": 7, "label": 7}', None),
        ("order", '{"label": "correct", "reason": "It is so."}', None),
    ],
)
def test_a_reply_that_is_not_as_wished_is_kept_with_its_problem(fault, text, problem, forms):
    with FakeServer(VERDICT, faults={fault: 1.0}, forms=forms) as server:
        reply = ask(server)
    assert (reply.text, reply.problem) == (text, problem)
    assert reply.output_tokens == 11  # paid for all the same


def completion(message, **also):
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **also})


@pytest.mark.parametrize(
    "said", ["", "[]", "7", "{}", completion(None), completion({"content": 7}), completion({"content": ["a"]})]
)
def test_what_is_no_completion_does_not_read(said):
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        parse_completion(said)


def test_completions_of_sparing_endpoints_read():
    assert parse_completion(completion({"content": "yes"}, usage=None)) == Reply("yes")
    assert parse_completion('{"choices": [{"message": {"content": "yes", "tool_calls": null}}]}') == Reply("yes")
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "yes"}]
    assert parse_completion(completion({"content": parts})) == Reply("yes")
    assert parse_completion('{"choices": [{"message": {"content": null}}]}').problem == "nothing said"


@pytest.mark.parametrize("odd", ["7", [7], {"n": 7}, True, -1, 7.5, float("nan"), float("inf"), 10**400, None])
def test_tokens_and_costs_that_are_none_are_not_known_and_the_reply_is_kept(odd):
    usage = {"prompt_tokens": odd, "completion_tokens": 7.0, "cost": odd}
    reply = parse_completion(completion({"content": "yes"}, usage=usage, model=odd))
    cost, model = (odd if odd == 7.5 else None), (odd if odd == "7" else None)
    assert reply == Reply("yes", None, 7, cost=cost, model=model)


@pytest.mark.parametrize("quoted", ["as unknown", "in a refusal"])
def test_the_key_is_in_no_error_and_no_repr(quoted):
    key = "very-secret-key"

    def refuse(messages):
        raise ValueError(f"no model for {key}")

    with FakeServer(refuse, key="another" if quoted == "as unknown" else key) as server:
        model = OpenAIModel("small", base_url=server.url, api_key=key)
        with pytest.raises(EndpointError, match=r"\(key\)") as raised:
            asyncio.run(model(MESSAGES, SCHEMA))
    error = raised.value
    for text in (
        str(error),
        repr(error),
        error.message,
        repr(error.body),
        classify(error).message,
        repr(model),
        repr(vars(model)),
    ):
        assert key not in text


def test_the_key_is_not_in_the_page_of_a_proxy_that_quotes_it(monkeypatch):
    monkeypatch.setattr(
        "karat.models.testing.injected_faults.HttpResponse", lambda _: HttpResponse(b"<p>Who is very-secret-key?</p>")
    )
    with FakeServer(VERDICT, faults=["page"]) as server, pytest.raises(UnreadableReply, match=r"Who is \(key\)\?"):
        ask(server, api_key="very-secret-key")


def test_two_loops_one_after_the_other_and_no_connection_left_open():
    with FakeServer(VERDICT) as server:
        model = OpenAIModel("small", base_url=server.url)
        for _ in range(2):
            assert asyncio.run(model(MESSAGES)).text == SAID  # a connection left open is an error here
    assert not [loop for loop in client._sessions if loop.is_closed()]


def test_models_of_one_endpoint_share_their_connections_and_a_loop_in_a_thread_closes_them_at_the_end():
    code = """
from karat.models.request import Request
from karat.models.openai.client import _sessions
from karat.models.testing.fake import FakeServer
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel

with FakeServer() as server:
    models = [OpenAIModel(name, base_url=server.url) for name in ("small", "large")]
    async def ask(row):
        await Governor().ask(models[row % 2], Request([{"role": "user", "content": str(row)}]))
    Governor().map(ask, range(20))
    del models
    print(len(_sessions), server.calls)
"""
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "20"]
    assert "nclosed" not in done.stderr


@pytest.mark.parametrize(
    ("how", "environment", "said"),
    [
        ({}, {}, "OPENAI_API_KEY"),
        ({}, {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}, "OPENAI_BASE_URL"),
        ({"base_url": "localhost:8000/v1"}, {}, r"a base URL is http\(s\)"),
        ({"base_url": "https://user:k@host/v1"}, {}, "with the key apart"),
        ({"api_key": "k", "structured": "tools"}, {}, "did you mean 'tool'"),
    ],
)
def test_what_is_missing_or_wrong_is_said_at_once(how, environment, said, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SpecError, match=said):
        OpenAIModel("small", **how)


def test_key_and_endpoint_come_from_the_environment_unless_given(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k-env")
    with FakeServer(VERDICT, key="k-env") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
        model = OpenAIModel("small")
        assert asyncio.run(model(MESSAGES)).text == SAID
        assert (model.name, model.endpoint) == ("small", server.url)
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert OpenAIModel("small").endpoint == "https://api.openai.com/v1"
