"""A metric or a judge of karat as a scorer of `mlflow.genai.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karat.core.errors import MissingExtra, SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.spec import parse
from karat.runs.scoring.pipeline import score


def scorer(metric: str | Metric, *, name: str | None = None, map: Mapping[str, str] | None = None) -> Any:  # noqa: A002  (as in karat.score)
    """A `Scorer` of MLflow that gives each row its score by a metric, with a judge's explanation as rationale.

    A row is `inputs` and `expectations`, whose keys are its columns, and `outputs`: the prediction, or columns where it
    is a dict. Columns are recognised by name (`expected_response`, `question`, …); `map` says which one is what, as in
    `karat.score`. `name`: by default the metric's spec. A row without a score is an error with its reason.

    Raises `SpecError` for a metric that does not exist, and for one whose value is not the mean of its scores: MLflow
    takes that mean. Raises `MissingExtra` without MLflow.
    """
    try:
        from mlflow.entities import AssessmentSource, Feedback  # noqa: PLC0415  (slow to import, and an extra)
        from mlflow.genai.scorers import scorer as make_scorer  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingExtra("mlflow", extra="mlflow", need="scorer") from None
    chosen = parse(metric) if isinstance(metric, str) else metric
    definition, called = chosen.definition, name or chosen.spec
    if definition.finish is not None:
        raise SpecError(f"{chosen.spec} has no score of a single row: MLflow would take the mean of what there is not")
    source = AssessmentSource(source_type="LLM_JUDGE" if chosen.judge else "CODE", source_id=chosen.spec)

    def give_feedback(inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Any:
        row = _row(inputs, outputs, expectations)
        scored = score([row], chosen, map=map).table.to_pylist()[0]
        about = {"name": called, "source": source, "metadata": {"signature": chosen.signature}}
        if (value := scored[chosen.spec]) is None:
            return Feedback(error=ValueError(scored["reason"]), **about)
        return Feedback(value=value, rationale=scored.get(f"{chosen.spec}.explanation"), **about)

    return make_scorer(give_feedback, name=called, aggregations=["mean"])


def _row(inputs: Any, outputs: Any, expectations: Any) -> dict[str, Any]:
    parts = {
        "inputs": inputs if isinstance(inputs, Mapping) else {"question": inputs},
        "outputs": outputs if isinstance(outputs, Mapping) else {"prediction": outputs},
        "expectations": expectations or {},
    }
    row: dict[str, Any] = {}
    for part, columns in parts.items():
        for column, value in columns.items():
            if column in row and row[column] != value:
                raise SpecError(f"{part}: another part of the row has a column {column!r} too: rename one")
            row[column] = value
    return row
