"""How long values and differences corrected by people take, and how much memory: `python bench/people.py [ROWS]`.

Two systems' answers to a million questions are scored by exact match, which stands for a judge; people labelled ten
thousand rows of each. The command corrects the value of all rows and of ten slices; then the difference of the systems
is corrected, over all rows and in ten slices.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from compare_runs import run

LABELS = 10_000


def main(rows: int) -> None:
    random = np.random.default_rng(0)
    ids = [f"q{row:07}" for row in range(rows)]
    chosen = random.choice(rows, LABELS, replace=False)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KARAT_RUNS"] = folder
        words = {}
        for name, share in (("a", 0.70), ("b", 0.72)):
            right = random.random(rows) < share
            seen = np.where(random.random(rows) < 0.9, right, ~right)
            table = {"id": ids, "topic": [f"topic {row % 10}" for row in range(rows)], "reference": ["x"] * rows}
            pq.write_table(
                pa.table({**table, "prediction": np.where(seen, "x", "y")}), Path(folder) / f"{name}.parquet"
            )
            labels = (f"{ids[row]},{'good' if right[row] else 'bad'}" for row in chosen)
            (Path(folder) / f"{name}.csv").write_text("\n".join(["id,label", *labels]))
            words[name] = ["score", f"{folder}/{name}.parquet", "-m", "exact_match", "--run", name, "--by", "topic"]
        mapped = ["--label-map", "good=1,bad=0"]
        human = [word for name in "ab" for word in ("--human", f"{name}={folder}/{name}.csv")]
        compare = ["compare", "a", "b", "--by", "topic"]
        print(f"| {rows:,} rows, {LABELS:,} labels | seconds | of all cores | peak memory, MB |\n|---|---|---|---|")
        for title, command in {
            "score --by topic": words["a"],
            "score --by topic --human": [*words["b"], "--human", f"{folder}/b.csv", "--on", "id", *mapped],
            "compare --by topic": compare,
            "compare --by topic --human": [*compare, *human, *mapped],
        }.items():
            start, before = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
            peak = run(*command)
            seconds, after = time.perf_counter() - start, getrusage(RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"| `karat {title}` | {seconds:.1f} | {used:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
