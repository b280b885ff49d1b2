"""What the checksums of a run cost: `python bench/checksums.py [ROWS]`, by default 10 M rows of short answers.

Rows are scored by exact match and BLEU and kept as a run, and the run's scores are read, with and without checksums,
one after the other, and the best of three is printed: seconds of the processor, and how long it took.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CODE = """
import sys, time
import karat
from karat.data.storage import checksums
from karat.runs.store import files, parts, run, writer
from karat.runs.store.run import open_run

what, checked = sys.argv[1], sys.argv[2] == "with"
if not checked:
    nothing = lambda *_: checksums.FileSum(0, "00000000")
    writer.sum_file = files.check_file = nothing
began, used = time.perf_counter(), time.process_time()
if what == "write":
    karat.score("rows.parquet", ["exact_match", "bleu"], run="a")
else:
    stored = open_run("a")
    stored.scores("exact_match"), stored.statistics("bleu")
print(time.process_time() - used, time.perf_counter() - began)
"""


def make(rows: int) -> None:
    """Write the rows, a million at a time."""
    chance = np.random.default_rng(0)
    with pq.ParquetWriter(
        "rows.parquet", pa.schema([(n, pa.string()) for n in ("id", "prediction", "reference")])
    ) as to:
        for first in range(0, rows, 1 << 20):
            n = min(1 << 20, rows - first)
            words = chance.integers(0, 50_000, (2, n)).astype(str)
            texts = [np.char.add("an answer that names the entity ", each) for each in words]
            to.write_table(
                pa.table([np.arange(first, first + n).astype(str), *texts], ["id", "prediction", "reference"])
            )


def measure(what: str, how: str) -> tuple[float, float]:
    """Seconds of the processor, and seconds."""
    if what == "write":
        shutil.rmtree("karat-runs", ignore_errors=True)
    done = subprocess.run([sys.executable, "-c", CODE, what, how], check=True, capture_output=True, text=True)  # noqa: S603
    processor, seconds = map(float, done.stdout.split())
    return processor, seconds


def main(rows: int = 10_000_000) -> None:
    """Print a line for writing and for reading."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make(rows)
        print(f"{rows:,} rows: seconds of the processor, seconds; without and with checksums")
        for what in ("write", "read"):
            if what == "read":
                measure("write", "with")
            times = [(measure(what, "without"), measure(what, "with")) for _ in range(3)]
            (cpu, wall), (cpu_with, wall_with) = (np.array(how).min(axis=0) for how in zip(*times, strict=True))
            print(f"{what:6} {cpu:8.2f} {wall:8.2f}    {cpu_with:8.2f} {wall_with:8.2f}")
        size = sum(path.stat().st_size for path in Path("karat-runs/a").rglob("*.parquet"))
        print(f"files of the run: {size / 1e6:,.0f} MB")
        os.chdir("/")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
