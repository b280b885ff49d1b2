"""Which modules a command imports: the time it takes to start is theirs. `bench/start.py` measures that time."""

import json
import subprocess
import sys

import numpy as np
import pytest

from karat.models.testing.fake import FakeServer

HEAVY = {"numpy", "pyarrow", "_duckdb", "rich", "pandas", "regex"}
NAMES = {f"karat.metrics.names.{name}" for name in ("languages", "legend", "presets")}  # which are not metrics
OPTIONAL = {
    *(
        "haystack",
        "httpx",
        "jsonschema",
        "matplotlib",
        "mcp",
        "mlflow",
        "onnxruntime",
        "openai",
        "pandas",
        "phoenix",
        "polars",
        "pyspark",
        "sentencex",
    ),
    *("rapidfuzz", "ray", "sacrebleu", "scipy", "sympy", "torch", "transformers"),
}
PLUGIN = """
import pandas as pd, pyarrow as pa
from karat import metric
from karat.kinds import Score, Text

@metric(source="a plugin")
def counted_by_pandas(prediction: Text) -> Score:
    '''1 for each answer.'''
    return pa.array(pd.Series([1.0] * len(prediction)))
"""


def loaded_by(statement, **options):
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **options)
    return set(done.stdout.splitlines()[-1].split())


def command(*words):
    return f"from karat.cli.main import main; main({list(words)!r}, standalone_mode=False)"


@pytest.fixture
def folder(tmp_path):
    rows = [{"question": "?", "prediction": "a", "reference": "a"}] * 11
    rows += [{"question": "?", "prediction": None, "reference": "a"}]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_import_karat_loads_nothing_heavy():
    loaded = loaded_by("import karat")
    assert "karat" in loaded
    assert not {*HEAVY, "click", "difflib"} & loaded


def test_the_command_line_loads_nothing_heavy_before_a_command_runs():
    loaded = loaded_by("import karat.cli.main")
    assert "click" in loaded
    assert not HEAVY & loaded
    assert not {name for name in loaded if name.startswith(("karat.cli.options", "karat.runs", "karat.core.metric"))}


def test_help_of_a_command_loads_nothing_heavy():
    loaded = loaded_by(command("score", "--help"))
    assert "karat.cli.score" in loaded
    assert not {*HEAVY, "hashlib", "importlib.metadata"} & loaded
    assert {name.split(".")[1] for name in loaded if name.startswith("karat.")} == {"cli", "core"}


def test_help_lists_commands_without_loading_them():
    assert not {name for name in loaded_by(command("--help")) if name.startswith("karat.cli.options")}


def test_scoring_loads_no_optional_package():
    rows = "[{'prediction': 'a', 'reference': 'a'}]"
    loaded = loaded_by(f"import karat; karat.score({rows}, 'token_f1')")
    assert "pyarrow" in loaded
    assert not (OPTIONAL - {"pandas"}) & loaded  # Arrow imports pandas where it is installed


def test_score_loads_the_modules_of_its_metrics_and_of_its_format_alone(folder):
    loaded = loaded_by(command("score", "answers.jsonl", "-m", "exact_match", "-m", "token_f1"), cwd=folder)
    metrics = {name for name in loaded if name.startswith("karat.metrics.") and name.count(".") == 3} - NAMES
    assert {"karat.metrics.text.match", "karat.metrics.text.overlap"} <= metrics
    assert len(metrics) <= 4
    assert "_duckdb" not in loaded
    unused = {
        "karat.data.spans.source",
        "karat.data.retrieval.group",
        "karat.data.formats.columnar",
        "karat.cli.compare",
    }
    unused |= {"regex", "rich.console", "pyarrow.parquet", "karat.runs.store.writer"}
    unused |= {"numpy.ma"} if np.__version__[0] != "1" else set()  # NumPy 1 always loads it
    assert not (OPTIONAL | unused) & loaded


def test_the_first_call_of_a_judge_loads_neither_pandas_nor_metrics(folder):
    words = ["score", "answers.jsonl", "-m", "judge:correctness", "--model", "small", "--no-cache"]
    with FakeServer() as server:
        loaded = loaded_by(command(*words, "--base-url", server.url), cwd=folder)
        assert server.calls == 11
    assert "karat.judges.judge" in loaded
    assert not (OPTIONAL - {"openai", "httpx"}) & loaded
    assert not {name for name in loaded if name.startswith("karat.metrics.") and name.count(".") == 3} - NAMES


def test_another_packages_metric_may_use_pandas(folder):
    pytest.importorskip("pandas")
    (folder / "counting.py").write_text(PLUGIN)
    statement = f"import counting; {command('score', 'answers.jsonl', '-m', 'counted_by_pandas', '--json')}"
    assert "pandas" in loaded_by(f"sys.path.insert(0, '.'); {statement}", cwd=folder)
