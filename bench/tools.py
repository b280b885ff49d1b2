"""Tool calls: karat beside agentevals and the checker of BFCL, in one process, on one core.

`python bench/tools.py [FOLDER]`, where the folder is `bfcl_eval/data` of bfcl-eval: without it, only
agentevals is timed. karat reads JSON text, as in a file; the others get objects, and the time to parse them is shown
apart. Seconds are those of the processor. agentevals, langchain-core and bfcl-eval have to be importable.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

os.environ["KARAT_THREADS"] = "1"
os.environ["LANGSMITH_TRACING"] = "false"

import pyarrow as pa
from side_by_side import in_turn, machine

from karat.core.metric.metric import Metric
from karat.metrics import bfcl_match, trajectory_match

CASES = runpy.run_path(str(Path(__file__).parents[1] / "tests/agree/tool_cases.py"))
CITIES, TOOLS = ("Paris", "Rome", "Zürich", "Lima"), ("get_forecast", "get_wind", "get_sunset")
CATEGORIES = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple")


def leaderboard(folder: Path) -> list[tuple[Any, Any, Any]]:
    """Calls with the first allowed values, the allowed values and the definitions."""
    rows = []
    for category in CATEGORIES:
        texts = (folder / f"possible_answer/BFCL_v4_{category}.json").read_text("utf-8").splitlines()
        answers = {row["id"]: row["ground_truth"] for row in map(json.loads, texts)}
        for row in map(json.loads, (folder / f"BFCL_v4_{category}.json").read_text("utf-8").splitlines()):
            expected = answers[row["id"]]
            calls = [
                {name: {key: each[0] for key, each in arguments.items() if each and each[0] != ""}}
                for call in expected
                for name, arguments in call.items()
            ]
            rows.append((calls, expected, row["function"]))
    return rows


def conversation(random: Random) -> list[dict[str, Any]]:
    """A question and its answer after some rounds of calls and results."""
    said: list[dict[str, Any]] = [{"role": "user", "content": f"How is the weather in {random.choice(CITIES)}? " * 3}]
    for turn in range(random.randint(1, 3)):
        ids = [f"call_{turn}_{at}" for at in range(random.randint(1, 3))]
        calls = [
            {
                "id": each,
                "type": "function",
                "function": {
                    "name": random.choice(TOOLS),
                    "arguments": json.dumps(
                        {
                            "city": random.choice(CITIES),
                            "days": random.randint(1, 3),
                            "units": {"wind": "km/h", "hours": [6, 18]},
                        }
                    ),
                },
            }
            for each in ids
        ]
        said.append({"role": "assistant", "content": None, "tool_calls": calls})
        said += [
            {"role": "tool", "tool_call_id": each, "content": "sunny, 21 degrees, light wind from the west"}
            for each in ids
        ]
    return [*said, {"role": "assistant", "content": "It is sunny, with light wind."}]


def conversations(count: int) -> list[tuple[Any, Any]]:
    """Conversations, half of them beside themselves, half beside another one."""
    random = Random(7)
    made = [conversation(random) for _ in range(count)]
    return [(each, each if at % 2 else random.choice(made)) for at, each in enumerate(made)]


def compare(name: str, rows: Sequence[Sequence[Any]], metric: Metric, check: Callable[..., Any]) -> None:
    """Print the microseconds a row of a metric and of a function of Python objects, and whether they agree."""
    texts = [[json.dumps(cell) for cell in column] for column in zip(*rows, strict=True)]
    columns = [pa.array(column) for column in texts]

    def parse() -> None:
        for column in texts:
            for text in column:
                json.loads(text)

    found: list[Any] = []

    def theirs() -> None:
        found[:] = [check(*row) for row in rows]

    scores = metric(*columns).to_pylist()
    seconds = in_turn({"karat": lambda: metric(*columns), "parse": parse, "theirs": theirs}, 3, time.process_time)
    ours, parsed, checked = (1e6 * each / len(rows) for each in seconds.values())
    agree = sum(score == verdict for score, verdict in zip(scores, found, strict=True) if verdict is not None)
    total = sum(verdict is not None for verdict in found)
    ratio = f"{checked / ours:>8.0f}{(checked + parsed) / ours:>14.0f}"
    print(f"{name:34}{len(rows):>7}{ours:>9.2f}{checked:>9.1f}{parsed:>9.1f}{ratio}{f'{agree}/{total}':>14}")


def main(folder: Path | None) -> None:
    print(machine())
    print(
        f"{'µs a row':34}{'rows':>7}{'karat':>9}{'theirs':>9}{'json':>9}{'faster':>8}{'… with json':>14}{'agree':>14}"
    )
    checker: Any = CASES["bfcl_checker"]() if folder is not None else None

    def bfcl(calls: Any, expected: Any, tools: Any) -> float | None:
        try:
            return float(checker(calls, expected, tools))
        except (AttributeError, KeyError, TypeError):
            return None

    for mode, arguments in (("strict", "exact"), ("unordered", "exact"), ("superset", "subset")):
        evaluate = CASES["agentevals_evaluator"](mode, arguments)
        rows = conversations(2_000)
        metric = trajectory_match.using(mode=mode, arguments=arguments)

        def agentevals(mine: Any, theirs: Any, evaluate: Any = evaluate) -> float:
            return float(evaluate(outputs=mine, reference_outputs=theirs)["score"])

        compare(f"agentevals, {mode}, {arguments}", rows, metric, agentevals)
    if folder is not None:
        compare("BFCL, its data four times", leaderboard(folder) * 4, bfcl_match, bfcl)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
