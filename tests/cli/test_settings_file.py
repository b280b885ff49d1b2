"""Options from `karat.toml` and `[tool.karat]`: they are those of the command line, which wins."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from karat import open_run
from karat.cli.main import main
from karat.cli.options.settings_file import find_settings

ROWS = "prediction,gold\nParis,Paris\nthe Seine,Seine\nLyon,Rome\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "nightly").mkdir()
    monkeypatch.chdir(tmp_path / "nightly")
    Path("rows.csv").write_text(ROWS)

    def invoke(settings, *words, name="karat.toml"):
        (tmp_path / name).write_text(settings)
        return CliRunner().invoke(main, list(words))

    return invoke


@pytest.mark.parametrize(("name", "table"), [("karat.toml", ""), ("pyproject.toml", "tool.karat.")])
def test_a_short_command_takes_the_rest_from_a_file_further_up_and_the_run_says_so(run, tmp_path, name, table):
    settings = f"[{table}score]\nmetric = ['em', 'f1']\nmap = {{ reference = 'gold' }}\noutput = 'scored.csv'\n"
    done = run(settings, "score", "rows.csv", "--run", "first", name=name)
    assert (done.exit_code, done.stderr.count("--metric em --metric f1 --map reference=gold")) == (0, 1)
    assert (tmp_path / "scored.csv").exists()  # a path is relative to the file
    manifest = open_run("first").manifest
    assert [each.spec for each in manifest.metrics] == ["em", "f1"]
    assert f"# ../{name}" in manifest.call
    typed = run(settings, "score", "rows.csv", "-m", "exact_match", "--json", name=name)
    assert [each["spec"] for each in json.loads(typed.stdout)["metrics"]] == ["exact_match"]


def test_what_is_about_models_does_not_keep_other_metrics_from_being_scored(run):
    models = "model = 'small'\nbase-url = 'http://localhost:9/v1'\nprice = [1, 4]\nextra-body = { top_p = 0.9 }\n"
    done = run(models, "score", "rows.csv", "-m", "em")
    assert done.exit_code == 0, done.stderr
    assert "--max-calls is about models" in run(models, "score", "rows.csv", "-m", "em", "--max-calls", "3").stderr
    rows = ["--map", "question=gold", "--map", "reference=gold", "--dry-run"]
    asked = run(models, "score", "rows.csv", "-m", "judge:correctness", *rows)
    assert "3 calls" in asked.stdout, asked.stderr
    assert "--model small" in asked.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("max-cals = 3", "karat.toml: max-cals: no such option; did you mean 'max-calls'?"),
        ("[score]\nmetrc = 'em'", "karat.toml: [score] metrc: no such option; did you mean 'metric'?"),
        ("[scores]\nmetric = 'em'", "karat.toml: scores: no such option; did you mean 'score'?"),
        ("max-calls = 'many'", "karat.toml: 'many' is not a valid integer"),
        ("[score]\nfail-unscored = true", "karat.toml: [score] fail-unscored: expected no true or false"),
        ("[score]\nresume = 1", "karat.toml: [score] resume: expected true or false"),
        ("api-key = 'abc'", "set an environment variable, such as OPENAI_API_KEY"),
        ("base-url = 'http://me:abc@host/v1'", "set an environment variable, such as OPENAI_API_KEY"),
        ("extra-body = { api_key = 'abc' }", "set an environment variable, such as OPENAI_API_KEY"),
        ("model = ", "karat.toml cannot be read: Invalid value"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_key(run, settings, message):
    told = run(settings, "score", "rows.csv", "-m", "em")
    assert told.exit_code == 2
    assert message in told.stderr
    assert "abc" not in told.stderr


@pytest.mark.parametrize(
    ("url", "typed", "place", "refused"),
    [
        ("https://elsewhere.invalid/v1", (), "", True),
        ("https://elsewhere.invalid/v1", (), "https://elsewhere.invalid:8443/v1", True),
        ("https://127.0.0.1.elsewhere.invalid/v1", (), "", True),
        ("https://elsewhere.invalid/v1", (), "https://elsewhere.invalid/other", False),
        ("https://elsewhere.invalid/v1", ("--base-url", "https://elsewhere.invalid/v1"), "", False),
        ("http://127.0.0.1:9/v1", (), "", False),
    ],
)
def test_an_address_in_a_file_gets_no_key_of_the_environment(run, monkeypatch, url, typed, place, refused):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", place)
    seen = []
    monkeypatch.setattr("karat.cli.options.models.open_governor", lambda *_: seen.append(1) or 1 / 0)
    settings = f"model = 'm'\nbase-url = '{url}'\n[score]\nmap = {{ question = 'gold', reference = 'gold' }}\n"
    told = run(settings, "score", "rows.csv", "-m", "judge:correctness", *typed)
    assert (told.exit_code == 2, not seen) == (refused, refused), told.output
    assert (f"type --base-url {url}, or set OPENAI_BASE_URL to it" in told.stderr) == refused
    assert run(settings, "score", "rows.csv", "-m", "judge:correctness", "--dry-run").exit_code != 2  # nothing is sent
    assert run(settings.partition("[")[0], "score", "rows.csv", "-m", "em").exit_code == 0  # nothing is asked
    monkeypatch.delenv("OPENAI_API_KEY")
    seen.clear()
    run(settings, "score", "rows.csv", "-m", "judge:correctness")
    assert seen  # no key, nothing to lose


def test_the_options_are_the_schema_and_commands_that_take_none_are_left_alone(run):
    schema = json.loads(run("max-cals = 3", "schema", "karat.toml").stdout)
    assert schema["properties"]["score"]["properties"]["max-calls"]["type"] == "integer"
    assert schema["properties"]["model"]["type"][0] == "string"


@pytest.mark.parametrize("content", ["[project", "[tool]\nx = 1\n", "tool = 3\n", "\ufffe"])
def test_a_project_that_does_not_speak_of_karat_is_left_alone(run, content):
    assert run(content, "score", "rows.csv", "-m", "em", name="pyproject.toml").exit_code == 0


def test_a_project_with_another_value_for_karat_is_told(run):
    told = run("[tool]\nkarat = 3\n", "score", "rows.csv", "-m", "em", name="pyproject.toml")
    assert "pyproject.toml: tool.karat: expected a table, [tool.karat]" in told.stderr


@pytest.mark.usefixtures("run")
def test_a_folder_that_was_removed_has_no_file(tmp_path):
    (tmp_path / "nightly" / "rows.csv").unlink()
    (tmp_path / "nightly").rmdir()
    assert find_settings() is None
