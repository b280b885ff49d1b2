"""The public names as a user's type checker sees them; checked by mypy, never run."""

from __future__ import annotations

import karat
from karat import metric
from karat.kinds import Score, Text
from karat.metrics import token_f1


@metric(source="here")
def same(prediction: Text, reference: Text, *, fold: bool = False) -> Score:
    """Whether they are the same."""
    return prediction == reference if fold else [0.0] * len(reference)


def use() -> float | None:
    """Every shape in which `score` and a metric are used."""
    result: karat.Result = karat.score(
        "answers.jsonl", ["exact_match", same.using(fold=True)], map={"reference": "gold"}, by="topic"
    )
    token_f1(["a"], [["b"]], normalize="none")
    frozen: karat.Metric = token_f1.using(empty="v1")
    value: karat.Value = result.values[frozen.spec]
    return value.value
