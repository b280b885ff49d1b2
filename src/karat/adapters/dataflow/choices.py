"""What UnifiedBenchDatasetEvaluator reads of choices: the one that an answer names, or several, and the gold."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from karat.adapters.dataflow import rules as upstream
from karat.metrics.answers.multiple_choice import agreement
from karat.text.answers.choices import plain_options, read_choice, read_choices, read_label

BenchRules = Literal["karat", "dataflow"]
_FIGURES: tuple[Literal["precision", "recall", "f1", "jaccard"], ...] = ("precision", "recall", "f1", "jaccard")


class ScoredRow(NamedTuple):
    """A row's score, why it has none, and what was read of the answer. `gold`: whether its gold can be read."""

    score: float | None = None
    error: str = ""
    read: Any = None
    gold: bool = True


def choose_one(
    answer: str | None, label: Any, choices: list[str], rules: BenchRules, count_from: Literal[0, 1]
) -> ScoredRow:
    """Whether an answer names the choice of the label.

    >>> choose_one("A good answer is B", 1, ["3", "4"], "karat", 0).score
    1.0
    >>> choose_one("A good answer is B", 1, ["3", "4"], "dataflow", 0).score
    0.0
    """
    gold = find_gold(label, len(choices), rules, count_from)
    if gold is None:
        return ScoredRow(error="parse_failed" if rules == "dataflow" else "invalid_label", gold=False)
    chosen: Any = None
    if answer is not None and rules == "dataflow":
        chosen = upstream.find_choice(answer, len(choices))
    elif answer is not None:
        chosen = read_choice(answer, plain_options(choices), count_from=count_from)
    return ScoredRow(float(chosen == gold), read=chosen) if isinstance(chosen, int) else ScoredRow(error="parse_failed")


def find_gold(label: Any, count: int, rules: BenchRules, count_from: Literal[0, 1]) -> int | None:
    """The index that a label means; None if it is none of the choices."""
    if rules == "dataflow":
        return upstream.find_label(label, count)
    return None if label is None else read_label(str(label), [None] * count, count_from=count_from)


def choose_several(
    answer: str | None, labels: Any, choices: list[str], rules: BenchRules, count_from: Literal[0, 1]
) -> ScoredRow:
    """The F1 of the sets of choices that an answer and the labels name.

    >>> choose_several("A and C", ["A"], ["x", "y", "z"], "karat", 0).score
    0.6666666666666666
    """
    count = len(choices)
    gold: Any
    chosen: Any
    if rules == "dataflow":
        gold, chosen = upstream.find_labels(labels, count), upstream.find_choices(answer or "", count)
    else:
        listed = [str(each) for each in (labels if isinstance(labels, list) else [labels]) if each is not None]
        gold = "none" if labels is None else read_choices(listed, [None] * count, count_from=count_from)
        chosen = read_choices([answer], plain_options(choices), count_from=count_from) if answer else "none"
    if not isinstance(gold, set) or not isinstance(chosen, set):
        return ScoredRow(error="parse_failed", gold=isinstance(gold, set))
    empty = rules == "dataflow" and not chosen | gold
    figures: dict[str, float] = {name: 0.0 if empty else agreement(chosen, gold, name) for name in _FIGURES}
    exact = agreement(chosen, gold, "exact")
    read = {"pred_set": sorted(chosen), "gold_set": sorted(gold), **figures, "exact_set": exact}
    return ScoredRow(figures["f1"], read=json.dumps(read, ensure_ascii=False))


def read_listed(cell: Any) -> list[str] | None:
    """The items of a list, or of a JSON list; None for anything else."""
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            return None
    return [str(each) for each in cell] if isinstance(cell, list | tuple) else None


def read_golds(text: str) -> list[str]:
    """The gold answers of a text: the items of a JSON list, else the text."""
    listed = read_listed(text)
    return [text] if listed is None else [each for each in listed if each.strip()]
