"""What comparing two runs of many rows in the same order takes: `python bench/compare_many.py [ROWS [FOLDER]]`, 100 M.

The second system answers every tenth question with what it said to the one before. F1 of both is kept as runs, which
are then compared, once as a whole and once by ten topics. FOLDER, by default a temporary one, needs 240 bytes a row.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from compare_runs import run
from engines import FILE, GROUP, make_file
from side_by_side import machine


def write_system(folder: Path, base: Path, rows: int, *, other: bool) -> str:
    """The pattern of the names of a system's files."""
    folder.mkdir()
    step = min(rows, FILE)
    for start in range(0, rows, step):
        writer: pq.ParquetWriter | None = None
        for batch in pq.ParquetFile(base).iter_batches(GROUP):
            ids = pc.add(batch["id"], start)
            said = batch["prediction"]
            if other:
                before = said.take(pa.array(np.maximum(np.arange(len(said)) - 1, 0)))
                said = pc.if_else(pa.array(np.arange(len(said)) % 10 == 0), before, said)
            topic = pa.array(ids.to_numpy() % 10)
            table = pa.table({"id": ids, "topic": topic, "prediction": said, "gold": batch["gold"]})
            writer = writer or pq.ParquetWriter(folder / f"{start // step:03}.parquet", table.schema)
            writer.write_table(table)
        if writer:
            writer.close()
    return str(folder / "*.parquet")


def main(rows: int, folder: Path) -> None:
    os.environ["KARAT_RUNS"] = str(folder / "runs")
    base = folder / "base.parquet"
    make_file(min(rows, FILE), base)
    print(f"{machine()}\n\n| {rows:,} rows | seconds | peak memory, MB |\n|---|---|---|", flush=True)
    for name in ("a", "b"):
        pattern = write_system(folder / name, base, rows, other=name == "b")
        measure("score", pattern, "-m", "token_f1", "--run", name)
    measure("compare", "a", "b", "--on", "id")
    measure("compare", "a", "b", "--on", "id", "--by", "topic")


def measure(*words: str) -> None:
    start = time.perf_counter()
    peak = run(*words)
    words = tuple(Path(word).parent.name if "/" in word else word for word in words)
    print(f"| `karat {' '.join(words)}` | {time.perf_counter() - start:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as made:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000, Path(made))
