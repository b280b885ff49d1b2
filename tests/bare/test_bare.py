"""What works with the core alone, and what is said where an extra is needed."""

import json
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[1] / "data" / "formats" / "samples"

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
    "-m token_similarity(model='a/model')": "onnx",
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
    metrics = ("-m", "exact_match", "-m", "token_f1", "-m", "rougeL", "-m", "bleu", "-m", "percentile(seconds, p=50)")
    for name in ("a", "b"):
        done = bare("score", "rows.jsonl", *metrics, "--by", "topic", "--run", name, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "0.5000" in done.stdout
    for command in (
        ("compare", "a", "b"),
        ("compare", "a", "b", "--rank", "-m", "token_f1"),
        ("runs",),
        ("runs", "show", "a"),
        ("show", "a", "--worst", "2"),
        ("report", "a", "b", "-o", "report.html"),
        ("power", "--metric", "token_f1", "--run", "a", "--difference", "0.1"),
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


def test_a_judge_needs_no_extra(bare, folder):
    words = ["score", "rows.jsonl", "-m", "judge:correctness", "--model", "any", "--base-url", "http://127.0.0.1:9/v1"]
    done = bare(*words, "--dry-run", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = bare(*words, cwd=folder)
    assert done.returncode == 1
    assert "no connection" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "score",
        "doctor",
        "fake-llm",
        "power",
        "compare",
        "report",
        "runs",
        "show",
        "metrics",
        "experiment",
        "view",
        "mcp",
        "schema",
        "demo",
        "init",
    ],
)
def test_help_is_there_without_an_extra(bare, folder, command):
    done = bare(command, "--help", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout
    assert f"  karat {command}" in done.stdout  # an example


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("EM", None),
        ("rouge1", None),
        ("accuracy", None),
        ("f1_score", "f1_score may be token_f1 (of the words of two texts, as in SQuAD) or label_f"),
        ("bertscore", "a model is needed, such as model="),
        ("faithfulness", "faithfulness asks a language model: -m judge:faithfulness --model NAME"),
        ("meteor", "meteor is not among karat's metrics: it needs WordNet; rouge_l"),
        ("exact_mtch", "did you mean 'exact_match'?"),
        ("zzz", '"karat metrics" lists all'),
    ],
)
def test_names_of_metrics_are_understood_or_answered_in_a_line(bare, folder, name, message):
    done = bare("score", "rows.jsonl", "-m", name, cwd=folder)
    assert (done.returncode == 0) == (message is None), done.stderr
    if message is not None:
        assert message in done.stderr
        assert len(done.stderr) < 400


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"a": 1, "b": 2}, "row 1: column 'prediction' (prediction) holds objects with the keys 'a', 'b'"),
        ([["x"]], "row 1, column 'prediction': expected text"),
        (["x", "y"], "several a row. Which of them counts?"),
    ],
)
def test_objects_and_lists_where_text_is_expected_name_file_column_and_what_to_type(bare, tmp_path, cell, message):
    rows = [{"prediction": cell, "reference": "x"}] * 2
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = bare("score", "a.jsonl", "-m", "exact_match", cwd=tmp_path)
    assert done.returncode == 1
    assert "a.jsonl" in done.stderr
    assert message in done.stderr
    assert "--map prediction=prediction" in done.stderr or "exact_match(samples='first')" in done.stderr


def test_a_log_of_mlflow_and_a_gate_with_a_typo(bare, tmp_path):
    done = bare("score", str(SAMPLES / "mlflow_eval.json"), "-m", "exact_match", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    gate = ("--fail-under", "exct_match=0.5")
    done = bare("score", str(SAMPLES / "mlflow_eval.json"), "-m", "exact_match", *gate, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "exct_match is not among the metrics scored; did you mean 'exact_match'?" in done.stderr


def test_the_core_is_ten_packages_within_300_mebibytes(bare):
    """Without compiled Python; nine tenths are pyarrow, DuckDB and numpy."""
    entries = [path.resolve() for path in bare.packages.iterdir()]
    names = sorted(path.name for path in entries if path.suffix in {".dist-info", ".egg-info"})
    files = (path for entry in entries for path in (entry.rglob("*") if entry.is_dir() else [entry]))
    size = sum(path.stat().st_size for path in files if path.is_file() and path.suffix not in {".c", ".pyc"})
    assert len(names) <= 10, names
    assert size < 300 * 2**20, size
