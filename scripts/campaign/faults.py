"""Bad days of the machine and of the network: `python scripts/campaign/faults.py [FAULT…]`, by default all of them.

Each fault is given to `karat score` as a user runs it. It may end with the values of an undisturbed run, or with a
sentence, without a traceback and not by a signal, so that the same command gives those values once the fault is gone.
Linux, where one may make mounts of one's own (`unshare --mount --map-root-user`); about ten minutes on two cores.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from karat.models.request import ChatMessage
from karat.models.testing.fake import FakeServer

ROWS, CALLS = 200_000, 300
METRICS = ["-m", "exact_match", "-m", "token_f1"]
JUDGE = ["judged.parquet", "-m", "judge:correctness", "--model", "small", "--json"]
KEY = "sk-marked-8f3b2d71c6"
CLOCK = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"  # Debian's package `faketime`
SCORE = ["score", "rows.parquet", *METRICS, "--json"]
SPACES = [0, 8, 64, 1024, 8192, 32768]  # kB that are left on the disk
DESCRIPTORS = [10, 16, 24, 32, 48, 64, 128]
MEMORY = [0.6, 0.8, 1.0, 1.5, 2.0, 3.0]  # GB of addresses


class Wrong(Exception):
    """What karat must not do."""


def karat(*words: str, limits: dict[int, int] | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command to its end. A traceback or a signal is `Wrong`."""

    def limit() -> None:
        for kind, most in (limits or {}).items():
            resource.setrlimit(kind, (most, most))

    run = subprocess.run(
        [sys.executable, "-m", "karat", *words], check=False, capture_output=True, text=True, timeout=300,
        env=os.environ | environment, preexec_fn=limit if limits else None,
    )  # fmt: skip
    check_end(run.returncode, run.stderr, words)
    return run


def check_end(code: int, said: str, words: tuple[str, ...]) -> None:
    """How a command may end."""
    if code < 0 or "Traceback" in said or (code and not said.strip()):
        raise Wrong(f"{' '.join(words)}: ended with {code}: {said.strip()[-1500:]}")


def values(run: subprocess.CompletedProcess[str]) -> object:
    """The values that a command printed; `Wrong` if it failed."""
    if run.returncode:
        raise Wrong(f"it failed without the fault: {run.stderr[-500:]}")
    return {each["spec"]: (each["value"], each["scored"]) for each in json.loads(run.stdout)["metrics"]}


