"""The values of a run, with intervals, beside what the format asks about the model, the data and who evaluated."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from karat.core.atomic import write_text
from karat.core.errors import DataError
from karat.core.metric.spec import parse
from karat.core.version import __version__
from karat.judges.judge import JudgeFunction
from karat.runs.compare.run_values import value_of
from karat.runs.match.systems import System, open_system
from karat.runs.store.manifest import ScoredMetric
from karat.runs.store.run import Run

SCHEMA = "0.2.1"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]


def write_record(
    system: System,
    path: str | Path,
    *,
    model: str,
    dataset: str,
    organization: str,
    relationship: Relationship = "other",
    hf_repo: str | None = None,
    developer: str | None = None,
) -> None:
    """Write a run's values as one JSON record: each metric with its range, its interval and its number of rows.

    `model`: the id of the model that answered, such as `openai/gpt-4o`; `developer`: who made it. `dataset`: the name
    of the data; `hf_repo`: its repository on the Hugging Face Hub. `organization` evaluated, and its `relationship` to
    the model's developer is first_party, third_party, collaborative or other.

    Raises `DataError` for a metric without a value and for another relationship.
    """
    run, now = open_system(system), datetime.now(UTC)
    if relationship not in (known := ("first_party", "third_party", "collaborative", "other")):
        raise DataError(f"relationship: expected {', '.join(known)}, found {relationship!r}")
    hub = {"source_type": "hf_dataset", "hf_repo": hf_repo} if hf_repo else {"source_type": "other"}
    model_info = {"name": model.rpartition("/")[2], "id": model, **({"developer": developer} if developer else {})}
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{dataset}/{model}/{now.timestamp()}",
        **({"evaluation_timestamp": run.manifest.created} if run.manifest.created else {}),
        "retrieved_timestamp": str(now.timestamp()),
        "source_metadata": {
            "source_name": run.name,
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": {"name": "karat", "version": __version__},
        "model_info": model_info,
        "evaluation_results": [
            {
                "evaluation_name": f"{dataset}: {metric.spec}",
                "source_data": {"dataset_name": dataset, **hub},
                "metric_config": _configuration(metric),
                "score_details": _score(run, metric),
            }
            for metric in run.manifest.metrics
        ],
    }
    write_text(Path(path), json.dumps(record, ensure_ascii=False, indent=2) + "\n")


def _configuration(metric: ScoredMetric) -> dict[str, Any]:
    """What the metric is; the format wants numbers as ends of the range, so the largest float stands for none."""
    parsed = parse(metric.spec)
    details = {"spec": metric.spec, **({"signature": metric.signature} if metric.signature else {})}
    ends = {"min_score": metric.low, "max_score": metric.high}
    details |= {name: "unbounded" for name, end in ends.items() if end is None}
    bounds = {"min_score": -sys.float_info.max, "max_score": sys.float_info.max}
    configuration: dict[str, Any] = {
        "evaluation_description": parsed.definition.summary,
        "lower_is_better": metric.direction == "minimize",
        "score_type": "continuous",
        **{name: bounds[name] if end is None else end for name, end in ends.items()},
    }
    judge = parsed.judge or parsed
    function, models = judge.definition.function, judge.settings.get("model")
    if isinstance(function, JudgeFunction) and models:
        model_names = models if isinstance(models, list | tuple) else [models]
        judges = [{"model_info": {"name": each.rpartition("/")[2], "id": each}} for each in model_names]
        configuration["llm_scoring"] = {"judges": judges, "input_prompt": function.rubric.task}
    return {**configuration, "additional_details": details}


def _score(run: Run, metric: ScoredMetric) -> dict[str, Any]:
    value = value_of(run, metric.spec)
    if value.value is None:
        raise DataError(f"{run.name}: {metric.spec} has no value, which the format wants")
    uncertainty: dict[str, Any] = {"num_samples": value.scored}
    if value.low is not None and value.high is not None:
        level = run.manifest.settings.get("confidence", 0.95)
        uncertainty["confidence_interval"] = {"lower": value.low, "upper": value.high, "confidence_level": level}
    return {
        "score": value.value,
        "details": {"rows": str(value.n), "unscored": str(value.unscored)},
        "uncertainty": uncertainty,
    }
