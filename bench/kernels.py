"""Each compiled kernel beside the same kernel in other checkouts, built in another way, perhaps: CPU time.

    python bench/kernels.py OTHER/src [OTHER/src ...]

One process for each checkout; they work in turn, so that a drift of the machine meets all alike. The least of all
rounds is told, and how many times slower the others are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from side_by_side import machine

ROUNDS = 15
SOURCE = Path(__file__).parents[1] / "src"
WORDS = ["the", "cat", "sat", "on", "a", "mat,", "while", "42", "hens", "of", "Rome", "ran", "(quickly)", "to", "U.S."]
OTHERS = ["Zürich", "ÉTÉ", "Straße", "Ωμέγα", "Москва", "東京", "naïve", "ﬁn", "café,", "½"]


def tasks() -> dict[str, Callable[[], Any]]:
    """What is timed, by the kernel that it needs."""
    import numpy as np  # noqa: PLC0415  (only workers need karat and its packages)
    import pyarrow as pa  # noqa: PLC0415

    from karat import metrics  # noqa: PLC0415
    from karat.data.json.members import extract_paths  # noqa: PLC0415
    from karat.metrics.answers.assignment import assign  # noqa: PLC0415
    from karat.stats.sums.exact import ExactSums  # noqa: PLC0415
    from karat.text.columns import normalise, tokenise  # noqa: PLC0415

    random = Random(0)

    def texts(rows: int, words: list[str]) -> pa.Array:
        return pa.array([" ".join(random.choices(words, k=random.randint(1, 12))) for _ in range(rows)])

    def lists(rows: int, most: int) -> pa.Array:
        return pa.array(
            [[str(each) for each in random.sample(range(30), random.randint(1, most))] for _ in range(rows)]
        )

    plain, gold, mixed = texts(100_000, WORDS), texts(100_000, WORDS), texts(50_000, WORDS + OTHERS)
    few, found, wanted = plain[:1], lists(40_000, 20), lists(40_000, 5)
    named = pa.array(
        [json.dumps({"a": random.random(), "b": text, "c": [1, 2]}) for text in plain.to_pylist()[:20_000]]
    )
    weights = [np.array([[random.random() for _ in range(5)] for _ in range(4)]) for _ in range(2_000)]
    cells, values = np.arange(1_000_000) % 4_096, np.random.default_rng(0).random(1_000_000)
    return {
        **{f"text: {name}, ASCII": partial(normalise, plain, name) for name in ("squad", "mlqa:en")},
        **{f"text: {name}, mixed": partial(normalise, mixed, name) for name in ("squad", "mlqa:en", "unicode")},
        **{f"text: {name}, mixed": partial(tokenise, mixed, name) for name in ("13a", "chars", "rouge")},
        "text: words, ASCII": lambda: tokenise(plain, "words"),
        "pairs: equal": lambda: metrics.exact_match(plain, gold),
        "pairs: overlap": lambda: metrics.token_f1(plain, gold, normalize="none"),
        "pairs: overlap of one row, 300 calls": lambda: [metrics.token_f1(few, few) for _ in range(300)],
        "sequence: BLEU": lambda: metrics.sentence_bleu(plain, gold),
        "sequence: ROUGE-L": lambda: metrics.rouge_l(plain, gold),
        "alignment, ranking: nDCG": lambda: metrics.ndcg(found, wanted),
        "json": lambda: extract_paths(named, ["b", "c"]),
        "assignment: 4 × 5, 2,000 calls": lambda: [assign(each) for each in weights],
        "sums": lambda: ExactSums(4_096).add(cells, values),
    }


def work() -> None:
    """Run the task of each line of standard input; print its CPU seconds."""
    by_name = tasks()
    print(json.dumps(list(by_name)), flush=True)
    for line in sys.stdin:
        task = by_name[json.loads(line)]
        start = time.process_time()
        task()
        print(time.process_time() - start, flush=True)


def main(*others: str) -> None:
    """Print the least seconds of each task here, and the ratio of each other checkout."""
    print(machine())
    workers = [_start(source) for source in (str(SOURCE), *others)]
    names = [json.loads(_line(worker)) for worker in workers]
    for name in names[0]:
        seconds: list[list[float]] = [[] for _ in workers]
        for _ in range(ROUNDS):
            for worker, each in zip(workers, seconds, strict=True):
                print(json.dumps(name), file=worker.stdin, flush=True)
                each.append(float(_line(worker)))
        here, *there = map(min, seconds)
        print(f"{name:40} {here * 1e3:8.2f} ms", *(f"{each / here:6.3f} times" for each in there))
    for worker in workers:
        worker.communicate()


def _start(source: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": source, "KARAT_THREADS": "1"}
    command = [sys.executable, __file__, "--work"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)  # noqa: S603


def _line(worker: subprocess.Popen[str]) -> str:
    return worker.stdout.readline() if worker.stdout else ""


if __name__ == "__main__":
    work() if sys.argv[1:] == ["--work"] else main(*sys.argv[1:])