@contextmanager
def mounted(folder: str, megabytes: int) -> Iterator[Path]:
    """A small disk."""
    path = Path(folder)
    path.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder], check=True)
    try:
        yield path.resolve()
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path, left: int) -> Path:
    """Fill a disk up to so many kB. Gives the file that fills it."""
    ballast = folder / "ballast"
    free = shutil.disk_usage(folder).free - left * 1024
    ballast.write_bytes(b"\0" * (free // 4096 * 4096))
    return ballast


def disk_full() -> str:
    """No space for a run, or for the scored rows."""
    whole, refused = values(karat(*SCORE)), 0
    for left in SPACES:
        with mounted("small", 64) as disk:
            ballast = fill(disk, left)
            run = karat(*SCORE, "--run", "a", KARAT_RUNS=str(disk))
            refused += run.returncode > 0
            ballast.unlink()
            again = karat(*SCORE, "--run", "a", *(["--resume"] if run.returncode else []), KARAT_RUNS=str(disk))
            if run.returncode and values(again) != whole:
                raise Wrong(f"with {left} kB, then more, it gave other values")
            for ending in ("csv", "parquet", "jsonl"):
                ballast = fill(disk, left)
                run = karat(*SCORE, "-o", f"small/out.{ending}")
                refused += run.returncode > 0
                if run.returncode and Path(f"small/out.{ending}").exists():
                    raise Wrong(f"with {left} kB, half an out.{ending} is left")
                ballast.unlink()
    return f"{4 * len(SPACES)} commands, {refused} refused"


def read_only() -> str:
    """Nothing can be written where runs, replies and scored rows go."""
    with mounted("fixed", 8) as disk, FakeServer(answer=label) as server:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        judge = [*JUDGE, "--base-url", server.url]
        ends = [
            karat(*SCORE, "--run", "a", KARAT_RUNS=str(disk)).returncode,
            karat(*SCORE, "-o", "fixed/out.csv").returncode,
            karat("score", *judge, KARAT_CACHE=str(disk / "replies.sqlite")).returncode,
        ]
    if not all(ends):
        raise Wrong(f"what could not be written was not told: {ends}")
    return "3 commands, 3 refused"


def clock_stepped_back() -> str:
    """The clock jumps back by an hour every second or so while a run is scored and a judge is asked."""
    if not Path(CLOCK).exists():
        return "not tried: needs Debian's package faketime"
    whole = values(karat(*SCORE))
    clock = Path("clock").resolve()
    settings = {"LD_PRELOAD": CLOCK, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    with FakeServer(answer=label, latency=0.02) as server:
        clock.write_text("+0")
        words = [[*SCORE, "--run", "clock"], ["score", *JUDGE, "--base-url", server.url, "--run", "judged"]]
        for command in words:
            process = subprocess.Popen(
                [sys.executable, "-m", "karat", *command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=os.environ | settings,
            )  # fmt: skip
            back = 0
            while process.poll() is None:
                time.sleep(1)
                back += 3600
                clock.write_text(f"-{back}")
            out, said = process.communicate()
            check_end(process.returncode, said, tuple(command))
            run = subprocess.CompletedProcess(command, process.returncode, out, said)
            if command[1] == "rows.parquet" and values(run) != whole:
                raise Wrong("other values")
        if server.calls != CALLS:
            raise Wrong(f"{server.calls} calls for {CALLS} rows")
    karat("runs")
    return "2 commands, none refused"


def descriptors() -> str:
    """Few files may be open at once."""
    whole, refused = values(karat(*SCORE)), 0
    for most in DESCRIPTORS:
        run = karat(*SCORE, "--run", f"few{most}", limits={resource.RLIMIT_NOFILE: most})
        refused += run.returncode > 0
        if not run.returncode and values(run) != whole:
            raise Wrong(f"with {most} descriptors, other values")
    return f"{len(DESCRIPTORS)} commands, {refused} refused"


def memory() -> str:
    """Little memory."""
    whole, refused = values(karat(*SCORE)), 0
    for most in MEMORY:
        run = karat(*SCORE, "--run", f"little{most}", limits={resource.RLIMIT_AS: int(most * 2**30)})
        refused += run.returncode > 0
        if not run.returncode and values(run) != whole:
            raise Wrong(f"with {most} GB, other values")
    return f"{len(MEMORY)} commands, {refused} refused"


def flat_memory() -> str:
    """Ten times the rows need no more memory."""
    peaks = {}
    for rows in (1_000_000, 10_000_000):
        make_rows(Path("many.parquet"), rows)
        command = [sys.executable, "-m", "karat", "score", "many.parquet", *METRICS, "--json"]
        run = subprocess.run(["/usr/bin/env", "time", "-f", "%M", *command], check=True, capture_output=True, text=True)
        peaks[rows] = int(run.stderr.split()[-1]) / 1024
    if peaks[10_000_000] > 1.3 * peaks[1_000_000]:
        raise Wrong(f"{peaks} MB")
    return ", ".join(f"{rows:,} rows {peak:.0f} MB" for rows, peak in peaks.items())


def changed_while_read() -> str:
    """The file is cut short or written anew while it is scored."""
    told = tried = 0
    for ending in ("parquet", "jsonl", "csv"):
        source = Path(f"source.{ending}")
        convert(Path("rows.parquet"), source)
        for after in (0.6, 1.0, 1.4):
            for cut in (True, False):
                file = Path(f"moving.{ending}")
                shutil.copy(source, file)
                words = ("score", file.name, *METRICS, "--json")
                whole = values(karat(*words))
                process = subprocess.Popen(
                    [sys.executable, "-m", "karat", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                )
                time.sleep(after)
                content = source.read_bytes()
                file.write_bytes(content[: len(content) // 3] if cut else content.replace(b"word1", b"w0rd1"))
                out, said = process.communicate()
                check_end(process.returncode, said, words)
                found = process.returncode or values(subprocess.CompletedProcess(words, 0, out, said))
                new = karat(*words)
                if not process.returncode and found not in (whole, None if new.returncode else values(new)):
                    raise Wrong(f"{file.name}, {'cut' if cut else 'changed'} after {after} s: a mixture of two files")
                told, tried = told + (process.returncode > 0), tried + 1
    return f"{tried} commands, {told} refused"


def two_processes() -> str:
    """Two processes write one run, and share one cache of replies."""
    whole = values(karat(*SCORE))
    words = [sys.executable, "-m", "karat", *SCORE, "--run", "shared"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for each in both:
        out, said = each.communicate()
        check_end(each.returncode, said, tuple(words))
        if not each.returncode and values(subprocess.CompletedProcess(words, 0, out, said)) != whole:
            raise Wrong("other values")
    if {each.returncode for each in both} == {0}:
        raise Wrong("both wrote the run")
    with FakeServer(answer=label, latency=0.02) as server:
        judge = [sys.executable, "-m", "karat", "score", *JUDGE, "--base-url", server.url]
        cache = os.environ | {"KARAT_CACHE": str(Path("shared.sqlite").resolve())}
        pair = [
            subprocess.Popen(judge, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=cache) for _ in "ab"
        ]
        ends = [(*each.communicate(), each.returncode) for each in pair]
        for _, said, code in ends:
            check_end(code, said, tuple(judge))
        if ends[0][0] != ends[1][0] or ends[0][2] or ends[1][2]:
            raise Wrong("two judges of the same rows differ")
        return f"1 run of 2 processes, 1 cache of 2 processes: {server.calls} calls for {CALLS} rows"


def failing_calls() -> str:
    """Three calls of ten fail, in nine ways: rows have the score they had, and those that have none say why."""
    shares = dict.fromkeys(("429", "429-after", "500", "503", "reset", "cut", "empty", "prose", "truncated"), 0.3 / 9)
    with FakeServer(answer=label) as server, FakeServer(answer=label, faults=shares) as bad:
        for name, url in (("whole", server.url), ("bad", bad.url)):
            values(karat("score", *JUDGE, "--base-url", url, "--no-cache", "-o", f"{name}.jsonl"))
        calls = bad.calls
    whole, found = (pj.read_json(f"{name}.jsonl").to_pylist() for name in ("whole", "bad"))
    column = next(name for name in whole[0] if name.startswith("judge:"))
    failed = [row for row in found if row[column] is None]
    if any(bad[column] not in (None, good[column]) for good, bad in zip(whole, found, strict=True)):
        raise Wrong("other scores")
    if not all(row[f"{column}.error"] for row in failed):
        raise Wrong(f"a row without a score and without a reason: {failed}")
    return f"{CALLS} rows, {calls} calls, the same scores but for {len(failed)} rows that say why they have none"


def secrets() -> str:
    """A key is in no run, cache, log or message, also where the endpoint refuses it and sends it back."""
    said = ""
    ends: list[int] = []
    with FakeServer(answer=label, key=KEY) as server, FakeServer(answer=label, key="another") as refusing:
        for url, key in ((server.url, KEY), (refusing.url, KEY), (server.url, KEY[:-1] + "0")):
            run = karat(
                "score", *JUDGE, "--base-url", url, "--run", f"r{len(ends)}", "-o", "o.jsonl", OPENAI_API_KEY=key
            )
            said += f"{run.stdout}{run.stderr}."
            ends.append(run.returncode)
    if ends[0] or not ends[1]:
        raise Wrong(f"the right key, a wrong one: ended with {ends}: {said}")
    searched = 0
    for file in Path().rglob("*"):
        if file.is_file() and not file.is_symlink():
            searched += 1
            if KEY[:-1].encode() in file.read_bytes():
                raise Wrong(f"the key is in {file}")
    if KEY[:-1] in said:
        raise Wrong("the key was printed")
    return f"3 runs, {searched} files searched"


def label(messages: Sequence[ChatMessage]) -> dict[str, str]:
    """A verdict that depends on the row alone, not on the later message that asks to repair a refused reply."""
    asked = next(each["content"] for each in messages if each["role"] == "user")
    return {"explanation": "by length", "label": "correct" if len(asked) % 2 else "incorrect"}


def make_rows(path: Path, rows: int) -> None:
    """A file of so many rows, made in blocks."""
    schema = pa.schema([(name, pa.string()) for name in ("question", "prediction", "reference")])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 100_000):
            numbers = range(start, min(rows, start + 100_000))
            columns = [
                [f"{n}" for n in numbers],
                [f"word{n % 7} and {n}" for n in numbers],
                [f"word{n % 5} and {n}" for n in numbers],
            ]
            writer.write_table(pa.table([pa.array(each) for each in columns], schema=schema))


def convert(source: Path, to: Path) -> None:
    """Write the rows of a Parquet file in another format."""
    kind = {"jsonl": "json", "csv": "csv", "parquet": "parquet"}[to.suffix[1:]]
    duckdb.sql(f"COPY (FROM '{source}') TO '{to}' (FORMAT {kind})")


FAULTS: list[Callable[[], str]] = [
    disk_full, read_only, clock_stepped_back, descriptors, memory, changed_while_read, two_processes, failing_calls,
    secrets, flat_memory,
]  # fmt: skip


def main(names: list[str]) -> int:
    """Try each fault in a folder of its own; 1 if karat does what it must not."""
    failed = 0
    for fault in FAULTS:
        if names and fault.__name__ not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.environ.update(KARAT_RUNS=f"{folder}/runs", KARAT_CACHE=f"{folder}/replies.sqlite", HOME=folder)
            make_rows(Path("rows.parquet"), ROWS)
            make_rows(Path("judged.parquet"), CALLS)
            try:
                told = fault()
            except Wrong as wrong:
                failed, told = failed + 1, f"WRONG: {wrong}"
            print(f"{fault.__name__:20} {told}", flush=True)
            os.chdir("/")
    return int(failed > 0)


if __name__ == "__main__":
    if "--inside" not in sys.argv:
        os.execvp(
            "unshare", ["unshare", "--mount", "--map-root-user", sys.executable, __file__, "--inside", *sys.argv[1:]]
        )
    sys.exit(main([word for word in sys.argv[1:] if word != "--inside"]))
