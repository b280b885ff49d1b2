"""How the time of each metric grows with its rows and with the length of a cell: the exponents, over a fourfold size.

    python bench/growth.py [rows [length]]

1 is linear. What asks a model is left out. Times are of the processor; an exponent of less than 30 ms is not shown.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from side_by_side import machine

from karat.core.columns.kinds import (
    ANSWERS,
    GRADED,
    IDS,
    JSON,
    MESSAGES,
    NUMBER,
    SUBTOPICS,
    TEXT,
    TEXTS,
    Kind,
    to_arrow,
)
from karat.core.errors import KaratError
from karat.core.metric.metric import Metric
from karat.core.metric.registry import all_metrics
from karat.core.metric.score import score_columns

DRAW = random.Random(0)
NEEDED: dict[str, dict[str, Any]] = {
    "matches_regex": {"pattern": "[ab]c?"},
    **{name: {"labels": ["w1", "w2", "w3"]} for name in ("label_precision", "label_recall", "label_f")},
    **{name: {"name": "gpt4"} for name in ("column", "percentile")},
    "json_schema": {"schema": {"type": "array"}},
}
MODELS = ("similarity", "citation_", "supported")  # in the names of metrics that ask a model


def words(length: int) -> list[str]:
    return [f"w{DRAW.randrange(3_000)}" for _ in range(length)]


def calls(length: int) -> str:
    return json.dumps([{"name": word, "arguments": {"x": word}} for word in words(length)])


CELLS: Mapping[Kind, Callable[[int], Any]] = {
    TEXT: lambda length: " ".join(words(length)),
    TEXTS: lambda length: [" ".join(words(length))],
    NUMBER: lambda _: DRAW.random(),
    ANSWERS: lambda length: [[word] for word in words(length)],
    IDS: words,
    GRADED: lambda length: {word: DRAW.randrange(3) for word in words(length)},
    SUBTOPICS: lambda length: {word: {word[:2]: 1} for word in words(length)},
    MESSAGES: calls,
    JSON: calls,
}


def seconds(metric: Metric, rows: int, length: int) -> float:
    """Of the processor, for so many rows whose cells have so many words, documents or calls."""
    kinds = metric.definition.columns
    cells = {role: [CELLS[kind](length) for _ in range(min(rows, 2_000))] for role, kind in kinds.items()}
    columns = {
        role: to_arrow((values * -(-rows // len(values)))[:rows], role, kinds[role]) for role, values in cells.items()
    }
    start = time.process_time()
    score_columns([metric], columns)
    return time.process_time() - start


def growth(metric: Metric, sizes: list[tuple[int, int]]) -> str:
    """The exponent between two sizes, each four times the other."""
    least, most = (seconds(metric, *size) for size in sizes)
    return f"{math.log(most / least, 4):5.2f} ({most:6.2f} s)" if most > 0.03 else f"{'-':>5} ({most:6.2f} s)"


def main(rows: int, length: int) -> None:
    print(machine())
    print(f"{'':28} {'rows':>16} {'length':>16}")
    for each in all_metrics():
        if any(part in each.name for part in MODELS):
            continue
        metric = each.using(**NEEDED.get(each.name, {}))
        try:
            seconds(metric, 2, 2)
            by_rows = growth(metric, [(rows, 8), (4 * rows, 8)])
            by_length = growth(metric, [(4, length), (4, 4 * length)])
        except (KaratError, KeyError, TypeError, ValueError, ImportError) as error:
            print(f"{each.name:28} {type(error).__name__}: {str(error)[:80]}", flush=True)
            continue
        print(f"{each.name:28} {by_rows:>16} {by_length:>16}", flush=True)


if __name__ == "__main__":
    os.environ["KARAT_THREADS"] = "1"
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000, int(sys.argv[2]) if len(sys.argv) > 2 else 1_000)
