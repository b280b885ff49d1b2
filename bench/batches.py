"""What batches cost here: seconds, CPU and memory of a judge over many rows, against a fake endpoint.

    python bench/batches.py [ROWS]

The endpoint runs in a process of its own and answers at once, so that everything measured is karat's: reading the rows,
writing 4 kB a request, uploading, reading the results, and judging.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import karat
from karat.judges import BatchGovernor, Judge, use_governor
from karat.models.batch.uploader import Timing
from karat.models.reply_cache import ReplyCache

REPLY = '{"explanation": "Both say the same.", "label": "correct"}'


def main() -> None:
    """Judge the rows in batches, and print what it took."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    rows = [{"question": f"{n} {'word ' * 300}", "prediction": f"{n}", "reference": ["r"]} for n in range(count)]
    command = [sys.executable, "-m", "karat", "fake-llm", "--answer", REPLY]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,  # noqa: S603
    ):
        os.environ["OPENAI_BASE_URL"] = next(server.stdout or iter([])).strip().partition("=")[2]
        before, started, cpu = peak(), time.monotonic(), time.process_time()
        with ReplyCache(Path(folder) / "replies.sqlite") as store:
            governor = BatchGovernor(store=store, report=print, timing=Timing(0.2, 1.0, 0.5, 5.0))
            with use_governor(governor):
                result = karat.score(rows, Judge("correctness", model="small"))
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
        server.terminate()
    failed = next(iter(result.values.values())).failed
    print(f"{count} rows, {failed} failed, {governor.totals.calls} calls: {seconds:.1f} s, {cpu:.1f} s of CPU")
    print(f"peak {peak():.0f} MB, before {before:.0f} MB")


def peak() -> float:
    """The most memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
