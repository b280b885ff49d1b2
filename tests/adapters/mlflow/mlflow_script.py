"""Runs in MLflow's environment, in an empty folder: logs a run, evaluates with scorers, and says what MLflow holds."""

import json
import sys
import warnings

import mlflow

import karat
from karat.adapters.mlflow import log_run, scorer
from karat.core.errors import DataError, SpecError

warnings.simplefilter("ignore")
mlflow.set_tracking_uri("sqlite:///mlflow.db")
ROWS = {"id": [1, 2, 3], "prediction": ["x y", "z", None], "reference": ["x", "z", "x"]}
result = karat.score(ROWS, ["exact_match", "token_f1(normalize='none')"], run="first")
logged = mlflow.get_run(log_run("first", experiment="answers"))
table = mlflow.load_table("karat_rows.json", run_ids=[logged.info.run_id])
artifacts = mlflow.artifacts.load_dict(f"{logged.info.artifact_uri}/karat/values.json")

data = [
    {"inputs": {"question": "?"}, "outputs": outputs, "expectations": {"expected_response": "x"}}
    for outputs in ("x", {"answer": "x y"}, None)
]
evaluated = mlflow.genai.evaluate(data=data, scorers=[scorer("exact_match"), scorer("f1", name="overlap")])
feedback = [
    {each["assessment_name"]: each.get("feedback", {}).get("value") for each in row if "feedback" in each}
    for row in evaluated.result_df["assessments"]
]
errors = []
for call in (lambda: scorer("exact_mach"), lambda: scorer("bleu"), lambda: log_run("frist")):
    try:
        call()
    except (SpecError, DataError) as error:
        errors.append(str(error))
printed = {
    "metrics": logged.data.metrics,
    "params": logged.data.params,
    "tags": {name: value for name, value in logged.data.tags.items() if name.startswith("karat.")},
    "table": json.loads(table.to_json(orient="records")),
    "values": artifacts,
    "means": {name: float(value) for name, value in evaluated.metrics.items()},
    "feedback": feedback,
    "errors": errors,
}
sys.stdout.write(json.dumps(printed, default=str))
