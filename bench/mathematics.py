"""Verdicts on mathematics: karat beside Math-Verify, in one process.

On GSM8K's solutions, Math-Verify's cases, and pairs of answers whose verdict is known by construction.

`python bench/mathematics.py FOLDER`, where the folder holds `gsm8k_example_model_solutions.jsonl.gz` and
`math_verify_cases.jsonl`. Both score the same texts, from the main thread, one core each.
"""

from __future__ import annotations

import gzip
import json
import os
import runpy
import sys
import time
from pathlib import Path

import pyarrow as pa

os.environ["KARAT_THREADS"] = "1"
SYSTEMS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")


def gsm8k(folder: Path, *, whole: bool) -> tuple[list[str], list[str], list[bool]]:
    """Predictions, references and verdicts: of whole solutions, or of what stands after `A:`."""
    with gzip.open(folder / "gsm8k_example_model_solutions.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]

    def cut(text: str) -> str:
        return text if whole else text.rpartition("A:")[2].strip()

    pairs = [(row[system], row["ground_truth"]) for row in rows for system in SYSTEMS]
    return (
        [cut(given["solution"]) for given, _ in pairs],
        [cut(wanted) for _, wanted in pairs],
        [given["is_correct"] for given, _ in pairs],
    )


def cases(folder: Path) -> tuple[list[str], list[str], list[bool]]:
    rows = [json.loads(line) for line in (folder / "math_verify_cases.jsonl").read_text("utf-8").splitlines()]
    return [r["pred"] for r in rows], [r["gold"] for r in rows], [r["expected"] for r in rows]


def generated(count: int) -> tuple[list[str], list[str], list[bool]]:
    """Pairs from the generator of the tests."""
    script = Path(__file__).parents[1] / "tests/agree/math_pairs.py"
    pairs = list(runpy.run_path(str(script))["generate"](count, 7))
    return [p.prediction for p in pairs], [p.gold for p in pairs], [p.equal for p in pairs]


def main(folder: Path) -> None:
    from math_verify import parse, verify  # noqa: PLC0415

    from karat.metrics import math_match  # noqa: PLC0415

    math_match([r"\sin(x+y)"], [r"\sin x\cos y + \cos x\sin y"])  # starts the worker
    verify(parse("$1$"), parse("$1$"))
    print(f"{'data':24}{'rows':>7}{'karat rows/s':>14}{'right':>8}{'Math-Verify':>14}{'right':>8}{'faster':>8}")
    data = {
        "GSM8K, answers": gsm8k(folder, whole=False),
        "GSM8K, solutions": gsm8k(folder, whole=True),
        "Math-Verify's cases": cases(folder),
        "generated pairs": generated(2_600),
    }
    for name, (given, wanted, right) in data.items():
        columns = pa.array(given), pa.array(wanted)
        start = time.perf_counter()
        ours = [score == 1 for score in math_match(*columns).to_pylist()]
        mine = len(right) / (time.perf_counter() - start)
        start = time.perf_counter()
        theirs = [verify(parse(w), parse(g)) for g, w in zip(given, wanted, strict=True)]
        other = len(right) / (time.perf_counter() - start)
        agreed = [sum(a == b for a, b in zip(found, right, strict=True)) for found in (ours, theirs)]
        print(f"{name:24}{len(right):7}{mine:14,.0f}{agreed[0]:8}{other:14,.0f}{agreed[1]:8}{mine / other:8.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data/math"))
