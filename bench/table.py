"""One table of what karat is measured by, each row beside its peer in one run.

    python bench/table.py [part...]

Parts are `text`, `documents`, `files`, `start`, `judges`, `engines` and `disk`; all without one. Rates of text and
milliseconds are of the processor, seconds and judges of the clock. The script of each part says more.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from side_by_side import in_turn, machine


class Row(NamedTuple):
    work: str
    peer: str
    theirs: float
    ours: float
    unit: str
    wanted: str

    @property
    def times(self) -> float:
        """How many times as fast karat is."""
        return self.ours / self.theirs if self.unit == "rows/s" else self.theirs / self.ours


def text(rows: int = 50_000) -> Iterator[Row]:
    """Metrics of texts of four words, on one thread, as in text.py."""
    import pyarrow as pa  # noqa: PLC0415  (each part has peers of its own)
    from text import FEW, corpus_bleu, peers, sentences  # noqa: PLC0415

    import karat  # noqa: PLC0415
    from karat.metrics import bleu, jaro_winkler, levenshtein  # noqa: PLC0415

    os.environ["KARAT_THREADS"] = "1"
    predicted, expected = sentences(rows, 4)
    columns = pa.array(predicted), pa.array(expected)
    wanted = {"chrf": 20, "ter": 10, "levenshtein": 1, "jaro_winkler": 2, "wer": 10, "cer": 20}
    names = {"chrf": "sacrebleu", "ter": "sacrebleu", "wer": "jiwer", "cer": "jiwer"}

    def rates(ours: Callable[[], object], theirs: Callable[[], object], few: int) -> tuple[float, float]:
        took = in_turn({"theirs": theirs, "ours": ours}, 5, time.process_time)
        return few / took["theirs"], rows / took["ours"]

    for metric, peer in peers().items():
        few = rows if metric in (levenshtein, jaro_winkler) else FEW
        both = rates(partial(metric, *columns), partial(peer, predicted[:few], expected[:few]), few)
        yield Row(metric.name, names.get(metric.name, "rapidfuzz"), *both, "rows/s", f"≥ {wanted[metric.name]}")
    table = pa.table({"prediction": columns[0], "reference": columns[1]})
    corpus = partial(corpus_bleu, predicted[:FEW], expected[:FEW])
    yield Row("corpus BLEU", "sacrebleu", *rates(partial(karat.score, table, bleu), corpus, FEW), "rows/s", "≥ 100")
    os.environ.pop("KARAT_THREADS")


def documents(questions: int = 20_000) -> Iterator[Row]:
    """Haystack's four evaluators of documents, by content, as in documents.py."""
    from documents import KINDS, make  # noqa: PLC0415
    from haystack.components import evaluators as theirs  # noqa: PLC0415

    from karat.adapters import haystack as ours  # noqa: PLC0415

    gold, found, *_ = make(questions)

    def run_all(package: object) -> None:
        for kind, settings in KINDS.values():
            getattr(package, kind)(**settings).run(gold, found)

    took = in_turn({"theirs": partial(run_all, theirs), "ours": partial(run_all, ours)}, 3, time.process_time)
    title = f"evaluators of documents, {questions:,} questions"
    yield Row(title, "Haystack", 1e3 * took["theirs"], 1e3 * took["ours"], "ms", "≥ 4")


def files(rows: int = 1_000_000) -> Iterator[Row]:
    """JSON Lines to values and to JSON Lines, beside DuckDB, as in files.py."""
    from files import run, write_answers  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file, scored = Path(folder) / "answers.jsonl", Path(folder) / "scored.jsonl"
        write_answers(file, rows)
        score = [sys.executable, "-m", "karat", "score", str(file), "-m", "em", "-m", "f1", "--json"]
        source = f"read_json('{file}', format='newline_delimited')"
        statements = {
            "values": f'SELECT count(prediction), count("references") FROM {source}',  # noqa: S608
            "JSON Lines": f"COPY (SELECT * FROM {source}) TO '{folder}/copy.jsonl' (FORMAT json)",  # noqa: S608
        }
        for target, wanted in (("values", "≥ .67"), ("JSON Lines", "≥ .71")):
            duckdb = [sys.executable, "-c", f"import duckdb; duckdb.execute({statements[target]!r}).fetchall()"]
            command = score if target == "values" else [*score, "-o", str(scored)]
            theirs, ours = (median(run(each)[0] for _ in range(3)) for each in (duckdb, command))
            yield Row(f"JSON Lines to {target}, {rows:,} rows", "DuckDB", theirs, ours, "s", wanted)


def start() -> Iterator[Row]:
    """A whole command, beside the imports of what it needs, as in start.py."""
    from start import COMMANDS, ROOT, _run  # noqa: PLC0415

    floor = ["-c", "import numpy, pyarrow, duckdb, click"]
    least, ours = (
        1e3 * min(_run(each, str(ROOT / "src"))[1] for _ in range(7)) for each in (floor, COMMANDS["karat score"])
    )
    yield Row("`karat score`, twelve rows", "its imports", least, ours, "ms", "≤ 400 ms")


def judges(latency: float = 0.2) -> Iterator[Row]:
    """Rows a second through a judge's model, beside what the latency allows, as in judge.py."""
    import judge  # noqa: PLC0415

    for concurrency, rows, wanted in ((64, 2_000, "≥ .9"), (256, 3_000, "≥ .75")):
        judge.CONCURRENCY = concurrency
        with judge.endpoint(latency) as url:
            done = judge.karat(url, rows)
        yield Row(
            f"a judge, {concurrency} calls at a time",
            "ideal",
            concurrency / latency,
            judge.rate(done),
            "rows/s",
            wanted,
        )


def engines(rows: int = 10_000_000) -> Iterator[Row]:
    """A Parquet file scored by a local Ray, whose start counts, beside threads, as in engines.py."""
    from engines import make_file, measure  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make_file(rows, path)
        threads, ray = (measure(engine, str(path))[1] for engine in ("threads", "ray"))
        make_file(1_000, path)
        idle = measure("ray", str(path))[1]
    yield Row(f"Ray on one machine, {rows:,} rows", "threads", threads, ray, "s", "≥ .77")
    yield Row("the same, without the start of its cluster", "threads", threads, ray - idle, "s", "≥ .77")


def disk(rows: int = 10_000_000) -> Iterator[Row]:
    """A run of a Parquet file, written to a disk and synced, beside the same in memory."""
    from engines import make_file  # noqa: PLC0415
    from files import run  # noqa: PLC0415

    took = dict[str, float]()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        path = Path(folder) / "rows.parquet"
        make_file(rows, path)
        command = [sys.executable, "-m", "karat", "score", str(path), "-m", "em", "-m", "f1", "--json", "--run", "a"]
        for place in (memory, folder):
            with contextlib.chdir(place):
                took[place] = run(command)[0]
    yield Row(f"a run of {rows:,} rows on a disk", "in memory", took[memory], took[folder], "s", "≥ 1")


PARTS = {each.__name__: each for each in (text, documents, files, start, judges, engines, disk)}


def main(*names: str) -> None:
    print(f"{machine()}\n\n| work | peer | its | karat | | times | wanted |\n|---|---|---|---|---|---|---|")
    for name in names or PARTS:
        for row in PARTS[name]():
            numbers = (f"{each:,.0f}" if each >= 100 else f"{each:.2f}" for each in (row.theirs, row.ours))
            print(
                "|",
                " | ".join([row.work, row.peer, *numbers, row.unit, f"{row.times:.1f}", row.wanted]),
                "|",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
