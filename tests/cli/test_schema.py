"""The schemas of what commands print with --json, and `karat schema`, which prints them."""

import copy
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.cli.options.printed import PRINTED, load_schema

Draft202012Validator = pytest.importorskip("jsonschema").Draft202012Validator
ValidationError = pytest.importorskip("jsonschema").ValidationError

TUTORIAL = Path(__file__).parents[2] / "examples" / "tutorial"
SCORED = ["score", str(TUTORIAL / "first.jsonl"), "-m", "exact_match", "-m", "token_f1", "--json"]


def printed(*words):
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return result.stdout


def commands(group, name=""):
    """Each command with its name, those of groups too."""
    for word in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), word)
        yield f"{name} {word}".strip(), command
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {word}".strip())


def test_every_command_with_json_has_a_schema_and_no_other_has():
    found = [name for name, command in commands(main) if any("--json" in each.opts for each in command.params)]
    assert sorted(found) == list(PRINTED) == printed("schema").splitlines()


@pytest.mark.parametrize("name", PRINTED)
def test_schemas_are_schemas_of_which_all_parts_are_found(name):
    schema = json.loads(printed("schema", *name.split()))
    Draft202012Validator.check_schema(schema)
    assert schema == load_schema(name)
    assert schema["title"] == f"karat {name} --json"
    text = json.dumps(schema)
    assert all(f'"#/$defs/{each}"' in text for each in schema.get("$defs", {}))


def test_a_command_without_a_schema_is_named_with_the_nearest():
    result = CliRunner().invoke(main, ["schema", "comparee"])
    assert result.exit_code == 2
    assert "no command 'comparee' has --json; did you mean 'compare'?" in result.output


def test_what_every_command_prints_is_as_its_schema_says(monkeypatch, tmp_path):
    """The fixture of conftest.py compares; here each command prints at least once, and with all it can hold."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    for system in ("first", "second"):
        answers, labels = str(TUTORIAL / f"{system}.jsonl"), TUTORIAL / f"labels_{system}.csv"
        human = ["--human", str(labels), "--label-map", "right=1,wrong=0", "--on", "id"]
        printed(
            "score", answers, "-m", "exact_match", "-m", "token_f1", "--by", "topic", "--run", system, "--json", *human
        )
        printed("runs", "show", system, "--json", *human)
    printed("runs", "--json")
    verified = [json.loads(line) for line in printed("runs", "verify", "--json").splitlines()]
    assert [(each["name"], each["state"]) for each in verified] == [("first", "intact"), ("second", "intact")]
    CliRunner().invoke(main, ["runs", "bundle", "first", "-o", "first.zip"])
    CliRunner().invoke(main, ["verify", "first.zip", "--json"])
    pair = [f"{name}={TUTORIAL / f'labels_{name}.csv'}" for name in ("first", "second")]
    people = ["--human", pair[0], "--human", pair[1], "--label-map", "right=1,wrong=0"]
    printed("compare", "first", "second", "--flipped", "3", "--by", "topic", *people, "--json")
    printed("power", "--run", "first", "--difference", "0.02", "--json")
    printed("power", "--run", "first", "--width", "0.2", "--json")
    (tmp_path / "three.jsonl").write_text('{"p": [1, 0]}\n{"p": [1, 1]}\n{"p": [0, 1]}\n', "utf-8")
    printed("score", "three.jsonl", "-m", "intraclass_correlation(column(p))", "--run", "three", "--json")
    printed("power", "--run", "three", "--answers", "--json")
    for words in (["--worst", "2"], ["second", "--first", "2"], ["second", "--counts"]):
        printed("show", "first", *words, "--json")
    labels = str(TUTORIAL / "labels_first.csv")
    printed("judge", "first", "--human", labels, "--label-map", "right=1,wrong=0", "--on", "id", "--by", "topic",
            "--errors", "2", "--json")  # fmt: skip
    Path("task.py").write_text("def task(question):\n    return question\n")
    printed("experiment", "task.py:task", "--data", answers, "--map", "reference=gold", "-m", "exact_match", "--json")


def test_another_output_is_refused():
    """Else the schemas could say anything."""
    validator, output = Draft202012Validator(load_schema("score")), json.loads(printed(*SCORED))
    validator.validate(output)
    for change in (
        lambda changed: changed.pop("n"),
        lambda changed: changed.update(more=1),
        lambda changed: changed["metrics"][0].update(value="0.5"),
        lambda changed: changed["metrics"][0].pop("low"),
    ):
        changed = copy.deepcopy(output)
        change(changed)
        with pytest.raises(ValidationError):
            validator.validate(changed)
