"""HELM's `scenario_state.json`: one row per request of a run, with the answer and the correct references."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from karat.core.errors import DataError


def is_helm(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document is HELM's state of a scenario."""
    return isinstance(document.get("adapter_spec"), dict) and isinstance(document.get("request_states"), list)


def helm_rows(document: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """One row per request: question, prediction, references, and `request_state` with all as JSON.

    The prediction is the first completion without whitespace at its ends, or the choice whose letter it is. Raises
    `DataError` for methods that ask for the likelihood of each choice, as their requests have no answer.

    >>> references = [{"output": {"text": "4"}, "tags": ["correct"]}, {"output": {"text": "5"}, "tags": []}]
    >>> state = {"instance": {"id": "id1", "input": {"text": "2+2?"}, "references": references}}
    >>> state |= {"result": {"completions": [{"text": " B"}]}, "output_mapping": {"A": "5", "B": "4"}}
    >>> [row] = helm_rows({"adapter_spec": {"model": "m"}, "request_states": [state]}, "scenario_state.json")
    >>> row["question"], row["prediction"], row["references"]
    ('2+2?', '4', ['4'])
    """
    for state in document["request_states"]:
        if state.get("reference_index") is not None:
            problem = "each request of HELM is for the likelihood of a choice, not an answer"
            remedy = "take the scores in display_predictions.json: -m \"column('stats.exact_match')\""
            raise DataError(f"{name}: {problem}; {remedy}")
        instance, result = state["instance"], state.get("result") or {}
        completions = result.get("completions") or [{}]
        answer = completions[0].get("text")
        answer = answer.strip() if answer is not None else None
        correct = [each for each in instance.get("references") or () if "correct" in (each.get("tags") or ())]
        yield {
            "id": instance.get("id"),
            "split": instance.get("split"),
            "perturbation": (instance.get("perturbation") or {}).get("name"),
            "trial": state.get("train_trial_index"),
            "model": document["adapter_spec"].get("model"),
            "question": instance["input"].get("text"),
            "prediction": (state.get("output_mapping") or {}).get(answer, answer),
            "references": [each["output"].get("text") for each in correct],
            "request_state": json.dumps(state, ensure_ascii=False),
        }
