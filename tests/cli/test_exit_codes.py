"""Every command ends with the documented exit code and no traceback, and not with 0 where it has nothing to say."""

import json
import os
import pty
import re
import shutil
import signal

import click
import pytest
from click.testing import CliRunner

from karat.cli.main import main

ROWS = "".join(f'{{"id": "{n}", "s": null, "answer": "x"}}\n' for n in range(3))
MAP = "--label-map good=1,bad=0 --on id"
COMMANDS = {  # words that succeed with rows.jsonl, the folder `.` and the run `kept` at these places
    "batch": "batch {file} -o replies.jsonl --base-url http://localhost:1/v1",
    "compare": "compare {file} again.jsonl --on id -m exact_match",
    "demo": "demo -o example --no-open",
    "doctor": "doctor",
    "experiment": "experiment system.py:answer --data {file} -m exact_match",
    "fake-llm": "fake-llm --port 0",
    "gold": "gold {file} again.jsonl --on id -m exact_match",
    "init": "init {folder}",
    "judge": f"judge {{file}} --human labels.csv {MAP} --column s --answer answer",
    "label": "label {file} -o more.jsonl --label-map good=1,bad=0",
    "mcp": "mcp {folder}",
    "metrics": "metrics em",
    "power": "power --run {run} --difference 0.1",
    "report": "report {run} -o report.html",
    "runs": "runs",
    "runs bundle": "runs bundle {run} -o written.zip",
    "runs export": "runs export {run} -o export.csv",
    "runs publish": "runs publish {run} --to every-eval-ever -o out --set model=m --set dataset=d --set organization=o",
    "runs remove": "runs remove {run}",
    "runs show": "runs show {run}",
    "runs verify": "runs verify {run}",
    "schema": "schema score",
    "score": "score {file} -m exact_match",
    "show": "show {run}",
    "verify": "verify {file}",
    "view": "view {folder} --no-open",
}
SERVERS = ["fake-llm", "label", "mcp", "view"]  # they go on until they are interrupted
HELLO = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26", '
HELLO += '"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}'
LABEL = "label"  # needs a terminal; q and Ctrl-C are the usual end
WITHOUT = {"label": "a terminal is needed"}


def walk(command, path=()):
    """The names of all commands that can be called."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*path, name))
    if path and (not isinstance(command, click.Group) or command.invoke_without_command):
        yield " ".join(path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with two runs, of which one is damaged, and files of every kind that commands take."""
    folder = tmp_path_factory.mktemp("made")
    line = '{{"id": "{}", "s": {}, "question": "q{}", "answer": "x{}", "prediction": "x{}", "reference": "x0"}}\n'
    rows = "".join(line.format(n, n % 2, n, n % 3, n % 3) for n in range(20))
    (folder / "rows.jsonl").write_text(rows)
    labels = "".join(f"{n},{'good' if n % 2 else 'bad'}\n" for n in range(20))
    (folder / "labels.csv").write_text("id,label\n" + labels)
    (folder / "system.py").write_text("def answer(row):\n    return 'x'\n")
    (folder / "questions.jsonl").write_text('{"question": "q", "reference": "x"}\n')
    request = {"custom_id": "a", "url": "/v1/chat/completions", "body": {"model": "small", "messages": []}}
    reply = {"status_code": 200, "body": {"choices": [{"message": {"content": "yes"}}]}}
    (folder / "requests.jsonl").write_text(json.dumps(request))
    (folder / "replies.jsonl").write_text(json.dumps({"custom_id": "a", "response": reply}))
    (folder / "broken.jsonl").write_bytes(b'{"id": \xff\xfe\x00')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder / "runs"))
        patch.chdir(folder)
        assert call("score rows.jsonl -m exact_match --run kept -o scored.jsonl").exit_code == 0
        assert call("runs bundle kept -o bundle.zip").exit_code == 0
    shutil.copy(folder / "scored.jsonl", folder / "again.jsonl")
    shutil.copytree(folder / "runs/kept", folder / "runs/broken")
    for file in (folder / "runs/broken").rglob("*"):
        if file.is_file():
            file.write_bytes(b"{\xff")
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "place")
    monkeypatch.chdir(tmp_path / "place")
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "place" / "runs"))


