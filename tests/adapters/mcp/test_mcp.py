"""The server as the SDK's own client sees it, over standard input and output."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

import karat
from karat.models.testing.fake import FakeServer

mcp = pytest.importorskip("mcp")
from mcp.client import Client  # noqa: E402
from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402

EXAMPLES = Path(__file__).parents[3] / "examples" / "tutorial"
TOOLS = ["list_runs", "show_run", "show_rows", "compare", "flipped_rows", "power", "score"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two runs, their answers, and a link that leads out of it."""
    folder = tmp_path_factory.mktemp("mcp")
    inside = folder / "inside"
    inside.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder / "runs"))
        for name in ("first", "second"):
            karat.score(EXAMPLES / f"{name}.jsonl", ["exact_match", "token_f1"], map={"reference": "gold"}, run=name)
            (inside / f"{name}.jsonl").write_bytes((EXAMPLES / f"{name}.jsonl").read_bytes())
    (folder / "secret.jsonl").write_text('{"prediction": "a", "reference": "a"}\n')
    (inside / "link.jsonl").symlink_to(folder / "secret.jsonl")
    return folder


def talk(folder, *calls, options=(), **variables):
    """What the server answers to each call, a name and its arguments: the reply, or the text of an error."""

    async def run():
        environment = {**os.environ, "KARAT_RUNS": str(folder / "runs"), **variables}
        arguments = ["-m", "karat", "mcp", str(folder / "inside"), *options]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=str(folder))
        async with Client(stdio_client(server)) as client:
            tools = (await client.list_tools()).tools
            replies = [await client.call_tool(name, arguments) for name, arguments in calls]
            return tools, [each.content[0].text if each.is_error else each.structured_content for each in replies]

    return asyncio.run(run())


def test_an_agent_reads_runs_compares_them_and_scores_a_file(folder, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(folder / "runs"))
    scoring = {"file": "first.jsonl", "metrics": ["exact_match"], "mapping": {"reference": "gold"}, "by": "topic"}
    tools, (runs, shown, rows, compared, flipped, power, scored, _, kept) = talk(
        folder,
        ("list_runs", {}),
        ("show_run", {"run": "first"}),
        ("show_rows", {"run": "second", "metric": "token_f1", "count": 2}),
        ("compare", {"systems": ["first", "second"], "by": "topic"}),
        ("flipped_rows", {"first": "first", "second": "second", "metric": "exact_match", "count": 1}),
        ("power", {"runs": ["first", "second"], "difference": 0.05}),
        ("score", scoring),
        ("score", {**scoring, "run": "third"}),
        ("show_run", {"run": "third"}),
    )
    assert [tool.name for tool in tools] == TOOLS
    assert [tool.annotations.read_only_hint for tool in tools] == [True] * 6 + [False]
    assert all(tool.description for tool in tools)
    assert [run["name"] for run in runs["runs"]] == ["first", "second"]
    assert shown["values"] == json.loads((folder / "runs/first/values.json").read_text())
    assert shown["manifest"]["name"] == "first"
    assert (rows["order"], len(rows["rows"])) == ("worst", 2)
    assert compared == json.loads(json.dumps(karat.compare("first", "second", by="topic").as_dict()))
    assert [flip["metric"] for flip in flipped["flipped"]] == ["exact_match"] * 2
    assert set(power) == {"exact_match", "token_f1"}
    expected = karat.score(EXAMPLES / "first.jsonl", "exact_match", map={"reference": "gold"}, by="topic")
    assert scored == expected.as_dict() == kept["values"]


def test_other_files_and_models_are_refused_and_errors_are_told(folder):
    def score(file="first.jsonl", metric="exact_match", **more):
        return "score", {"file": file, "metrics": [metric], "mapping": {"reference": "gold"}, **more}

    cases = {
        "../secret.jsonl: only files below": score("../secret.jsonl"),
        "link.jsonl: only files below": score("link.jsonl"),
        f"{folder}/secret.jsonl: only files below": score(str(folder / "secret.jsonl")),
        "s3://lake/a.jsonl: only files below": score("s3://lake/a.jsonl"),
        "../secret.jsonl: only": score(gold="../secret.jsonl", on="id"),
        "first.jsonk is not a file in": score("first.jsonk"),
        "runs/first: only files below": ("show_run", {"run": "../runs/first"}),
        "there is no run and no file 'firts'; did you mean 'first'?": ("show_run", {"run": "firts"}),
        "did you mean 'exact_match'?": score(metric="exact_mach"),
        "uses a model: the server was started without --allow-models": score(metric="judge:correctness(model='m')"),
        "there is no judge './own.toml'": score(metric="judge:./own.toml(model='m')"),
        "there is no judge '/etc/own.toml'": score(metric="mean_of('judge:/etc/own.toml')"),
        "there is no judge './other.toml'": score(metric=r"mean_of(metric='jud\x67e:./other.toml(model=m)')"),
        "expected at least two, found 1": ("compare", {"systems": ["first"]}),
    }
    _, replies = talk(folder, *cases.values())
    for expected, reply in zip(cases, replies, strict=True):
        assert expected in str(reply)


def test_models_are_asked_only_where_the_server_was_started_so(folder, tmp_path):
    call = ("score", {"file": "first.jsonl", "metrics": ["judge:conciseness(model='small')"]})
    with FakeServer({"explanation": "", "label": "concise"}) as server:
        told = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "KARAT_CACHE": str(tmp_path / "replies.sqlite")}
        _, (scored,) = talk(folder, call, options=["--allow-models"], **told)
    assert 0 < scored["metrics"][0]["scored"] <= len(server.requests)
