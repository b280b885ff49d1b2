"""The GitHub Action: its shell lines, run as a runner does, with karat itself and a `gh` that answers from files."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import karat

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = ACTION["runs"]["steps"]
MARK = "<!-- karat: karat -->"
GH = """
import json, os, shutil, subprocess, sys
here, words = os.environ["FAKE"], sys.argv[1:]
with open(here + "/calls", "a") as file:
    file.write(json.dumps(words) + "\\n")
if words[:2] == ["run", "download"]:
    shutil.copytree(here + "/main", words[words.index("--dir") + 1])
elif "--method" in words:
    if os.path.exists(here + "/forbidden"):
        sys.exit("HTTP 403")
    shutil.copy(words[-1].removeprefix("body=@"), here + "/body")
else:
    name = "artifacts" if "artifacts" in words[1] else "comments"
    done = subprocess.run(["jq", "-r", words[words.index("--jq") + 1], f"{here}/{name}.json"])
    sys.exit(done.returncode)
"""


class Runner:
    """Runs the steps of the action in a folder, as GitHub's runner does."""

    def __init__(self, folder, karat_program):
        self.folder, self.fake = folder, folder / "fake"
        (folder / "bin").mkdir()
        self.fake.mkdir()
        shutil.copy(karat_program, folder / "bin")
        self.put("gh", f"#!{sys.executable}\n{GH}")
        self.answer(artifacts=[], comments=[])

    def put(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def answer(self, artifacts, comments):
        (self.fake / "artifacts.json").write_text(json.dumps({"artifacts": artifacts}))
        (self.fake / "comments.json").write_text(json.dumps(comments))

    def write(self, right):
        """The file of answers, of which these are right."""
        rows = [{"id": n, "question": f"{n}?", "topic": "ab"[n % 2], "gold": "yes"} for n in range(60)]
        answers = [row | {"prediction": "yes" if ok else "no @all"} for row, ok in zip(rows, right, strict=True)]
        (self.folder / "answers of today.jsonl").write_text("\n".join(map(json.dumps, answers)))

    def run(self, number="", **inputs):
        """The exit code of the step that failed, else 0; `said` has what was printed, `outputs` what steps set."""
        defaults = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
        given = {"answers": "answers of today.jsonl", "metrics": "exact_match\ntoken_f1\n"}
        known = {f"inputs.{name}": value for name, value in (defaults | given | inputs).items()}
        known |= {"runner.temp": str(self.folder / "temp"), "github.action_path": str(ROOT), "github.token": "t"}
        known |= {"github.event.repository.default_branch": "main", "github.event.pull_request.number": number}
        self.said, self.temp = "", self.folder / "temp" / "karat" / "karat"
        for step in STEPS:
            if "run" not in step or not evaluate(step.get("if", "'yes'"), known):
                continue
            files = {name: self.folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
            files["GITHUB_OUTPUT"].write_text("")
            env = {name: fill(value, known) for name, value in step["env"].items()}
            env |= {name: str(path) for name, path in files.items()} | {"FAKE": str(self.fake)}
            env |= {"GITHUB_REPOSITORY": "own/repo", "GITHUB_RUN_ID": "9"}
            env["PATH"] = f"{self.folder / 'bin'}:/usr/bin:/bin"
            (self.folder / "step.sh").write_text(step["run"])
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "step.sh"]
            outer = {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "HOME", "COV"))}
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            done = subprocess.run(command, check=False, cwd=self.folder, env=outer | env, **pipes)
            self.said += done.stdout
            for line in files["GITHUB_OUTPUT"].read_text().splitlines():
                name, _, value = line.partition("=")
                known[f"steps.{step['id']}.outputs.{name}"] = value
            if done.returncode:
                return done.returncode
        return 0

    @property
    def comment(self):
        return (self.temp / "comment.md").read_text("utf-8")

    @property
    def calls(self):
        return [json.loads(line) for line in (self.fake / "calls").read_text().splitlines()]


def evaluate(expression, known):
    """The value of an expression of GitHub, of names, texts, `==`, `&&` and `||`."""
    names = re.sub(
        r"'[^']*'|[a-z_]+(?:\.[\w-]+)+", lambda part: repr(known.get(part[0], part[0].strip("'"))), expression
    )
    assert "steps." not in names, f"{expression}: no step set it"
    return eval(names.replace("&&", "and").replace("||", "or"), {})  # noqa: S307  (we wrote it)


def fill(text, known):
    return re.sub(r"\$\{\{ (.+?) \}\}", lambda part: str(evaluate(part[1], known)), text)


@pytest.fixture
def runner(tmp_path, karat_program):
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    return Runner(tmp_path, karat_program)


def artifact(number, branch="main", repository=1, *, expired=False):
    run = {"id": number, "head_branch": branch, "head_repository_id": repository, "repository_id": 1}
    return {"id": 100 + number, "expired": expired, "workflow_run": run}


