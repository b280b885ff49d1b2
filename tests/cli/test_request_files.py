"""`--write-requests` and `--replies`: a judge's requests are answered elsewhere, and scored as if it had been asked."""

import json

import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.models.testing.fake import FakeServer

JUDGE = ["score", "answers.jsonl", "-m", "judge:correctness", "--model", "small", "--base-url", "http://127.0.0.1:9/v1"]


def judged(messages):
    asked = next(m["content"] for m in reversed(messages) if m["content"].startswith("<data-"))
    row = json.loads(asked.partition("\n")[2].rpartition("\n")[0])
    return {"explanation": "…", "label": "correct" if row["prediction"] in row["reference"] else "incorrect"}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch, own_replies):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": n, "question": f"q{n}", "prediction": f"a{n % 3}", "gold": ["a1", "a2"]} for n in range(12)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, [*rows, rows[0]])))


def run(*words):
    return CliRunner().invoke(main, [*JUDGE, *words])


def answer(lines):
    """What `run-batch` of vLLM writes for these lines."""
    for line in lines:
        request = json.loads(line)
        assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
        content = json.dumps(judged(request["body"]["messages"]))
        body = {"choices": [{"message": {"content": content}}], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}
        yield {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}


def write(path, values):
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))


def test_replies_that_were_given_elsewhere_are_scored(tmp_path):
    written = run("--write-requests", "requests.jsonl")
    assert (written.exit_code, written.stdout.splitlines()[-1].split(";")[0]) == (
        0,
        "12 requests are in requests.jsonl",
    )
    replies = list(answer((tmp_path / "requests.jsonl").read_text().splitlines()))
    write(tmp_path / "replies.jsonl", reversed(replies))
    filed = run("--replies", "replies.jsonl", "--json")
    assert filed.exit_code == 0, filed.output
    with FakeServer(judged) as server:
        asked = CliRunner().invoke(main, [*JUDGE[:-1], server.url, "--no-cache", "--json"])
        assert server.requests[0]["messages"] in [
            json.loads(line)["body"]["messages"] for line in (tmp_path / "requests.jsonl").read_text().splitlines()
        ]
    values = [json.loads(each.stdout)["metrics"][0]["value"] for each in (filed, asked)]
    assert values[0] == values[1]
    assert run("--write-requests", "none.jsonl").stdout.splitlines()[-1].startswith("0 requests are in none.jsonl")


def test_requests_without_a_reply_are_unscored_rows_and_can_be_written_again(tmp_path):
    run("--write-requests", "requests.jsonl")
    first, second, *others = answer((tmp_path / "requests.jsonl").read_text().splitlines())
    refused = {**second, "response": {"status_code": 400, "body": {"error": {"message": "too long"}}}}
    write(tmp_path / "replies.jsonl", [refused, *others[1:]])
    result = run("--replies", "replies.jsonl", "-o", "out.jsonl")
    assert result.exit_code == 0, result.output
    assert "3 requests have no reply in replies.jsonl: the same command with --write-requests FILE" in result.stderr
    reasons = [json.loads(line)["reason"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sum("no reply in the files" in str(each) for each in reasons) == 3  # two rows have the same request
    assert sum("too long" in str(each) for each in reasons) == 1
    again = run("--replies", "replies.jsonl", "--write-requests", "more.jsonl")
    assert again.stdout.splitlines()[-1].startswith("3 requests are in more.jsonl")
    left = {json.loads(line)["custom_id"] for line in (tmp_path / "more.jsonl").read_text().splitlines()}
    assert left == {first["custom_id"], second["custom_id"], others[0]["custom_id"]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "replies.jsonl, line 2: expected a JSON object with a custom_id"),
        ('{"custom_id": "a"}', "line 2: expected the custom_id of a request that --write-requests wrote, found 'a'"),
        (None, r"line 2: a second reply to the request of replies.jsonl, line 1"),
    ],
)
def test_a_line_that_is_no_reply_is_named(tmp_path, line, message):
    run("--write-requests", "requests.jsonl")
    reply = json.dumps(next(answer((tmp_path / "requests.jsonl").read_text().splitlines())))
    (tmp_path / "replies.jsonl").write_text(f"{reply}\n{line or reply}\n")
    result = run("--replies", "replies.jsonl")
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.parametrize("words", [["--dry-run"], ["--no-cache"]])
def test_flags_that_contradict_each_other(words):
    for files in (["--write-requests", "requests.jsonl"], ["--replies", "replies.jsonl"]):
        result = run(*files, *words)
        assert (result.exit_code, f"leave {words[0]} away" in result.stderr) == (2, True)
