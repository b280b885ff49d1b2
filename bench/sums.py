"""Exact sums of row statistics by unit, against sums of floats that depend on the order: `python bench/sums.py [rows]`.

Each function adds up rows in batches of 32,768 by 4,096 groups, with the squares of a single statistic and the number
of rows: `np.add.at` on float64 (whose last bits follow the order of the rows), `math.fsum` of each group, karat's
`Units` with and without its kernel. Speeds are by CPU time; then how much faster two threads are, by the clock, and
what a state takes in memory and as bytes.
"""

from __future__ import annotations

import math
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from threading import Thread
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from side_by_side import in_turn, machine

from karat.core.metric.rows import Rows
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import plan_run
from karat.runs.scoring.totals.totals import Totals
from karat.stats.inference import Inference
from karat.stats.sums import blocks, exact
from karat.stats.sums.units import Units

Array = NDArray[Any]
BATCH = 32_768
FSUM = 200_000  # rows for math.fsum
random = np.random.default_rng(0)


def statistics(rows: int) -> dict[str, Array]:
    """Rows like those of exact match, token F1 and BLEU."""
    lengths = random.integers(1, 12, size=(2, rows))
    common = random.integers(0, lengths.min(axis=0) + 1)
    counts = random.integers(0, 40, size=(rows, 10)).astype(float)
    return {
        "exact_match": (random.random((rows, 1)) < 0.6).astype(float),
        "token_f1": (2 * common / lengths.sum(axis=0))[:, None],
        "bleu": counts,
    }


def batches(rows: Array) -> Iterator[tuple[Array, Array]]:
    """The rows of each batch with their numbers."""
    for start in range(0, len(rows), BATCH):
        part = rows[start : start + BATCH]
        yield np.arange(start, start + len(part), dtype=np.uint64), part


def columns(rows: Array) -> list[Array]:
    return [*rows.T, rows[:, 0] ** 2] if rows.shape[1] == 1 else list(rows.T)


def add_floats(rows: Array) -> Array:
    sums = np.zeros((rows.shape[1] + 1 + (rows.shape[1] == 1), blocks.BLOCKS))
    with mock.patch.object(blocks, "COMPILED", new=False):
        for numbers, part in batches(rows):
            at = blocks.blocks(numbers, 0)
            for total, column in zip(sums, [*columns(part), np.ones(len(part))], strict=True):
                np.add.at(total, at, column)
    return sums


def add_fsum(rows: Array) -> list[list[float]]:
    at = blocks.blocks(np.arange(len(rows), dtype=np.uint64), 0)
    order, ends = np.argsort(at), np.cumsum(np.bincount(at, minlength=blocks.BLOCKS))[:-1]
    return [[math.fsum(part) for part in np.split(column[order], ends)] for column in columns(rows)]


def add_units(rows: Array) -> Units:
    units = Units(rows.shape[1])
    for numbers, part in batches(rows):
        units.add(part, numbers)
    return units


def add_without_kernel(rows: Array) -> Units:
    with mock.patch.object(exact, "COMPILED", new=False), mock.patch.object(blocks, "COMPILED", new=False):
        return add_units(rows)


def add_in_threads(rows: Array) -> None:
    threads = [Thread(target=add_units, args=(rows,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def compare_speed(name: str, rows: Array) -> None:
    few = rows[:FSUM]
    functions: dict[str, tuple[Callable[[], Any], int]] = {
        "np.add.at": (partial(add_floats, rows), len(rows)),
        "math.fsum": (partial(add_fsum, few), len(few)),
        "Units": (partial(add_units, rows), len(rows)),
        "Units, no kernel": (partial(add_without_kernel, few), len(few)),
    }
    seconds = in_turn({each: function for each, (function, _) in functions.items()}, 7, time.process_time)
    speeds = "".join(f"  {each} {functions[each][1] / taken / 1e6:6.1f}" for each, taken in seconds.items())
    print(f"{name:12}{speeds}  M rows/s")
    wall = in_turn({"one": partial(add_units, rows), "two": partial(add_in_threads, rows)}, rounds=7)
    print(f"{name:12}  two threads: {2 * wall['one'] / wall['two']:.2f} times one")
    assert add_units(few).sums.T[:-1].tolist() == add_fsum(few)


def measure_state(metric: str, rows: Array, groups: int) -> None:
    """Print what a metric's totals take; each group has more rows than are kept apart."""
    data = {"prediction": ["a"], "reference": ["a"], "topic": ["b"]}
    plan = plan_run(Selection(data, by="topic" if groups else None), metric, Inference())
    tracemalloc.start()
    totals = Totals(plan)
    for numbers, part in batches(rows):
        topics = [f"t{at % groups}" for at in range(len(part))] if groups else ["b"] * len(part)
        totals.add(pa.record_batch({"topic": topics}), [Rows(part)], {}, numbers)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    state = totals.to_bytes()
    seconds = {
        "merge": in_turn({"": partial(Totals(plan).merge_bytes, state)}, 3, time.process_time)[""],
        "to_bytes": in_turn({"": totals.to_bytes}, 3, time.process_time)[""],
    }
    took = ", ".join(f"{name} {taken * 1e3:.1f} ms" for name, taken in seconds.items())
    print(f"{metric:12} {groups:4} groups: {held / 1e6:6.2f} MB in memory, {len(state) / 1e3:7.1f} kB as bytes, {took}")


def main(rows: int = 1_000_000) -> None:
    print(machine())
    for name, each in statistics(rows).items():
        compare_speed(name, each)
    for name, each in statistics(2_000_000).items():
        for groups in (0, 100):
            measure_state(name, each, groups)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
