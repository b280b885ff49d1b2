"""What batches cost here: seconds, CPU and memory of a judge's requests over many rows, against a fake endpoint.

    python bench/batches.py [ROWS]

The endpoint runs in a process of its own and answers at once, so that everything measured is karat's: reading the rows,
writing 4 kB a request, uploading, reading the results, and judging. Each command is a process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPLY = '{"explanation": "Both say the same.", "label": "correct"}'
SCORE = ["score", "rows.jsonl", "-m", "judge:correctness", "--model", "small"]
COMMANDS = {
    "write": [*SCORE, "--write-requests", "requests.jsonl"],
    "batch": ["batch", "requests.jsonl", "-o", "replies.jsonl"],
    "score": [*SCORE, "--replies", "replies.jsonl"],
}


def main() -> None:
    """Judge the rows in batches, and print what each command took."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    karat = [sys.executable, "-m", "karat"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([*karat, "fake-llm", "--answer", REPLY], stdout=subprocess.PIPE, text=True) as server,  # noqa: S603
    ):
        os.chdir(folder)
        os.environ["OPENAI_BASE_URL"] = next(server.stdout or iter([])).strip().partition("=")[2]
        os.environ["KARAT_CACHE"] = "replies.sqlite"
        with Path("rows.jsonl").open("w") as file:
            for n in range(count):
                row = {"question": f"{n} {'word ' * 300}", "prediction": f"{n}", "reference": ["r"]}
                file.write(json.dumps(row) + "\n")
        for name, words in COMMANDS.items():
            started = time.monotonic()
            process = subprocess.Popen([*karat, *words])  # noqa: S603
            _, status, usage = os.wait4(process.pid, 0)
            cpu = usage.ru_utime + usage.ru_stime
            seconds, peak = time.monotonic() - started, usage.ru_maxrss / 1024
            print(f"{name}, {count} rows: {seconds:.1f} s, {cpu:.1f} s of CPU, peak {peak:.0f} MB, status {status}")
        server.terminate()


if __name__ == "__main__":
    main()
