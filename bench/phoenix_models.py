"""Phoenix's evaluators that ask a model, in karat's `evaluate_dataframe` and in Phoenix's, over a scripted endpoint.

    python bench/phoenix_models.py [--rows N] [--rounds N] [--theirs N]

The endpoint is another process, and replies after 200 ms; 64 requests may run at a time. Ideal is the time that the
replies alone take. Phoenix is asked for fewer rows, with its rate limiter as it is, and with one that never waits.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd
from phoenix.evals import LLM
from phoenix.evals import async_evaluate_dataframe as evaluate_phoenix
from phoenix.evals.metrics import ConcisenessEvaluator
from side_by_side import machine

from karat import Governor
from karat.adapters.phoenix import evaluate_dataframe
from karat.judges import use_governor

if TYPE_CHECKING:
    from collections.abc import Iterator

LATENCY, AT_A_TIME = 0.2, 64
SERVER = f"""
import sys
from karat.models.testing.fake import FakeServer
with FakeServer({{"explanation": "Short.", "label": "concise"}}, latency={LATENCY}) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def endpoint() -> Iterator[str]:
    """The address of an endpoint in another process."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=-1, stdin=-1, text=True) as server:  # noqa: S603
        assert server.stdout is not None
        assert server.stdin is not None
        yield server.stdout.readline().strip()
        server.stdin.close()


def make(rows: int) -> pd.DataFrame:
    return pd.DataFrame({"input": [f"Capital {n}?" for n in range(rows)], "output": ["Paris"] * rows})


def tell(name: str, seconds: list[float], rows: int, scored: Any) -> None:
    assert {score["label"] for score in scored["conciseness_score"]} == {"concise"}
    ideal, best = rows / AT_A_TIME * LATENCY, min(seconds)
    print(f"| {name} | {rows:,} | {best:.2f} | {rows / best:.0f} | {ideal / best:.0%} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_048)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--theirs", type=int, default=256)
    given = parser.parse_args()
    print(f"{machine()}\n\n| | rows | seconds, best | rows a second | of the ideal |\n|---|---|---|---|---|")
    with endpoint() as url:
        settings: dict[str, Any] = {"provider": "openai", "model": "m", "base_url": url, "api_key": "none"}
        evaluator, frame, seconds = ConcisenessEvaluator(llm=LLM(**settings)), make(given.rows), []
        for _ in range(given.rounds):
            with use_governor(Governor(concurrency=AT_A_TIME)):
                start = time.perf_counter()
                scored = evaluate_dataframe(frame, [evaluator])
                seconds.append(time.perf_counter() - start)
        tell("karat", seconds, given.rows, scored)
        for name, rate in (("Phoenix, without its limit", 1e6), ("Phoenix", None)):
            theirs = ConcisenessEvaluator(llm=LLM(**settings, initial_per_second_request_rate=rate))
            few = make(given.theirs)
            start = time.perf_counter()
            scored = asyncio.run(
                evaluate_phoenix(dataframe=few, evaluators=[theirs], concurrency=AT_A_TIME, hide_tqdm_bar=True)
            )
            tell(name, [time.perf_counter() - start], given.theirs, scored)


if __name__ == "__main__":
    main()
