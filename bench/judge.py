"""Rows a second through a judge's model, against an endpoint that takes 200 ms for each call: karat and its peers.

    python bench/judge.py [rows] [latency]

The endpoint is `karat fake-llm` in a process of its own on the same cores. At a concurrency of 64 and 200 ms, 320 rows
a second are the ideal. The rate is that of the rows once running: the slope of the rows done over time, from the first
fifth of them to the last 64. Haystack's evaluator asks one row after another; `arize-phoenix-evals` is measured where
it is installed, with its own rate limit out of the way. Both get fewer rows.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import numpy as np
from side_by_side import machine

from karat.models.governor.governor import Governor
from karat.models.openai.model import OpenAIModel
from karat.models.request import Request

CONCURRENCY = 64
ANSWER = {"explanation": "It says the same as the reference.", "label": "correct"}
SCHEMA = {
    "type": "object",
    "properties": {"explanation": {"type": "string"}, "label": {"enum": ["correct", "incorrect"]}},
    "required": ["explanation", "label"],
    "additionalProperties": False,
}
TASK = "You grade answers. Say whether the answer says the same as the reference, and why. " * 10


def question(row: int) -> str:
    return f"Question {row}: which town is it? " + "A sentence of the context. " * 30


@contextmanager
def endpoint(latency: float) -> Iterator[str]:
    """The base URL of a fake model in a process of its own."""
    command = [sys.executable, "-m", "karat", "fake-llm", "--latency", str(latency), "--answer", json.dumps(ANSWER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        yield process.stdout.readline().strip().partition("=")[2]
        process.terminate()


def karat(url: str, rows: int) -> list[float]:
    governor, model, done = Governor(concurrency=CONCURRENCY), OpenAIModel("fake", base_url=url), list[float]()

    async def work(row: int) -> None:
        messages = [{"role": "system", "content": TASK}, {"role": "user", "content": question(row)}]
        reply = await governor.ask(model, Request(messages, SCHEMA, {"temperature": 0}))
        assert json.loads(reply.text) == ANSWER
        done.append(time.perf_counter())

    governor.map(work, range(rows))
    return done


def bare_openai(aiohttp: bool) -> Callable[[str, int], list[float]]:
    """The official client as its documentation uses it, 64 calls at a time, over httpx or aiohttp."""
    import openai  # noqa: PLC0415

    async def run(url: str, rows: int) -> list[float]:
        done, turn = list[float](), asyncio.Semaphore(CONCURRENCY)
        transport = openai.DefaultAioHttpClient() if aiohttp else None
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=transport) as client:

            async def work(row: int) -> None:
                async with turn:
                    completion = await client.chat.completions.create(
                        model="fake",
                        messages=[{"role": "system", "content": TASK}, {"role": "user", "content": question(row)}],
                        temperature=0,
                        response_format={
                            "type": "json_schema",
                            "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
                        },
                    )
                assert json.loads(completion.choices[0].message.content or "") == ANSWER
                done.append(time.perf_counter())

            await asyncio.gather(*map(work, range(rows)))
        return done

    return lambda url, rows: asyncio.run(run(url, rows))


def haystack(url: str, rows: int) -> list[float]:
    from haystack.components.evaluators import LLMEvaluator  # noqa: PLC0415
    from haystack.components.generators.chat import OpenAIChatGenerator  # noqa: PLC0415
    from haystack.utils import Secret  # noqa: PLC0415

    evaluator = LLMEvaluator(
        instructions=TASK,
        inputs=[("questions", list[str])],
        outputs=list(ANSWER),
        examples=[],
        progress_bar=False,
        chat_generator=OpenAIChatGenerator(
            api_key=Secret.from_token("none"),
            api_base_url=url,
            model="fake",
            generation_kwargs={"response_format": {"type": "json_object"}},
        ),
    )
    evaluator.warm_up()
    done = []
    for row in range(rows):  # it has no hook for a row done; it asks in turn, so runs of one row are the same
        assert evaluator.run(questions=[question(row)])["results"][0] == ANSWER
        done.append(time.perf_counter())
    return done


def phoenix(url: str, rows: int) -> list[float]:
    import pandas as pd  # noqa: PLC0415
    from phoenix.evals import async_evaluate_dataframe, create_classifier  # noqa: PLC0415
    from phoenix.evals.llm import LLM  # noqa: PLC0415

    llm = LLM(
        provider="openai", model="fake", base_url=url, api_key="none", initial_per_second_request_rate=10 * CONCURRENCY
    )
    classifier = create_classifier(
        name="correctness", prompt_template=TASK + "{{question}}", llm=llm, choices={"correct": 1.0, "incorrect": 0.0}
    )
    frame = pd.DataFrame({"question": [question(row) for row in range(rows)]})
    begun = time.perf_counter()
    table = asyncio.run(
        async_evaluate_dataframe(dataframe=frame, evaluators=[classifier], concurrency=CONCURRENCY, hide_tqdm_bar=True)
    )
    assert all(score["score"] == 1.0 for score in table["correctness_score"])
    return list(np.linspace(begun, time.perf_counter(), rows + 1)[1:])  # only the whole is known


def rate(done: list[float]) -> float:
    """Rows a second once running."""
    first, last = len(done) // 5, max(len(done) - CONCURRENCY, len(done) // 2)
    return float(np.polyfit(np.sort(done)[first:last], np.arange(first, last), 1)[0])


def main(rows: int, latency: float) -> None:
    ideal = CONCURRENCY / latency
    ways: dict[str, tuple[Callable[[str, int], list[float]], int]] = {
        "karat": (karat, rows),
        "openai, aiohttp": (bare_openai(aiohttp=True), rows),
        "openai, httpx": (bare_openai(aiohttp=False), rows),
        "karat again": (karat, rows),
    }
    if find_spec("phoenix") is not None:
        ways["phoenix-evals"] = (phoenix, rows // 10)
    if find_spec("haystack") is not None:
        ways["Haystack LLMEvaluator"] = (haystack, 25)
    print(machine())
    print(f"{latency * 1e3:g} ms, {CONCURRENCY} calls at a time: {ideal:g} rows/s are the ideal")
    with endpoint(latency) as url:
        for name, (way, count) in ways.items():
            spent = time.process_time()
            reached = rate(way(url, count))
            spent = (time.process_time() - spent) / count
            print(
                f"{name:22} {count:6,} rows {reached:8.1f} rows/s {reached / ideal:7.1%} of the ideal, "
                f"{spent * 1e6:6.0f} us a row, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000, float(sys.argv[2]) if len(sys.argv) > 2 else 0.2)