def test_a_first_run_has_values_and_no_baseline(runner):
    runner.write([n % 3 > 0 for n in range(60)])
    code = runner.run(options="--by topic --where \"topic = 'a'\"", **{"fail-under": "exact_match=0.6\n"})
    assert code == 0, runner.said
    assert "::notice::there is no run of main to compare with" in runner.said
    assert runner.comment.startswith("### candidate: 30 rows\n")
    assert "| exact\\_match | 66.7 |" in runner.comment
    assert "There is no run of main to compare with yet." in runner.comment
    assert (runner.folder / "GITHUB_STEP_SUMMARY").read_text("utf-8") == runner.comment
    assert not any("--method" in call for call in runner.calls)


def test_a_pull_request_is_compared_with_main_and_commented_on(runner, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(runner.fake))
    runner.write([n % 5 > 0 for n in range(60)])
    karat.score(runner.folder / "answers of today.jsonl", ["exact_match", "token_f1"], run="main")
    runner.write([n % 3 > 1 for n in range(60)])
    theirs = [artifact(8, "feature"), artifact(7, repository=2), artifact(6, expired=True), artifact(9)]
    runner.answer([*theirs, artifact(5), artifact(4)], [{"id": 1, "user": {"type": "User"}, "body": MARK}])
    gates = {"fail-under": "exact_match[topic=a].low=0.9", "options": "--by topic", "fail-unscored": "0.1"}
    assert runner.run("12", **gates, **{"fail-if-worse": "false"}) == 3, runner.said
    assert ["run", "download", "5", "--repo", "own/repo", "--name", "karat"] in [call[:7] for call in runner.calls]
    assert runner.calls[-1][:4] == ["api", "--method", "POST", "repos/own/repo/issues/12/comments"]
    body = (runner.fake / "body").read_text("utf-8")
    assert body == f"{MARK}\n{runner.comment}"
    assert body.splitlines()[1] == "### ▼ candidate against baseline: worse in 2 of 2 tests"
    assert "\n**A gate is not passed:**\n\n    exact_match[topic=a].low is 0." in body
    assert "baseline was scored on 20" in body
    assert "@&#8203;all" in body


def test_a_later_run_replaces_its_comment_and_what_is_worse_fails_where_none_can_be_written(runner, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(runner.fake))
    runner.write([True] * 60)
    karat.score(runner.folder / "answers of today.jsonl", "exact_match", run="main")
    runner.write([False] * 60)
    ours = {"id": 34, "user": {"type": "Bot"}, "body": f"{MARK}\n### …"}
    runner.answer([artifact(5)], [{"id": 33, "user": {"type": "Bot"}, "body": "### other"}, ours])
    (runner.fake / "forbidden").touch()
    assert runner.run("12", metrics="exact_match", **{"fail-unless-no-worse": "0.02\nexact_match=0.02"}) == 4
    assert "::error::worse than the last run" in runner.said
    assert "::warning::no comment" in runner.said
    assert runner.calls[-1][:4] == ["api", "--method", "PATCH", "repos/own/repo/issues/comments/34"]


def test_the_summary_has_the_values_of_a_run_that_cannot_be_compared(runner, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(runner.fake))
    others = [{"id": n, "question": f"another {n}", "gold": "no", "prediction": "no"} for n in range(9)]
    karat.score(others, "exact_match", run="main")
    runner.write([True] * 60)
    runner.answer([artifact(5)], [])
    assert runner.run(metrics="exact_match") == 1
    assert "::error::not compared with the last run" in runner.said
    summary = (runner.folder / "GITHUB_STEP_SUMMARY").read_text("utf-8")
    assert "| exact\\_match | 100.0 |" in summary
    assert "**Not compared with the last run of main:**" in summary


def test_the_baseline_of_later_runs_is_one_that_passed():
    names = [step["name"] for step in STEPS]
    _, kept, failed = STEPS[names.index("Gate") :]
    assert kept["with"]["name"] == "${{ inputs.name }}"
    assert "if" not in kept  # so that it runs only where the gate has passed
    assert failed["with"]["name"] != kept["with"]["name"]
    assert failed["if"].startswith("failure()")


def test_what_cannot_be_scored_stops_the_action(runner):
    runner.write([False] * 60)
    assert runner.run(metrics="exact_mtch") == 2
    assert "did you mean 'exact_match'?" in runner.said


def test_karat_is_installed_from_the_action_with_its_extras(runner):
    (runner.folder / "bin" / "karat").unlink()
    runner.put("python3", '#!/bin/sh\necho "python3 $*"\nexit 7\n')
    assert runner.run(extras="judge") == 7
    assert runner.said == f"python3 -m pip install --quiet {ROOT}[judge]\n"


def test_texts_reach_the_shell_as_variables_only():
    assert not [step["name"] for step in STEPS if "${{" in step.get("run", "")]
    assert all(step.get("shell") == "bash" for step in STEPS if "run" in step)


def test_the_workflow_of_the_documentation_fits_the_action():
    page = (ROOT / "docs" / "how-to" / "ci.md").read_text("utf-8")
    workflow = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    steps = workflow["jobs"]["answers"]["steps"]
    given = next(step["with"] for step in steps if "karat@" in step.get("uses", ""))
    required = {name for name, each in ACTION["inputs"].items() if each.get("required")}
    assert required <= given.keys() <= ACTION["inputs"].keys()
    assert workflow["permissions"] == {"contents": "read", "actions": "read", "pull-requests": "write"}
