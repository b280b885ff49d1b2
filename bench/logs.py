"""Logs of other tools: rows a second from JSON Lines, and the memory that a large log of Inspect takes.

    python bench/logs.py [rows [megabytes]]

Each figure is of a process of its own: wall and CPU seconds, and the peak of resident memory. Samples are made up: of
lm-evaluation-harness and promptfoo about 1.2 kB a row, of Inspect about 200 kB a sample before it is compressed, most
of it the transcript.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from side_by_side import machine

WORDS = ("the", "of", "a", "to", "in", "is", "was", "for", "on", "that", "with", "as", "by", "at", "from", "which")
READ = """
import sys
from karat.data.open import open_source
print(sum(map(len, open_source(sys.argv[1]).batches())))
"""
SCORE = """
import sys, karat
print(karat.score(sys.argv[1], "exact_match", keep=False).n)
"""


def words(count: int) -> str:
    return " ".join(random.choices(WORDS, k=count))


def lm_eval(row: int) -> dict[str, object]:
    gold, answer = str(random.randint(0, 99)), str(random.randint(0, 99))
    about = {"doc_id": row, "doc": {"question": words(45), "answer": f"{words(50)} #### {gold}"}, "target": gold}
    about |= {"arguments": {"gen_args_0": {"arg_0": words(60), "arg_1": {"until": ["Q:"], "do_sample": False}}}}
    about |= {"resps": [[f"{words(50)} {answer}"]], "filtered_resps": [answer], "filter": "strict-match"}
    return about | {"metrics": ["exact_match"], "doc_hash": f"{row:064x}", "exact_match": float(gold == answer)}


def promptfoo(row: int) -> dict[str, object]:
    gold, passed, question = words(2), random.random() < 0.5, words(12)
    check = {"type": "equals", "value": gold}
    about = {"cost": 0.00012, "gradingResult": {"pass": passed, "score": int(passed), "reason": words(60)}}
    about |= {"id": f"{row:032x}", "latencyMs": row % 3000, "prompt": {"raw": question, "label": words(20)}}
    about |= {"promptIdx": 0, "provider": {"id": "openai:gpt-4o-mini"}, "score": float(passed), "success": passed}
    about |= {"response": {"output": gold if passed else words(2), "tokenUsage": {"total": 60}, "cached": False}}
    about |= {"testCase": {"vars": {"question": question}, "assert": [check]}, "testIdx": row}
    return about | {"vars": {"question": question}, "metadata": {"note": words(60)}}


def write_inspect(path: Path, megabytes: int) -> int:
    """A packed log of this size before compression; the number of its samples."""
    count = megabytes * 5
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as log:
        log.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
        for row in range(count):
            sample = {"id": row, "epoch": 1, "input": words(50), "target": "a", "output": {"completion": words(50)}}
            sample |= {"scores": {"match": {"value": "C"}}, "events": [{"event": "model", "text": words(44_000)}]}
            log.writestr(f"samples/{row}_epoch_1.json", json.dumps(sample))
    return count


def measure(name: str, code: str, file: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", code, str(file)], stdout=subprocess.PIPE, text=True)  # noqa: S603
    rows = int(process.stdout.read()) if process.stdout else 0
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    about = f"{rows:,} rows, {cpu:.1f} s of CPU, {rows / cpu:,.0f} rows a CPU second"
    print(f"{name}: {about}, at most {usage.ru_maxrss / 1024:,.0f} MB of memory")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    random.seed(1)
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("lm-evaluation-harness", lm_eval), ("promptfoo", promptfoo)):
            file = Path(folder) / f"{name}.jsonl"
            with file.open("w") as lines:
                lines.writelines(f"{json.dumps(make(row))}\n" for row in range(rows))
            print(f"{name}: {file.stat().st_size / 1e6:,.0f} MB")
            measure(f"{name}, read", READ, file)
            measure(f"{name}, scored", SCORE, file)
        log = Path(folder) / "large.eval"
        write_inspect(log, megabytes)
        print(f"Inspect: {megabytes} MB, {log.stat().st_size / 1e6:,.0f} MB compressed")
        measure("Inspect, read", READ, log)


if __name__ == "__main__":
    main()
