"""Every place on the command line that takes a file: what is no file, or has no end, is refused in one sentence."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from karat.cli.main import main

MAP = "--label-map good=1,bad=0 --on id"
PLACES = {  # the words of a command; {} is the hostile name
    "batch FILE": "batch {} -o replies.jsonl --base-url http://127.0.0.1:1/v1",
    "batch --output": "batch requests.jsonl -o {} --base-url http://127.0.0.1:1/v1",
    "compare SYSTEMS": "compare {} kept -m exact_match",
    "compare SYSTEMS second": "compare kept {} -m exact_match",
    "compare --output": "compare kept kept -o {}",
    "compare --human": f"compare kept kept --human {{}} {MAP}",
    "demo --output": "demo -o {}",
    "experiment TASK": "experiment {}:answer --data rows.jsonl -m exact_match",
    "experiment --data": "experiment task.py:answer --data {} -m exact_match",
    "experiment --gold": "experiment task.py:answer --data rows.jsonl --gold {} --on id -m exact_match",
    "experiment --output": "experiment task.py:answer --data rows.jsonl -m exact_match -o {}",
    "init FOLDER": "init {}",
    "judge SYSTEM": "judge {} --human labels.csv --on id -m exact_match",
    "judge SYSTEM asked": "judge {} -m judge:correctness --model m --ask 1 --dry-run",
    "judge --gold": "judge rows.jsonl -m judge:correctness --gold {} --on id --model m --ask 1 --dry-run",
    "judge --human": f"judge kept -m exact_match --human {{}} {MAP}",
    "judge --metric": "judge rows.jsonl -m judge:{}.toml --model m --ask 1 --dry-run",
    "judge --reword": "judge rows.jsonl -m judge:correctness --model m --reword {}.toml --dry-run",
    "judge --calibration": "judge kept -m exact_match --human labels.csv --on id --calibration {}",
    "judge --keep-calibration": f"judge kept -m exact_match --human labels.csv {MAP} --keep-calibration {{}}",
    "gold SYSTEMS": "gold {} kept -m exact_match",
    "gold --output": "gold kept kept -o {}",
    "label SOURCES": f"label {{}} -o labels.jsonl {MAP}",
    "label --output": f"label rows.jsonl -o {{}} {MAP}",
    "label --metric": "label rows.jsonl -o labels.jsonl -m judge:{}",
    "label SOURCES next": "label {} --next 1 -o out.csv",
    "label --output next": "label kept --next 1 -o {}",
    "label --human": f"label kept --next 1 -o out.csv --human {{}} {MAP}",
    "mcp FOLDER": "mcp {}",
    "power --run": "power --run {} --difference 0.1",
    "power --human": f"power --run kept --width 0.1 --human {{}} {MAP}",
    "compare --rank": "compare {} kept --rank -m exact_match",
    "compare --verdicts": "compare --verdicts {}",
    "compare --bundle": "compare kept kept --bundle {}",
    "report --bundle": "report kept --bundle {}",
    "runs export --bundle": "runs export kept -o a.md --bundle {}",
    "report RUNS": "report {}",
    "report --output": "report kept -o {}",
    "report --human": f"report kept --human {{}} {MAP}",
    "runs bundle NAMES": "runs bundle {} -o b.zip",
    "runs bundle --output": "runs bundle kept -o {}",
    "runs export NAME": "runs export {} -o out.csv",
    "runs export --output": "runs export kept -o {}",
    "runs publish NAME": "runs publish {} --to huggingface -o out.yaml",
    "runs publish --output": "runs publish kept --to every-eval-ever -o {}",
    "runs remove NAMES": "runs remove {}",
    "runs show NAME": "runs show {}",
    "runs show --human": f"runs show kept --human {{}} {MAP}",
    "runs verify NAMES": "runs verify {}",
    "score FILE": "score {} -m exact_match",
    "score --gold": "score rows.jsonl --gold {} --on id -m exact_match",
    "score --output": "score rows.jsonl -m exact_match -o {}",
    "score --run": "score rows.jsonl -m exact_match --run {}",
    "score --human": f"score rows.jsonl -m exact_match --human {{}} {MAP}",
    "score --metric": "score rows.jsonl -m judge:{} --model m --dry-run",
    "score --metric schema": "score rows.jsonl -m json_schema(schema='{}')",
    "score --metric rescale": "score rows.jsonl -m token_similarity(layers=1,rescale='{}')",
    "score --metric model": "score rows.jsonl -m semantic_similarity(model='{}')",
    "show RUNS": "show {}",
    "verify BUNDLE": "verify {}",
    "view FOLDER": "view {} --no-open",
    "view --labels": f"view --labels {{}} {MAP} --no-open",
    "view --rows": f"view --rows {{}} --labels labels.jsonl {MAP} --no-open",
}
FOLDERS = [place for place in PLACES if place.endswith("FOLDER") or place in ("demo --output", "score --run")]
WRITTEN = [
    place for place in PLACES if place.endswith(("--output", "--keep-calibration", "--run")) and "label -" not in place
]
LATER, DEVICES = ("view --labels", "view --rows"), ("/dev/zero", "pipe.jsonl")
FILES = re.compile(r"\[?(FILE|OUT|LABELS|ROWS|FOLDER|RUN|SYSTEM)\b|A( |$)")


def commands(command, path=()):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))
    yield " ".join(path), command


def test_every_flag_that_takes_a_file_is_here():
    for path, command in commands(main):
        for parameter in command.params:
            flag = parameter.opts[-1] if isinstance(parameter, click.Option) else (parameter.name or "").upper()
            named = parameter.metavar or (parameter.name or "").upper()
            if FILES.match(named) or (path.startswith("runs ") and "NAME" in named):
                assert f"{path} {flag}" in PLACES


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "paths"
    folder.mkdir()
    (folder / "rows.jsonl").write_text(
        "".join(
            f'{{"id": "{n}", "s": {n % 2}, "answer": "x", "prediction": "x", "reference": "x"}}\n' for n in range(9)
        )
    )
    (folder / "labels.csv").write_text("id,label\n" + "".join(f"{n},{'good' if n % 2 else 'bad'}\n" for n in range(9)))
    request = {"custom_id": "a" * 64, "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}}
    (folder / "requests.jsonl").write_text(json.dumps(request) + "\n")
    (folder / "task.py").write_text("def answer(row):\n    return 'x'\n")
    for ending in ("jsonl", "toml"):
        os.mkfifo(folder / f"pipe.{ending}")
        (folder / f"folder.{ending}").mkdir()
        with (folder / f"large.{ending}").open("wb") as file:
            file.truncate(5_000_000_000)  # takes no room on the disk
    return folder


HOSTILE = ["/dev/zero", "/proc/self/mem", "pipe.jsonl", "pipe.toml", "folder.jsonl", "folder.toml", "large.jsonl"]
HOSTILE += ["large.toml"]


@pytest.fixture
def bounded():
    """Two GB more memory than now, and a minute."""

    def too_long(*_):
        raise TimeoutError("no end after a minute")

    now = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + (2 << 30), before[1]))
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="Linux has such files")
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file_is_refused(place, name, folder, tmp_path, monkeypatch, bounded):
    if place in FOLDERS and (name.startswith("folder") or (place == "score --run" and "/" not in name)):
        pytest.skip("this is what is expected there")
    if place in WRITTEN and name.startswith(("large", "/")):
        pytest.skip("a file is replaced whatever its size; a device of this machine would be, were there a mistake")
    if place in LATER and name not in DEVICES:
        pytest.skip("read when the page asks for it")
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(folder)
    runner = CliRunner()
    if "kept" in PLACES[place]:
        assert runner.invoke(main, ["score", "rows.jsonl", "-m", "exact_match", "--run", "kept"]).exit_code == 0
    words = PLACES[place].split()
    result = runner.invoke(main, [word.replace("{}", name) for word in words])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2), result.output
    assert result.stderr.count("Error") >= 1, result.output