def call(words):
    """The result of a command; whatever it ends with is an exit code, and no traceback."""
    result = CliRunner().invoke(main, words.split())
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def test_every_command_is_here():
    assert set(walk(main)) == set(COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {*SERVERS, *WITHOUT}])
def test_success(name, place):
    files = {"experiment": "questions.jsonl", "batch": "requests.jsonl", "verify": "bundle.zip"}
    file = files.get(name, "scored.jsonl")
    result = call(COMMANDS[name].format(file=file, folder=".", run="kept"))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage(name, place):
    result = call(f"{name} --no-such-flag")
    assert result.exit_code == 2
    assert re.search("Error: No such option:? '?--no-such-flag", result.stderr)


@pytest.mark.parametrize("name", [name for name in COMMANDS if "{" in COMMANDS[name] and name != LABEL])
@pytest.mark.parametrize(
    ("file", "folder", "run"), [("none.jsonl", "none", "none"), ("broken.jsonl", "broken.jsonl", "broken")]
)
def test_what_is_missing_or_damaged(name, file, folder, run, place):
    if (name, run) == ("runs remove", "broken"):
        assert call("runs remove broken").exit_code == 0  # what is damaged can be removed
        return
    result = call(COMMANDS[name].format(file=file, folder=folder, run=run))
    by_click = "{folder}" in COMMANDS[name]
    assert result.exit_code == (2 if by_click else 1), result.output
    message = (
        result.output if name == "runs verify" else next(line for line in result.stderr.splitlines() if "Error" in line)
    )
    assert re.search(f"{file}|{folder}|{run}", message), result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_interrupted(name, place, monkeypatch):
    """Wherever in the command Ctrl-C is pressed."""

    def press(*_, **__):
        raise KeyboardInterrupt

    command = main
    for word in name.split():
        command = command.get_command(click.Context(command), word)
    monkeypatch.setattr(command, "callback", press)
    result = call(COMMANDS[name].format(file="rows.jsonl", folder=".", run="kept"))
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_what_goes_on_until_it_is_interrupted(name, sent, place, python):
    ours, theirs = pty.openpty()
    words = COMMANDS[name].format(file="rows.jsonl", folder=".", run="kept").split()
    entry = theirs if name == LABEL else -1
    with python("-m", "karat", *words, stdin=entry, stdout=-1, stderr=-1, text=True) as process:
        if name == "mcp":
            process.stdin.write(HELLO + "\n")
            process.stdin.flush()
        try:
            assert process.stdout.readline()  # it is ready
            process.send_signal(sent)
            code, said = process.wait(20), process.stderr.read()
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)
    assert code == (0 if (name, sent) == (LABEL, signal.SIGINT) else 128 + sent)
    assert "Traceback" not in said
    assert "Fatal" not in said


@pytest.mark.parametrize(
    "words",
    [
        "score {rows} -m column(s)",
        "score {rows} -m column(s) --json",
        "score {rows} -m column(s) --fail-under -1",
        "compare {rows} {rows} --on id -m column(s)",
        "compare {rows} {rows} --rank --on id -m column(s)",
        "judge {rows} --column s --human {labels} --on id",
        "judge {rows} -m column(s,low=0,high=1) --human {labels} --on id --answer answer",
        "power --run kept --difference 0.1",
    ],
)
def test_nothing_was_scored(words, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    rows, labels = tmp_path / "rows.jsonl", tmp_path / "labels.csv"
    rows.write_text(ROWS)
    labels.write_text("id,label\n0,1\n1,0\n2,1\n")
    if "kept" in words:
        CliRunner().invoke(main, ["score", str(rows), "-m", "column(s)", "--run", "kept"])
    result = CliRunner().invoke(main, words.format(rows=rows, labels=labels).split())
    assert result.exit_code == (3 if "--fail-under" in words else 1), result.output
    assert "Traceback" not in result.output
