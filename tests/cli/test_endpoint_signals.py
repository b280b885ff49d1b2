"""A command that waits for a model's endpoint ends cleanly on a signal, and goes on with --resume."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from karat.models.testing.fake import FakeServer
from karat.models.testing.http import HttpResponse, LoopbackServer

KEPT = "replies so far are kept: the same command with --resume continues"


def start(port, folder, *more):
    rows = folder / "rows.jsonl"
    rows.write_text("".join(f'{{"question": "?", "prediction": "{n}", "reference": "b"}}\n' for n in range(20)))
    words = f"score {rows} -m judge:correctness --model small --base-url http://127.0.0.1:{port}/v1".split()
    environment = {**os.environ, "OPENAI_API_KEY": "very-secret-key", "KARAT_CACHE": str(folder / "cache")}
    command = [sys.executable, "-X", "dev", "-m", "karat", *words, *more]
    return subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True)


@pytest.mark.parametrize(
    ("delivery", "sent", "presses"),
    [
        ("whole", signal.SIGTERM, 1),
        ("whole", signal.SIGINT, 1),
        ("hang", signal.SIGTERM, 2),  # after the first, running calls have 30 s to end
        ("hang", signal.SIGINT, 2),
    ],
)
def test_a_signal_while_an_endpoint_refuses_or_hangs(delivery, sent, presses, tmp_path):
    refused = HttpResponse(b"{}", status=429, headers="Retry-After: 60\r\n", delivery=delivery)
    server, asked = LoopbackServer(lambda _: asked.append(1) or refused), []
    server.start()
    try:
        process = start(server.port, tmp_path)
        while not asked and process.poll() is None:
            time.sleep(0.05)
        for _ in range(presses):
            process.send_signal(sent)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=2)
        printed, told = process.communicate(timeout=20)
    finally:
        server.stop()
    slow = "Executing <"  # asyncio's remark on a busy machine, with -X dev
    used, *rest = (line for line in told.strip().splitlines() if not line.startswith(slow))
    assert (process.returncode, printed) == (128 + sent, "")
    assert used.startswith("models: ")
    assert rest == [KEPT] + ["interrupted"] * (sent == signal.SIGINT)


def test_a_budget_that_runs_out_says_what_would_have_been_enough(tmp_path):
    with FakeServer() as server:
        process = start(server.port, tmp_path, "--budget", "0.001", "--price", "0.1,0.1")
        told = process.communicate(timeout=60)[1]
    assert process.returncode == 6
    used, how = told.strip().splitlines()
    assert re.fullmatch(r"models: 13 calls, 0 retries, 0 cached, 0 failed, 7 not asked; .*", used)
    assert re.fullmatch(r"a cap is reached: 7 requests were not sent; the same command with --resume --budget .*", how)
