"""How long comparing two runs of a million rows takes, and how much memory: `python bench/compare_runs.py [ROWS]`.

Two systems answer the same questions, in another order; exact match, F1 and corpus BLEU are scored and kept as runs in
a temporary folder, then compared, once as a whole and once by ten topics with a cluster a hundred rows.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"]
METRICS = ("exact_match", "token_f1", "bleu")


def system(rows: int, right: float, seed: int) -> pa.Table:
    """The answers of a system that has each word of the gold right with a probability of its own."""
    gold = random.Random(1)
    said = random.Random(seed)
    references, predictions = [], []
    for _ in range(rows):
        words = gold.choices(WORDS, k=gold.randint(1, 8))
        references.append(" ".join(words))
        predictions.append(" ".join(w if said.random() < right else said.choice(WORDS) for w in words))
    table = pa.table(
        {
            "id": [f"q{row:07}" for row in range(rows)],
            "question": [f"what is asked in row {row}?" for row in range(rows)],
            "topic": [f"topic {row % 10}" for row in range(rows)],
            "passage": [row // 100 for row in range(rows)],
            "prediction": predictions,
            "reference": references,
        }
    )
    order = list(range(rows))
    random.Random(seed).shuffle(order)
    return table.take(order)


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KARAT_RUNS"] = folder
        for name, right, seed in (("a", 0.900, 2), ("b", 0.901, 3)):
            path = Path(folder) / f"{name}.parquet"
            pq.write_table(system(rows, right, seed), path)
            metrics = [word for metric in METRICS for word in ("-m", metric)]
            run("score", str(path), *metrics, "--run", name)
        print(f"| {rows:,} rows | seconds | peak memory, MB |\n|---|---|---|")
        whole = ["compare", "a", "b"]
        for words in ([*whole, "-m", "exact_match"], [*whole, "-m", "token_f1"], whole, [*whole, "--flipped", "5"],
                      [*whole, "--by", "topic"], [*whole, "--by", "topic", "--cluster", "passage"]):  # fmt: skip
            start = time.perf_counter()
            peak = run(*words)
            print(f"| `karat {' '.join(words)}` | {time.perf_counter() - start:.1f} | {peak:.0f} |", flush=True)


def run(*words: str) -> float:
    """Run karat in a process of its own; the most memory it held, in MB."""
    code = (
        "import sys, pathlib\nfrom karat.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n"
        "    print(pathlib.Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0], file=sys.stderr)"
    )  # the process's own mark: what getrusage says counts the parent's memory at the fork
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(done.stderr)
    return int(done.stderr.split()[-1]) / 1024


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
