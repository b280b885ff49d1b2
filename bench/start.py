"""How long commands take to start: over a bare interpreter, and beside another checkout of karat.

python bench/start.py [OTHER/src]

Processor time says more than wall time where a machine is shared: both are printed, the least of all rounds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from side_by_side import machine

from karat.models.testing.fake import FakeServer

ROOT = Path(__file__).parents[1]
ROWS = str(ROOT / "examples" / "answers.jsonl")
COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "floor": ["-c", "import numpy, pyarrow, duckdb, click"],
    "import karat": ["-c", "import karat"],
    "karat --help": ["-m", "karat", "--help"],
    "karat score": ["-m", "karat", "score", ROWS, "-m", "exact_match", "-m", "token_f1"],
}


def main(*others: str, rounds: int = 11) -> None:
    """Print the least seconds of each command, run in turn in this checkout and in others, and until a judge's call."""
    print(machine())
    sources = {"here": str(ROOT / "src"), **{other: other for other in others}}
    calls: list[float] = []

    def answer(_: Any) -> dict[str, str]:
        calls.append(time.perf_counter())
        return {"explanation": "", "label": "correct"}

    measured: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with FakeServer(answer) as server:
        judge = ["-m", "karat", "score", ROWS, "-m", "judge:correctness", "--model", "small", "--no-cache"]
        commands = COMMANDS | {"first judge call": [*judge, "--base-url", server.url]}
        for _ in range(rounds):
            for command, words in commands.items():
                for name, source in sources.items():
                    calls.clear()
                    start = time.perf_counter()
                    wall, processor = _run(words, source)
                    measured.setdefault((command, name), []).append((calls[0] - start if calls else wall, processor))
    for (command, name), times in measured.items():
        wall, processor = (min(each) * 1e3 for each in zip(*times, strict=True))
        print(f"{command:18} {name:20} {wall:7.0f} ms, {processor:7.0f} ms of processor time")


def _run(words: list[str], source: str) -> tuple[float, float]:
    """Wall and processor seconds of one whole command."""
    environment = {**os.environ, "PYTHONPATH": source, "OPENAI_API_KEY": "none"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *words], check=False, capture_output=True, env=environment)  # noqa: S603
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(*sys.argv[1:])
