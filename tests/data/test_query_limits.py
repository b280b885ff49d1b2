"""Conditions that never end, or need more memory than there is: each is an error in stated time, and Ctrl-C works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from karat.core.errors import DataError, SpecError
from karat.data.open import open_source

resource = pytest.importorskip("resource")

MOST = 4 << 30
SLOW = "levenshtein(prediction, reverse(prediction)) > 0"
LARGE = "len(repeat(prediction, 1000000)) > 0"
LONG = "ab" * 150_000
ROWS = f'{{"prediction": "{LONG}", "reference": "a"}}\n' * 3


def _bound():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))


def start(folder, *arguments, **environment):
    (folder / "rows.jsonl").write_text(ROWS)
    return subprocess.Popen(
        [sys.executable, "-m", "karat", *arguments],
        cwd=folder,
        env=os.environ | {"KARAT_THREADS": "2"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_bound,  # noqa: PLW1509  (this process starts no threads of its own)
    )


@pytest.mark.parametrize("where", [SLOW, LARGE])
def test_a_condition_without_end_is_an_error(where, tmp_path):
    with start(
        tmp_path, "score", "rows.jsonl", "-m", "exact_match", "--where", where, KARAT_WHERE_SECONDS="1"
    ) as process:
        try:
            output, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 1
    assert errors.startswith(f"Error: the condition {where!r} does not work: "), output + errors
    assert "Traceback" not in errors
    assert "leaked" not in errors


def test_an_interrupt_arrives_while_a_condition_runs(tmp_path):
    with start(tmp_path, "score", "rows.jsonl", "-m", "exact_match", "--where", SLOW) as process:
        try:
            time.sleep(8)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (130, "interrupted\n")


def test_memory_is_bounded(tmp_path):
    script = """
from karat.core.errors import DataError
from karat.data.open import open_source
from karat.data.storage import query_limits
query_limits.MEMORY = 64 << 20
before = b"x" * (3 << 29)  # what was given back does not count
del before
try:
    open_source([{"a": "1" * 1000}], where="len(list_transform(range(1000000), lambda x: a || x)) > 1")
except DataError as error:
    print(error, flush=True)
import os
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False, preexec_fn=_bound
    )
    assert "does not work: " in done.stdout, done
    assert "memory" in done.stdout.lower() or "allocat" in done.stdout.lower(), done


@pytest.mark.parametrize("seconds", ["0", "x", "1e9"])
def test_seconds_that_are_none_are_refused(seconds, monkeypatch):
    monkeypatch.setenv("KARAT_WHERE_SECONDS", seconds)
    with pytest.raises(SpecError, match="KARAT_WHERE_SECONDS"):
        open_source([{"a": "1"}], where="a = '1'")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", ",".join(f"c{at}" for at in range(200_000)) + "\n"),
        ("a.jsonl", "".join(f'{{"k{at}": 1}}\n' for at in range(20_000))),
    ],
)
def test_too_many_columns_are_refused(name, content, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match="more than 10,000 columns; put values of one kind into a list or an object"):
        open_source(tmp_path / name)
