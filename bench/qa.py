"""Exact match and token F1 against the way REMem and HippoRAG compute them; strict exact match against Arrow's `equal`.

    python bench/qa.py [rows]

One process; the peers' algorithm is restated here in plain Python (lower, delete punctuation, drop articles, squeeze;
equality and bags of tokens against each reference; the maximum by NumPy), as `docs/explanation/speed.md` explains.
"""

from __future__ import annotations

import os
import re
import string
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from answers import make
from side_by_side import in_turn, machine

from karat.core.columns.column_cache import column_cache
from karat.core.columns.kinds import Array
from karat.core.metric.score import SLICE, score_rows
from karat.core.parallel import even_part, map_ordered
from karat.metrics import exact_match, token_f1

METRICS = (exact_match.using(normalize="squad"), token_f1.using(empty="v1"))


def normalize_answer(text: str) -> str:
    """SQuAD's order, function by function, as the peers have it."""

    def without_articles(said: str) -> str:
        return re.sub(r"\b(a|an|the)\b", " ", said)

    def without_punctuation(said: str) -> str:
        marks = set(string.punctuation)
        return "".join(character for character in said if character not in marks)

    return " ".join(without_articles(without_punctuation(text.lower())).split())


def peer_exact_match(golds: list[list[str]], predictions: list[str]) -> list[dict[str, float]]:
    """One dictionary a row."""
    rows = []
    for gold, prediction in zip(golds, predictions, strict=True):
        scores = [1.0 if normalize_answer(each) == normalize_answer(prediction) else 0.0 for each in gold]
        rows.append({"ExactMatch": np.max(scores)})
    return rows


def peer_f1(golds: list[list[str]], predictions: list[str]) -> list[dict[str, float]]:
    """One dictionary a row."""

    def f1(gold: str, prediction: str) -> float:
        expected, said = normalize_answer(gold).split(), normalize_answer(prediction).split()
        common = sum((Counter(said) & Counter(expected)).values())
        if common == 0:
            return 0.0
        precision, recall = common / len(said), common / len(expected)
        return 2 * precision * recall / (precision + recall)

    return [
        {"F1": np.max([f1(each, prediction) for each in gold])}
        for gold, prediction in zip(golds, predictions, strict=True)
    ]


def together(table: pa.Table) -> list[Array]:
    """EM and F1 as `karat.score` computes them: batch by batch, each column normalised once."""

    def work(batch: pa.RecordBatch) -> Array:
        columns = {"prediction": batch["prediction"], "reference": batch["references"]}
        with column_cache():
            return np.stack([score_rows(metric, columns).scores(metric) for metric in METRICS])

    return list(
        np.concatenate(list(map_ordered(work, table.to_batches(max_chunksize=even_part(len(table), SLICE)))), axis=1)
    )


def one_by_one(table: pa.Table) -> list[pa.Array]:
    """EM, then F1, as functions of columns."""
    return [metric(table["prediction"], table["references"]) for metric in METRICS]


def main(rows: int) -> None:
    table = make(rows).combine_chunks()
    few = table.slice(0, min(rows, 20_000))
    golds, predictions = few["references"].to_pylist(), few["prediction"].to_pylist()
    em, f1 = together(few)
    assert em.tolist() == [row["ExactMatch"] for row in peer_exact_match(golds, predictions)]
    np.testing.assert_allclose(f1, [row["F1"] for row in peer_f1(golds, predictions)], atol=1e-12)

    print(machine())
    references = pc.mean(pc.list_value_length(table["references"])).as_py()
    print(
        f"{rows:,} rows, {references:.2f} references a row, EM {em.mean():.3f}, F1 {f1.mean():.3f}, equal to the peer's"
    )

    def on(cores: int, work: Callable[[pa.Table], Any]) -> Callable[[], Any]:
        def run() -> None:
            os.environ["KARAT_THREADS"] = str(cores)
            work(table)

        return run

    seconds = in_turn(
        {
            "peer": lambda: (peer_exact_match(golds, predictions), peer_f1(golds, predictions)),
            "EM and F1 together, 1 core": on(1, together),
            "EM and F1 together, 2 cores": on(2, together),
            "EM, then F1, 1 core": on(1, one_by_one),
            "EM, then F1, 2 cores": on(2, one_by_one),
        }
    )
    peer = seconds.pop("peer") / len(few)
    print(f"{'peer, EM and F1':30} {1 / peer:13,.0f} rows/s")
    for name, taken in seconds.items():
        print(f"{name:30} {rows / taken:13,.0f} rows/s {peer * rows / taken:8.1f} times")

    said, first = (column.combine_chunks() for column in (table["prediction"], pc.list_element(table["references"], 0)))
    for cores in (1, 2):
        os.environ["KARAT_THREADS"] = str(cores)
        pair = in_turn({"arrow": lambda: pc.equal(said, first), "karat": lambda: exact_match(said, first)}, rounds=15)
        print(f"{'pyarrow.compute.equal':30} {rows / pair['arrow']:13,.0f} rows/s")
        print(f"{f'strict EM, {cores} core(s)':30} {rows / pair['karat']:13,.0f} rows/s", end=" ")
        print(f"{pair['arrow'] / pair['karat']:8.2f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
