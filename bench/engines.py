"""What carrying out tasks costs: `python bench/engines.py [ROWS [ENGINE…]]`, by default 10 M rows.

Exact match and F1 of the same Parquet file, row by row (`plain`) and by each engine, each in a process of its own. More
than 10 M rows are that file under several names, so that it is read from the disk's cache.
Seconds include the start of Python; processor time and peak memory (proportional set size) are those of the whole tree
of processes. Values and intervals must be equal to the last bit. `$KARAT_BENCH` is a folder in which the file is kept,
else a temporary one is used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from side_by_side import machine

import karat
from karat.runs.scoring.tasks import parts

METRICS = ["exact_match", "token_f1"]
ENGINES = ["plain", "threads", "processes", "ray", "sail"]
SAIL = Path(__file__).with_name("sail.py")
GROUP, PIECE, FILE = 250_000, 1_000_000, 10_000_000  # rows
TICK = os.sysconf("SC_CLK_TCK")
WORDS = np.array([f"{a}{b}" for a in ("lo", "the", "an", "par", "ka", "mi", "ser", "vo", "tu", "zen")
                  for b in ("ra", "is", "dom", "nel", "quist", "t", "on", "ber", "", "lim")])  # fmt: skip


def make_file(rows: int, path: Path) -> None:
    """Answers of 1 to 12 words, of which 60 % are the gold, in row groups of 250,000."""
    random = np.random.default_rng(1)

    def texts(n: int) -> pa.Array:
        sizes = random.integers(1, 13, n)
        words = pa.array(WORDS[random.integers(0, len(WORDS), sizes.sum())].astype(object), pa.string())
        return pc.binary_join(
            pa.ListArray.from_arrays(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32), words), " "
        )

    schema = pa.schema({name: pa.string() for name in ("question", "prediction", "gold")} | {"id": pa.int64()})
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, PIECE):
            n = min(PIECE, rows - start)
            gold = texts(n)
            said = pc.if_else(pa.array(random.random(n) < 0.6), gold, texts(n))
            columns = {"question": texts(n), "prediction": said, "gold": gold, "id": np.arange(start, start + n)}
            writer.write_table(pa.table(columns, schema), row_group_size=GROUP)


def make_files(rows: int, folder: Path) -> str:
    """The name, or the pattern of the names, of files with so many rows."""
    path = folder / f"{min(rows, FILE)}.parquet"
    if not path.exists():
        make_file(min(rows, FILE), path)
    if rows <= FILE:
        return str(path)
    (named := folder / str(rows)).mkdir(exist_ok=True)
    for at in range(rows // FILE):
        (named / f"{at:03}.parquet").unlink(missing_ok=True)
        (named / f"{at:03}.parquet").hardlink_to(path)
    return str(named / "*.parquet")


def score(engine: str, path: str) -> None:
    """Score the file and print what came out: in a process of its own."""
    if engine == "plain":
        parts.LEAST_ROWS = sys.maxsize  # no file is large enough for tasks
    with serve() if engine == "sail" else nullcontext(None if engine == "plain" else engine) as found:
        result = karat.score(path, METRICS, keep=False, engine=found)
    print(json.dumps([value.as_dict() for value in result.values.values()]))


@contextmanager
def serve() -> Iterator[Any]:
    """The engine of a Spark cluster: Sail, in a process of its own."""
    from karat.engines import Spark  # noqa: PLC0415  (only for this engine)

    with subprocess.Popen(  # noqa: S603
        [sys.executable, SAIL], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    ) as server:
        port = server.stdout.readline().strip() if server.stdout else ""
        yield Spark(remote=f"sc://127.0.0.1:{port}")
        server.kill()


def measure(engine: str, path: str) -> tuple[list[Any], float, float, float]:
    """What came out, seconds, seconds of processors, and the most memory at a time, in MB."""
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603
        [sys.executable, __file__, "score", engine, path], stdout=subprocess.PIPE, text=True
    ) as process:
        used, most = dict[int, float](), 0.0
        while process.poll() is None:
            tree = _descendants(process.pid)
            used |= {pid: max(used.get(pid, 0.0), _read(_processor, pid)) for pid in tree}
            most = max(most, sum(_read(_memory, pid) for pid in tree))
            time.sleep(0.1)
        seconds = time.perf_counter() - start
        (line,) = (line for line in process.stdout or () if line.startswith("["))
    if process.returncode:
        raise SystemExit(f"{engine} failed")
    return json.loads(line), seconds, sum(used.values()), most


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (parent := _read(_parent, int(folder.name))):
            children.setdefault(int(parent), []).append(int(folder.name))
    found, new = [root], [root]
    while new:
        new = [child for pid in new for child in children.get(pid, ())]
        found += new
    return found


def _read(what: Callable[[int], float], pid: int) -> float:
    try:
        return what(pid)
    except OSError:  # it has ended
        return 0.0


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()


def _parent(pid: int) -> float:
    return float(_fields(pid)[1])


def _processor(pid: int) -> float:
    return (int(_fields(pid)[11]) + int(_fields(pid)[12])) / TICK


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("Pss:"))


def main(rows: int, engines: Iterable[str]) -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as folder:
        path = make_files(rows, Path(os.environ.get("KARAT_BENCH", folder)))
        size = sum(Path(name).stat().st_size for name in glob(path))  # noqa: PTH207  (a pattern)
        print(f"{machine()}; {rows:,} rows, {size / 1e6:,.0f} MB\n")
        print("| engine | seconds | M rows/s | processor, s | peak memory, MB | times the first |")
        print("|---|---|---|---|---|---|")
        first: Any = None
        for engine in engines:
            found, seconds, processor, memory = measure(engine, path)
            first = first or (found, seconds)
            if found != first[0]:
                raise SystemExit(f"{engine} gives {found}, the first engine {first[0]}")
            rate = f"{rows / seconds / 1e6:.2f} | {processor:.1f} | {memory:,.0f} | {first[1] / seconds:.2f}"
            print(f"| {engine} | {seconds:.1f} | {rate} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["score"]:
        score(*sys.argv[2:])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000, sys.argv[2:] or ENGINES)
