"""What works with the core alone, and what is said where an extra is needed."""

import json

import pytest

ROWS = [
    {
        "id": 1,
        "question": "Where?",
        "topic": "art",
        "prediction": "the cat sat",
        "reference": ["cat sat down", "dog"],
        "seconds": 1.5,
    },
    {"id": 2, "question": "Who?", "topic": "law", "prediction": "Paris", "reference": ["Paris"], "seconds": 0.5},
    {"id": 3, "question": "What?", "topic": "law", "prediction": None, "reference": ["Rome"], "seconds": 2.5},
]
OF_EXTRAS = {  # arguments that need an extra, and the extra
    "-m ter": "text",
    "-m levenshtein": "text",
    "-m token_similarity(model='a/model')": "onnx",
    "-m judge:correctness --model any": "judge",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return tmp_path


def test_doctor_lists_all_that_is_missing_and_how_to_get_it(bare, folder):
    done = bare("doctor", cwd=folder)
    assert done.returncode == 0, done.stderr
    for extra in ("text", "math", "judge", "semantic", "onnx", "haystack", "phoenix", "plot", "view", "ray", "spark"):
        assert f"pip install 'karat[{extra}]'" in done.stdout
    assert "duckdb" in done.stdout


def test_scores_are_kept_compared_ranked_shown_and_reported(bare, folder):
    metrics = ("-m", "em", "-m", "f1", "-m", "rougeL", "-m", "bleu", "-m", "percentile(seconds, p=50)")
    for name in ("a", "b"):
        done = bare("score", "rows.jsonl", *metrics, "--by", "topic", "--run", name, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "0.5000" in done.stdout
    for command in (
        ("compare", "a", "b"),
        ("rank", "a", "b", "-m", "f1"),
        ("runs",),
        ("runs", "show", "a"),
        ("show", "a", "--worst", "2"),
        ("report", "a", "b", "-o", "report.html"),
        ("power", "--metric", "f1", "--run", "a", "--difference", "0.1"),
        ("metrics",),
        ("metrics", "token_f1"),
        ("schema",),
    ):
        done = bare(*command, cwd=folder)
        assert done.returncode == 0, (command, done.stderr)


def test_the_example_is_shown_and_a_folder_gets_a_start(bare, folder):
    done = bare("demo", "-o", "demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "after is better than before by" in done.stdout
    assert (folder / "demo" / "report.html").exists()
    done = bare("init", "demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "can be compared: after.jsonl, before.jsonl" in done.stdout


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.jsonl.gz"])
def test_every_format_is_written_and_read(bare, folder, name):
    written = bare("score", "rows.jsonl", "-m", "contains", "-o", name, cwd=folder)
    assert written.returncode == 0, written.stderr
    read = bare("score", name, "-m", "column(contains)", "--json", cwd=folder)
    assert read.returncode == 0, read.stderr
    assert json.loads(read.stdout)["metrics"][0]["scored"] == 2


@pytest.mark.parametrize("arguments", OF_EXTRAS)
def test_a_metric_of_an_extra_says_what_to_install(bare, folder, arguments):
    done = bare("score", "rows.jsonl", *arguments.split(), cwd=folder)
    assert done.returncode != 0
    assert f"karat[{OF_EXTRAS[arguments]}]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "score",
        "compare",
        "rank",
        "report",
        "runs",
        "show",
        "metrics",
        "experiment",
        "view",
        "mcp",
        "schema",
        "annotate",
        "demo",
        "init",
    ],
)
def test_help_is_there_without_an_extra(bare, folder, command):
    done = bare(command, "--help", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout
