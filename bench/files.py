"""A JSON Lines file scored end to end by the command, against DuckDB reading that file and pyarrow writing the result.

    python bench/files.py [rows ...]

Whole processes, in turn: wall seconds (median of three) and the peak of resident memory. The command computes EM and
F1 and writes the rows with their scores as Parquet; the baseline reads the same file with DuckDB into Arrow and writes
what the command wrote with pyarrow, each without its imports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from answers import make
from side_by_side import machine

PART = 250_000  # rows made at a time
READ = "import duckdb; duckdb.sql(\"SELECT * FROM read_json('{file}', format='newline_delimited')\").to_arrow_table()"
WRITE = """
import pyarrow.parquet as pq, time
table = pq.read_table('{scored}')
start = time.perf_counter()
pq.write_table(table, '{again}')
print(time.perf_counter() - start)
"""


def write_answers(path: Path, rows: int) -> None:
    """A file of made-up answers; parts repeat beyond four, ids do not."""
    parts = [make(min(PART, rows), seed) for seed in range(min(4, -(-rows // PART)))]
    with path.open("w", encoding="utf-8") as file:
        for row in range(rows):
            part, place = parts[row // PART % len(parts)], row % PART
            if place == 0:
                held = part.to_pylist()
            file.write(json.dumps(held[place] | {"id": f"q{row}"}, ensure_ascii=False) + "\n")


def run(command: list[str]) -> tuple[float, float, str]:
    """Wall seconds, peak megabytes and standard output of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    said = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return taken, usage.ru_maxrss / 1024, said


def measure(rows: int, folder: Path) -> None:
    file, scored, again = folder / "answers.jsonl", folder / "scored.parquet", folder / "again.parquet"
    write_answers(file, rows)
    karat = [sys.executable, "-m", "karat", "score", str(file), "-o", str(scored), "--json"]
    karat += ["-m", "exact_match(normalize=squad)", "-m", "token_f1"]
    rounds = 3 if rows <= 1_000_000 else 1
    mine, peak, reading, writing = [], [], [], []
    run(karat)  # the first run writes what the baseline writes again
    for _ in range(rounds):
        seconds, megabytes, _ = run(karat)
        mine.append(seconds)
        peak.append(megabytes)
        if rows <= 1_000_000:
            reading.append(_inner(READ.format(file=file)))
            writing.append(float(run([sys.executable, "-c", WRITE.format(scored=scored, again=again)])[2]))
    print(
        f"{rows:,} rows, {file.stat().st_size / 1e6:.0f} MB: karat {median(mine):.2f} s, peak {max(peak):.0f} MB",
        end="",
    )
    if reading:
        base = median(reading) + median(writing)
        print(f"; DuckDB reads in {median(reading):.2f} s, pyarrow writes in {median(writing):.2f} s", end=": ")
        print(f"{median(mine) / base:.2f} times", end="")
    print(flush=True)


def _inner(statement: str) -> float:
    """Seconds of a statement alone, in a process of its own: imports are not counted."""
    imports, _, rest = statement.partition("; ")
    code = f"import time; {imports}; s = time.perf_counter(); {rest}; print(time.perf_counter() - s)"
    return float(run([sys.executable, "-c", code])[2])


if __name__ == "__main__":
    print(machine())
    for rows in [int(each) for each in sys.argv[1:]] or [1_000_000, 10_000_000]:
        with tempfile.TemporaryDirectory() as folder:
            measure(rows, Path(folder))
