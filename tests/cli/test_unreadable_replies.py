"""Replies that cannot be read: a later run asks anew, and a run whose first ones all cannot stops and goes on later."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.judges import Judge, use_governor
from karat.models.governor.governor import Governor
from karat.models.reply_cache import ReplyCache
from karat.models.request import CUT_OFF, Reply
from karat.models.testing.fake import FakeServer

GOOD = {"explanation": "e", "label": "correct"}


class Endpoint:
    """A script whose reply can be changed while the server runs."""

    def __init__(self, reply):
        self.reply = reply

    def __call__(self, messages):
        return self.reply(messages) if callable(self.reply) else self.reply


@pytest.fixture
def folder(tmp_path, monkeypatch, own_replies):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return tmp_path


def rows(count):
    return [{"id": n, "question": f"q{n}", "prediction": "p", "reference": ["r"]} for n in range(count)]


def run(server, count, *words):
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows(count)))
    given = ["score", "rows.jsonl", "-m", "judge:correctness", "--model", "small", "--base-url", server.url, *words]
    result = CliRunner().invoke(main, given)
    calls = re.search(r"models: (\d+) calls, \d+ retries, (\d+) cached", result.stderr)
    scored = re.search(r"^judge:correctness\S* +(\S+)", result.stdout, re.MULTILINE)
    return result, calls and tuple(map(int, calls.groups())), scored and scored[1]


@pytest.mark.parametrize("words", [(), ("--run", "first")])
def test_a_new_run_asks_anew_for_what_could_not_be_read(folder, words):
    endpoint = Endpoint(lambda messages: GOOD if '"q1"' in str(messages) else "Hm.")
    with FakeServer(endpoint) as server:
        first, calls, _ = run(server, 4, *words, "--json")
        assert json.loads(first.stdout)["metrics"][0]["scored"] == 1
        assert calls == (7, 0)
        endpoint.reply = GOOD
        second, calls, _ = run(server, 4, *(word.replace("first", "second") for word in words), "--json")
    assert json.loads(second.stdout)["metrics"][0]["scored"] == 4
    assert calls[0] == 3
    assert calls[1] >= 1


def test_the_same_run_does_not_pay_twice_for_what_could_not_be_read(folder):
    with FakeServer("Hm.") as server:
        assert run(server, 4)[1] == (8, 0)
        assert run(server, 4, "--resume")[1] == (0, 8)
        assert run(server, 4)[1] == (8, 0)


def test_in_python_a_second_call_asks_anew(folder):
    endpoint = Endpoint("Hm.")
    with FakeServer(endpoint) as server, use_governor(Governor(store=ReplyCache()), base_url=server.url):
        judge = Judge("correctness", model="small")
        assert karat.score(rows(4), judge).values[judge.spec].scored == 0
        endpoint.reply = GOOD
        assert karat.score(rows(4), judge).values[judge.spec].scored == 4
        assert karat.score(rows(4), judge).values[judge.spec].scored == 4
        assert server.calls == 12


def test_a_reply_that_helped_and_a_refusal_stay_in_the_cache(folder):
    def answer(messages):
        return GOOD if len(messages) > 6 else "I'm sorry, I can't." if '"q0"' in str(messages) else "Hm."

    with FakeServer(answer) as server:
        first = run(server, 4)[1]
        second = run(server, 4)[1]
    assert first[0] == 8
    assert second == (0, first[0])


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            "Sure, happy to help!",
            ["Sure, happy to help!", "--model NAME"],
        ),
        (Reply("<think>Let me see", 9, 100, problem=CUT_OFF), ["cut off at the token limit", "--max-tokens"]),
        ("", ["the reply is empty", "It said nothing"]),
    ],
)
def test_a_run_none_of_whose_replies_can_be_read_stops_and_goes_on_once_the_endpoint_is_mended(folder, reply, said):
    endpoint = Endpoint(reply)
    with FakeServer(endpoint, latency=0.01) as server:
        stopped, _, _ = run(server, 300, "--run", "first")
        assert stopped.exit_code == 1
        assert all(part in stopped.stderr for part in [*said, "none of its first 20 replies", "--resume"]), (
            stopped.stderr
        )
        paid = server.calls
        assert 20 <= paid <= 60
        again, _, _ = run(server, 300, "--run", "first", "--resume")
        assert again.exit_code == 1
        assert paid < server.calls <= 2 * 60
        endpoint.reply, paid = GOOD, server.calls
        whole, _, score = run(server, 300, "--run", "first", "--resume")
    assert (whole.exit_code, score) == (0, "1.0000"), whole.output
    assert server.calls - paid <= 300
    assert json.loads((folder / "runs" / "first" / "manifest.json").read_text())["n"] == 300


def test_a_run_goes_on_where_one_reply_could_be_read_or_all_were_refused(folder):
    with FakeServer(lambda messages: GOOD if '"q0"' in str(messages) else "Hm.") as server:
        assert run(server, 60)[0].exit_code == 0
    with FakeServer("I'm sorry, but I can't help with that.") as server:
        refused, _, _ = run(server, 60)
        assert server.calls == 120
    assert "could be read" not in refused.stderr
    assert "refused: I'm sorry" in refused.stdout
