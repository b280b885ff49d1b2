"""How the work of one row grows with its length, by counting steps: lines of Python that run, and steps of kernels."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from karat.core.columns.kinds import GRADED, IDS, MESSAGES, TEXT, TEXTS, Kind, to_arrow
from karat.core.metric.score import score_rows
from karat.core.metric.spec import parse
from karat.metrics.text.string_comparison import parts

edits = pytest.importorskip("karat.metrics._kernels.edits")
sequence = pytest.importorskip("karat.metrics._kernels.sequence")

CELLS: dict[Kind, Callable[[list[str]], Any]] = {
    TEXT: " ".join,
    TEXTS: lambda words: [" ".join(words)],
    IDS: list,
    GRADED: lambda words: {word: len(word) % 3 for word in words},
    MESSAGES: lambda words: json.dumps([{"name": word, "arguments": {"x": word}} for word in words]),
}
LINEAR = (
    "token_f1 jaccard contains bleu chrf chrf(word_order=2) rouge_l wer cer levenshtein jaro_winkler ndcg "
    "average_precision reciprocal_rank tool_call_f1 tool_call_match tool_call_f1(arguments='subset') trajectory_match"
)


def lines(spec: str, size: int) -> int:
    """How many lines of Python it takes to score a row of so many words, documents or calls, half of them right."""
    metric = parse(spec)
    one = [f"w{at}" for at in range(size)]
    sides = iter((one, [*one[1::2], *(f"v{at}" for at in range(0, size, 2))]))
    columns = {
        role: to_arrow([CELLS[kind](next(sides))], role, kind) for role, kind in metric.definition.columns.items()
    }
    count = 0

    def trace(_frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    score_rows(metric, columns)  # fills tables
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        score_rows(metric, columns)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("spec", LINEAR.split())
def test_the_python_of_a_metric_grows_no_faster_than_a_row(spec: str) -> None:
    first, second, third = (lines(spec, size) for size in (20, 40, 80))
    assert third - second <= 2.2 * (second - first) + 100


def test_where_pairs_are_compared_the_python_grows_with_their_number() -> None:
    first, second, third = (lines("trajectory_match(mode='unordered')", size) for size in (20, 40, 80))
    assert 2.2 * (second - first) + 100 < third - second <= 4.4 * (second - first)


def steps(name: str, size: int) -> int:
    """The steps of a kernel on two texts of so many words or characters of which half are alike."""
    one = [chr(97 + at * at % 23) for at in range(size)]
    a, b = (pa.array([(" " if name == "lcs" else "").join(each)]) for each in (one, one[::2] + one[::3]))
    counts = np.empty((3, 1), np.int64)
    columns = *parts(a), *parts(b)
    if name == "jaro_winkler":
        return int(edits.jaro_winkler(*columns, np.empty(1)))
    return int(sequence.lcs(*columns, *counts) if name == "lcs" else edits.levenshtein(*columns, False, *counts))


@pytest.mark.parametrize(("name", "most"), [("jaro_winkler", 4.2), ("lcs", 16.5), ("levenshtein", 16.5)])
def test_kernels_compare_64_pairs_at_a_time_and_jaro_winkler_each_character_once(name: str, most: float) -> None:
    few, many = steps(name, 1_000), steps(name, 4_000)
    assert many <= most * few
    assert few <= (8 * 1_000 if name == "jaro_winkler" else 1.1 * 1_000 * 1_000 / 64)
