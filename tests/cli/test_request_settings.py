"""What is sent with each request of a judge: from the command line, the judge's file and Python; what is refused."""

import json
import re
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.errors import SpecError
from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.testing.http import HttpResponse, LoopbackServer
from karat.runs.store.run import open_run

JUDGE = """
name = "politeness"
summary = "Whether the prediction is polite."
source = "ours"
inputs = ["prediction"]

[prompt]
task = "Is it polite?"

[reply]
kind = "label"
choices = { polite = 1, rude = 0 }
"""
REQUEST = """
[request]
max_tokens = 50
reasoning_effort = "low"
extra_body = { top_k = 3 }
timeout = 200
"""
SENT = {"max_tokens": 50, "reasoning_effort": "low", "top_k": 3}


class Picky:
    """An endpoint that refuses members of a request, each in the words of `refusals`, and offers some models."""

    def __init__(self):
        self.refusals, self.bodies, self.seconds, self.models = {}, [], 0.0, ["m"]
        self.server = LoopbackServer(self.answer)

    def answer(self, request):
        if request.method == "GET":
            return HttpResponse.from_value({"data": [{"id": name} for name in self.models]})
        body = json.loads(request.body)
        self.bodies.append(body)
        if body["model"] not in self.models:
            return HttpResponse.from_value(refusal("there is no such model"), status=404)
        for name, refused in self.refusals.items():
            if name in body:
                return HttpResponse.from_value(refused, status=422 if "detail" in refused else 400)
        message = {"role": "assistant", "content": json.dumps({"explanation": "so", "label": "polite"})}
        reply = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"completion_tokens": 5}}
        return HttpResponse.from_value(reply, delay=self.seconds)

    @property
    def sent(self):
        (found,) = {json.dumps({name: body.get(name) for name in SENT}) for body in self.bodies}
        return json.loads(found)


def refusal(message, **more):
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


@pytest.fixture
def endpoint(tmp_path, monkeypatch):
    picky = Picky()
    picky.server.start()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", "runs")
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "replies.sqlite"))
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{picky.server.port}/v1")
    Path("polite.toml").write_text(JUDGE)
    Path("rows.jsonl").write_text("".join(f'{{"prediction": "{n}", "reference": "b"}}\n' for n in range(6)))
    yield picky
    picky.server.stop()


def run(*words, judge="judge:polite.toml", model="m"):
    return CliRunner().invoke(main, ["score", "rows.jsonl", "-m", judge, "--model", model, *words])


def test_settings_of_requests_come_from_the_command_line(endpoint):
    done = run("--max-tokens", "50", "--reasoning-effort", "low", "--extra-body", '{"top_k": 3}')
    assert done.exit_code == 0, done.output
    assert endpoint.sent == SENT


def test_settings_of_requests_come_from_the_judges_file_and_flags_come_first(endpoint):
    Path("polite.toml").write_text(JUDGE + REQUEST)
    assert run().exit_code == 0
    assert endpoint.sent == SENT
    endpoint.bodies.clear()
    assert run("--max-tokens", "70").exit_code == 0
    assert endpoint.sent == {**SENT, "max_tokens": 70}


def test_settings_of_requests_come_from_python_and_are_in_the_signature(endpoint):
    given = {"max_tokens": 50, "reasoning_effort": "low", "extra_body": {"top_k": 3}}
    judge = karat.Judge("polite.toml", model="m", **given, timeout=200, governor=Governor())
    karat.score("rows.jsonl", judge)
    assert endpoint.sent == SENT
    assert all(each in judge.signature for each in ("max_tokens=50", "reasoning_effort='low'", "{'top_k': 3}"))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("max_tokens = 0", "request.max_tokens"),
        ("timeout = -1", "request.timeout"),
        ("timeout = inf", "request.timeout"),
        ("extra_body = { messages = [] }", "karat sets messages itself"),
        ("max_token = 5", "did you mean 'max_tokens'"),
        ("reasoning_effort = 3", "request.reasoning_effort"),
    ],
)
def test_a_wrong_setting_in_a_judges_file_is_named(endpoint, line, problem):
    Path("polite.toml").write_text(f"{JUDGE}\n[request]\n{line}\n")
    refused = run()
    assert refused.exit_code == 2
    assert problem in refused.output
    assert not endpoint.bodies


@pytest.mark.parametrize(
    "words",
    [
        ["--max-tokens", "0"], ["--timeout", "0"], ["--timeout", "nan"], ["--timeout", "inf"],
        ["--extra-body", "[1]"], ["--extra-body", "{"], ["--extra-body", '{"stream": true}'],
        ["--extra-body", '{"x": NaN}'],
    ],
)  # fmt: skip
def test_a_wrong_flag_is_refused_before_anything_is_asked(endpoint, words):
    refused = run(*words)
    assert refused.exit_code == 2, refused.output
    assert not endpoint.bodies


def test_flags_of_judges_without_a_judge_are_refused(endpoint):
    refused = CliRunner().invoke(main, ["score", "rows.jsonl", "-m", "exact_match", "--max-tokens", "5"])
    assert refused.exit_code == 2
    assert "--max-tokens" in refused.output


