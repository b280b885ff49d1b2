"""Four metrics of rankings beside Haystack's evaluators, pytrec_eval and ranx, from what each of them takes.

    python bench/retrieval.py [queries]

One process. Haystack's Documents, pytrec_eval's dicts and ranx's Qrels and Run are built before the clock starts, and
ranx has compiled by then. karat scores Arrow columns of text ids, and once more end to end with `karat.score`.
"""

from __future__ import annotations

import math
import os
import random
import sys
from collections.abc import Callable
from typing import Any

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

import numpy as np
import pyarrow as pa
import pytrec_eval
from haystack import Document
from haystack.components.evaluators import (
    DocumentMAPEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
)
from haystack.components.evaluators.document_recall import RecallMode
from ranx import Qrels, Run
from ranx import evaluate as ranx_evaluate
from side_by_side import in_turn, machine

import karat
from karat.core.columns.column_cache import column_cache
from karat.core.columns.kinds import Array
from karat.core.metric.score import SLICE, score_rows
from karat.core.parallel import even_part, map_ordered
from karat.metrics import average_precision, ndcg, recall, reciprocal_rank

METRICS = (average_precision, reciprocal_rank, recall, ndcg)
RETRIEVED = 10


def make(queries: int) -> pa.Table:
    """Ten of 200,000 ids a query, two or three of them, and now and then another one, relevant."""
    draw = random.Random(0)
    ids = [f"doc{number:08}" for number in range(200_000)]
    retrieved = [draw.sample(ids, RETRIEVED) for _ in range(queries)]
    relevant = [
        list(dict.fromkeys([*draw.sample(found, draw.choice((1, 2))), draw.choice(found), draw.choice(ids)]))[:3]
        for found in retrieved
    ]
    return pa.table({"retrieved": retrieved, "relevant": relevant}).combine_chunks()


def columns(table: pa.Table) -> list[float]:
    """The means alone: each batch aligned once and scored by the four."""

    def work(batch: pa.RecordBatch) -> Array:
        given = {name: batch[name] for name in batch.schema.names}
        with column_cache():
            return np.array([score_rows(metric, given).scores(metric).sum() for metric in METRICS])

    totals: Array = np.sum(
        list(map_ordered(work, table.to_batches(max_chunksize=even_part(len(table), SLICE)))), axis=0
    )
    return list(totals / len(table))


def end_to_end(table: pa.Table, *, keep: bool) -> list[float]:
    """Values with intervals, as a user gets them."""
    found = karat.score(table, METRICS, keep=keep).values
    return [found[metric.spec].value or 0.0 for metric in METRICS]


def haystack(table: pa.Table) -> Callable[[], list[float]]:
    retrieved, relevant = (
        [[Document(content=name) for name in names] for names in table[role].to_pylist()]
        for role in ("retrieved", "relevant")
    )
    evaluators: list[Any] = [
        DocumentMAPEvaluator(),
        DocumentMRREvaluator(),
        DocumentRecallEvaluator(mode=RecallMode.MULTI_HIT),
        DocumentNDCGEvaluator(),
    ]
    return lambda: [
        each.run(ground_truth_documents=relevant, retrieved_documents=retrieved)["score"] for each in evaluators
    ]


def dicts(table: pa.Table) -> tuple[dict[str, Any], dict[str, Any]]:
    """The qrels and the run as dicts of dicts, a rank's score below that of the one before."""
    relevant = {f"q{at}": dict.fromkeys(names, 1) for at, names in enumerate(table["relevant"].to_pylist())}
    retrieved = {
        f"q{at}": {name: float(RETRIEVED - rank) for rank, name in enumerate(names)}
        for at, names in enumerate(table["retrieved"].to_pylist())
    }
    return relevant, retrieved


def trec(qrels: dict[str, Any], run: dict[str, Any]) -> Callable[[], list[float]]:
    names = ("map", "recip_rank", "recall_1000", "ndcg")
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "recall.1000", "ndcg"})

    def means() -> list[float]:
        found = evaluator.evaluate(run).values()
        return [sum(each[name] for each in found) / len(found) for name in names]

    return means


def ranx(qrels: dict[str, Any], run: dict[str, Any]) -> Callable[[], list[float]]:
    gold, found = Qrels(qrels), Run(run)
    names = ["map", "mrr", "recall", "ndcg"]

    def means() -> list[float]:
        scores = ranx_evaluate(gold, found, names, return_mean=True, make_comparable=False)
        return [float(scores[name]) for name in names]

    return means


def main(queries: int) -> None:
    table = make(queries)
    judged, found = dicts(table)
    peers: dict[str, Callable[[], list[float]]] = {
        "Haystack": haystack(table),
        "pytrec_eval": trec(judged, found),
        "ranx": ranx(judged, found),
    }
    ours: dict[str, Callable[[], list[float]]] = {
        "columns": lambda: columns(table),
        "karat.score, keep=False": lambda: end_to_end(table, keep=False),
        "karat.score": lambda: end_to_end(table, keep=True),
    }
    expected = columns(table)
    for name, means in {**peers, **ours}.items():
        assert all(map(math.isclose, means(), expected)), name
    for cores in (1, 2):
        os.environ["KARAT_THREADS"] = str(cores)
        seconds = in_turn({**peers, **ours}, rounds=5 if cores == 1 else 9)
        print(f"{cores} core(s), {queries:,} queries, {RETRIEVED} retrieved, four metrics, the same means")
        for name in peers:
            print(f"  {name:24} {1000 * seconds[name]:9.1f} ms")
        for name in ours:
            times = ", ".join(f"{seconds[peer] / seconds[name]:.0f} times {peer}" for peer in peers)
            print(f"  {name:24} {1000 * seconds[name]:9.1f} ms: {times}")


if __name__ == "__main__":
    print(machine())
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
