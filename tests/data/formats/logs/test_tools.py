"""Files of other tools, each by the one command of the documentation, to the figure that the tool itself states."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from statistics import fmean

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from karat.cli.main import main
from karat.data.open import open_source
from karat.data.paths.known import find_inside, find_layout_paths

ROOT = Path(__file__).parents[4]
SAMPLES = ROOT / "tests" / "data" / "formats" / "samples"
TABLE = re.findall(
    r"^\|.*\| `(karat .+)` \| ?([\d.]*) \| ([\d.]+) \|$", (ROOT / "docs/how-to/logs.md").read_text(), re.MULTILINE
)


def document(name):
    return json.loads((SAMPLES / name).read_text())


def lines(name):
    return [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]


def cells(name, column):
    with (SAMPLES / name).open(newline="") as file:
        return [float(row[column]) for row in csv.DictReader(file)]


def first_scores(name):
    """The cells under the first of the columns `Score`."""
    with (SAMPLES / name).open(newline="") as file:
        header, *rows = csv.reader(file)
    return [float(row[header.index("Score")]) for row in rows]


def column(name, column):
    table = document(name)
    return [row[table["columns"].index(column)] for row in table["data"]]


def filtered(name):
    return fmean(row["exact_match"] for row in lines("lm_eval_filters.jsonl") if row["filter"] == name)


def successes(name):
    stats = document(name)["results"]["stats"]
    return stats["successes"] / (stats["successes"] + stats["failures"] + stats["errors"])


STATED = {
    "strict-match": lambda: filtered("strict-match"),
    "flexible-extract": lambda: filtered("flexible-extract"),
    "lm_eval_choices": lambda: fmean(row["acc"] for row in lines("lm_eval_choices.jsonl")),
    "lighteval": lambda: fmean(
        row["em"] for row in pq.read_table(SAMPLES / "lighteval_details.parquet")["__metric__"].to_pylist()
    ),
    "inspect": lambda: document("inspect.json")["results"]["scores"][0]["metrics"]["accuracy"]["value"],
    "helm": lambda: fmean(row["stats"]["quasi_exact_match"] for row in document("helm_display_predictions.json")),
    "opencompass": lambda: fmean(row["prediction"] == row["gold"] for row in document("opencompass.json").values()),
    "evalscope": lambda: fmean(
        row["sample_score"]["score"]["value"]["acc"] for row in lines("evalscope_reviews.jsonl")
    ),
    "promptfoo.jsonl": lambda: document("promptfoo.json")["results"]["prompts"][0]["metrics"]["score"] / 4,
    "promptfoo.json ": lambda: successes("promptfoo.json"),
    "promptfoo.csv": lambda: fmean(first_scores("promptfoo.csv")),
    "openai_evals": lambda: lines("openai_evals.jsonl")[1]["final_report"]["accuracy"],
    "deepeval_result": lambda: fmean(row["success"] for row in document("deepeval_result.json")["test_results"]),
    "deepeval.json": lambda: fmean(document("deepeval.json")["metricsScores"][0]["scores"]),
    "ragas": lambda: fmean(cells("ragas.csv", "faithfulness")),
    "mlflow_eval": lambda: fmean(column("mlflow_eval.json", "exact_match/v1/score")),
    "mlflow_genai": lambda: fmean(pq.read_table(SAMPLES / "mlflow_genai.parquet")["exact_match/value"].to_pylist()),
    "mlflow_traces": lambda: fmean(
        row["info"]["assessments"][0]["feedback"]["value"] for row in lines("mlflow_traces.jsonl")
    ),
    "langsmith.csv": lambda: fmean(cells("langsmith.csv", "correctness")),
    "langsmith_frame": lambda: fmean(cells("langsmith_frame.csv", "feedback.correctness")),
    "langfuse": lambda: fmean(cells("langfuse.csv", "accuracy")),
    "braintrust": lambda: fmean(row["scores"]["ExactMatch"] for row in lines("braintrust.jsonl")),
    "weave": lambda: fmean(row["output"]["scores"]["exact"]["correct"] for row in lines("weave.jsonl")),
    "every_eval_ever.jsonl": lambda: fmean(row["evaluation"]["score"] for row in lines("every_eval_ever.jsonl")),
    "every_eval_ever.json ": lambda: fmean(
        row["score_details"]["score"] for row in document("every_eval_ever.json")["evaluation_results"]
    ),
}


def test_the_table_names_every_sample_and_every_figure_that_a_sample_states():
    commands = " ".join(command for command, *_ in TABLE)
    further = {"SOURCES.md", "documents.jsonl", "nodes.jsonl", "dpr_retriever.json"}
    assert [path.name for path in SAMPLES.iterdir() if path.name not in commands and path.name not in further] == []
    assert all(any(key in command for command, *_ in TABLE) for key in STATED)


@pytest.mark.parametrize(("command", "stated", "value"), TABLE, ids=[command for command, *_ in TABLE])
def test_the_command_of_the_documentation_gives_the_tools_own_figure(command, stated, value, monkeypatch):
    monkeypatch.chdir(SAMPLES)
    found = CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"])
    assert found.exit_code == 0, found.output
    (metric,) = json.loads(found.stdout)["metrics"]
    assert metric["value"] == pytest.approx(float(value), abs=5e-5)
    of_tool = [figure() for key, figure in STATED.items() if key in command]
    assert of_tool == ([pytest.approx(float(stated), abs=5e-5)] if stated else [])
    assert metric["value"] == pytest.approx(of_tool[0]) if of_tool else metric["scored"]


@pytest.mark.parametrize(
    ("file", "texts"), [("documents.jsonl", "contexts[*].page_content"), ("nodes.jsonl", "contexts[*].node.text")]
)
def test_documents_of_langchain_and_llamaindex_are_contexts(file, texts):
    inside = find_inside(open_source(SAMPLES / file), {"contexts": "contexts"})
    assert inside == {"contexts": texts}


def test_the_retriever_of_dpr_has_contexts_and_ranked_ids():
    found = find_layout_paths(open_source(SAMPLES / "dpr_retriever.json"), ["reference", "contexts", "retrieved"])
    assert found == {"reference": "answers", "contexts": "ctxs[*].text", "retrieved": "ctxs[*].id"}


def test_the_tool_is_named_in_one_line(monkeypatch):
    monkeypatch.chdir(SAMPLES)
    found = CliRunner().invoke(main, ["score", "promptfoo.jsonl", "-m", "exact_match"])
    expected = "promptfoo: prediction ← response.output  reference ← testCase.assert[type=equals].value"
    assert found.output.splitlines()[0] == expected