@pytest.mark.parametrize("request_table", ["", "\n[request]\ntimeout = 0.1\n"])
def test_a_call_that_takes_too_long_names_the_flag_that_allows_more(endpoint, request_table):
    Path("polite.toml").write_text(JUDGE + request_table)
    endpoint.seconds = 0.4
    hasty = run("--limit", "1", "--max-calls", "1", *([] if request_table else ["--timeout", "0.1"]))
    assert "no reply within 0.1 s; --timeout SECONDS (in Python, timeout=) allows more" in hasty.output
    assert run("--limit", "1", "--timeout", "5").exit_code == 0


OPENAI = refusal(
    "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.",
    param="temperature",
    code="unsupported_value",
)
TOKENS = refusal(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    param="max_tokens",
    code="unsupported_parameter",
)
EXTRA = {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
REFUSALS = {
    "openai": ({"temperature": OPENAI}, ["temperature=0.0 is not sent"]),
    "azure": ({"seed": refusal("Unrecognized request argument supplied: seed")}, ["seed=7 is not sent"]),
    "pydantic": ({"seed": EXTRA}, ["seed=7 is not sent"]),
    "tokens": ({"max_tokens": TOKENS}, ["max_tokens is sent as max_completion_tokens"]),
    "effort": (
        {"reasoning_effort": refusal("Unknown parameter: 'reasoning_effort'.", param="reasoning_effort")},
        ["reasoning_effort='low' is not sent"],
    ),
    "all": (
        {"temperature": OPENAI, "seed": EXTRA, "max_tokens": TOKENS},
        ["temperature=0.0 is not sent", "seed=7 is not sent", "max_tokens is sent as max_completion_tokens"],
    ),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_setting_that_the_endpoint_refuses_is_left_out_and_said_once(endpoint, kind):
    endpoint.refusals, changes = REFUSALS[kind]
    words = ["--max-tokens", "50", "--reasoning-effort", "low", "--run"]
    done = run(*words, "first", judge="judge:polite.toml(seed=7)")
    assert done.exit_code == 0, done.output
    assert 6 + len(changes) <= (sent := len(endpoint.bodies)) <= 6 * (1 + len(changes))  # six at a time, each refused
    assert [done.stderr.count(each) for each in changes] == [1] * len(changes)
    recorded = open_run("first").manifest.models["changed"]
    assert any(all(each in said for each in changes) for said in recorded)
    run(*words, "second", judge="judge:polite.toml(seed=7)")
    assert len(endpoint.bodies) == sent
    assert open_run("second").manifest.models["changed"] == recorded  # of replies from the cache, too


def test_the_refusal_of_a_temperature_names_the_setting(endpoint):
    endpoint.refusals = {"temperature": OPENAI}
    assert "temperature=None" in run().stderr
    endpoint.bodies.clear()
    assert "temperature" not in run("--no-cache", judge="judge:polite.toml(temperature=None)").stderr
    assert len(endpoint.bodies) == 6


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("top_k", "Unrecognized request argument supplied: top_k"),
        ("max_tokens", "max_tokens is too large: 50. This model supports at most 40 completion tokens."),
        ("max_tokens", "invalid value: max_tokens must be at most 40"),
    ],
)
def test_what_changes_a_reply_or_its_price_is_never_left_out(endpoint, name, message):
    endpoint.refusals = {name: refusal(message)}
    refused = run("--max-tokens", "50", "--extra-body", '{"top_k": 3}')
    assert refused.exit_code == 1
    assert message[:30] in refused.output
    assert all(name in body for body in endpoint.bodies)


@pytest.mark.parametrize("message", ["This model does not support schemas", "the model is fine, the schema is not"])
def test_no_hint_to_the_address_where_the_endpoint_has_answered_in_its_words(endpoint, message):
    endpoint.refusals = {"messages": refusal(message)}
    refused = run()
    assert refused.exit_code == 1
    assert message in refused.output
    assert not re.search("base URL|--base-url", refused.output)


def test_models_that_are_named_are_of_the_right_kind(endpoint):
    endpoint.models = ["text-embedding-3-small", "bge-m3-x", "whisper-1", "gpt-4o-mini-tts", "gpt-5-nano"]
    assert "there are: gpt-5-nano (" in run(model="text-embedding-3").output.replace("\n", " (")
    judged = CliRunner().invoke(main, ["score", "rows.jsonl", "-m", "semantic_similarity(endpoint=true,model='x')"])
    assert "there are: bge-m3-x, text-embedding-3-small" in judged.output


def test_in_python_a_refused_setting_is_warned_of_once(endpoint):
    endpoint.refusals = {"temperature": OPENAI}
    judge = karat.Judge("polite.toml", model=OpenAIModel("m"), governor=Governor())
    with pytest.warns(UserWarning, match=r"temperature=0\.0 is not sent") as said:
        karat.score("rows.jsonl", judge)
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        karat.score("rows.jsonl", judge)


def test_wrong_settings_in_python_are_errors():
    for wrong in ({"max_tokens": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"extra_body": {"model": "x"}}):
        with pytest.raises(SpecError):
            karat.Judge("correctness", model="m", **wrong)
    with pytest.raises(SpecError):
        Governor(timeout=float("nan"))
