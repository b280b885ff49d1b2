"""Annotations of metrics' runs, exported by ragas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def is_ragas(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is an export of annotated metric runs from ragas."""
    items = [each for value in document.values() if isinstance(value, list) for each in value]
    keys = {"metric_input", "metric_output"}
    return bool(items) and all(isinstance(each, dict) and keys <= each.keys() for each in items)


def ragas_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row per run of a metric: the metric's name, its input as columns, its output, and the annotation.

    >>> run = {"metric_input": {"response": "Paris"}, "metric_output": 1, "is_accepted": True, "prompts": {}}
    >>> [row] = ragas_rows({"helpfulness": [run]})
    >>> row["metric"], row["response"], row["metric_output"], row["is_accepted"]
    ('helpfulness', 'Paris', 1, True)
    """
    for metric, runs in document.items():
        for run in runs:
            rest = {key: value for key, value in run.items() if key not in ("metric_input", "prompts")}
            prompts = json.dumps(run.get("prompts"), ensure_ascii=False)
            yield {"metric": metric, **(run["metric_input"] or {}), **rest, "prompts": prompts}
