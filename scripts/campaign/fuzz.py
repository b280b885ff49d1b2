"""Hostile bytes for every reader: `python scripts/campaign/fuzz.py [SECONDS [TARGET…]]`, by default 60 for each target.

atheris (not in any extra: `pip install atheris`, CPython 3.11 to 3.13) changes inputs so that they reach new lines of
karat. A target fails by any exception that is not karat's own, by a wrong result, and by an input that takes 20 seconds
or 2 GB. Targets are the functions below, and every test with `@given` that needs no fixture, by its name: they compare
kernels with their definitions. Seeds are in `seeds/TARGET`; inputs that fail are left in `found/TARGET`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
TESTS = FOLDER.parents[1] / "tests"
PROMPTS = TESTS.parent / "src/karat/judges/prompts"
SECONDS, MEGABYTES, SLOWEST = 60, 2048, 20
SCHEMA = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "enum": ["yes", "no"]},
        "score": {"type": "number"},
        "why": {"type": "string"},
    },
    "required": ["label"],
    "additionalProperties": False,
}
SCRATCH = Path(tempfile.gettempdir()) / f"karat-fuzz-{os.getpid()}"


def read_rows(suffix: str, data: bytes) -> list[dict[str, Any]] | None:
    """The rows of a file of these bytes, or None where karat refuses it."""
    from karat.core.errors import KaratError
    from karat.data.open import open_source

    path = SCRATCH.with_suffix(suffix)
    path.write_bytes(data)
    try:
        return [row for batch in open_source(path).batches() for row in batch.to_pylist()]
    except KaratError:
        return None


def json_lines(data: bytes) -> None:
    """Rows are those of Python's json."""
    rows = read_rows(".jsonl", data)
    try:
        lines = [json.loads(line) for line in data.decode().split("\n") if line.strip()]
    except ValueError:
        return
    if rows is not None and all(isinstance(line, dict) for line in lines):
        assert len(rows) == len(lines), f"{len(rows)} rows of {len(lines)} lines"


def spec(data: bytes) -> None:
    """A spec that is read is written so that it is read as the same metric."""
    from karat.core.errors import KaratError
    from karat.core.metric.spec import parse

    try:
        metric = parse(data.decode("utf-8", "replace"))
    except KaratError:
        return
    assert parse(metric.spec).spec == metric.spec


def reply(data: bytes) -> None:
    """A reply that is read fits its schema."""
    import jsonschema

    from karat.judges.replies.parser import ReplyError, read_reply

    try:
        value = read_reply(data.decode("utf-8", "replace"), SCHEMA)
    except ReplyError:
        return
    jsonschema.validate(value, SCHEMA)


def judge(data: bytes) -> None:
    """A judge's file is read, or refused with a sentence."""
    from karat.core.errors import KaratError
    from karat.judges.rubric import parse

    with suppress(KaratError):
        parse(data, "judge.toml")


def text(data: bytes) -> None:
    """Metrics that parse what is in a text end in time, whatever is in it."""
    import karat.metrics

    prediction, _, gold = data.decode("utf-8", "replace").partition("\n")
    for name in ("math_match", "numeric_match", "json_match", "json_fields", "tool_call_f1"):
        getattr(karat.metrics, name)([prediction], [gold])


BYTES: dict[str, Callable[[bytes], Any]] = {
    **{kind: partial(read_rows, f".{kind}") for kind in ("csv", "tsv", "json", "parquet", "arrow", "trec", "qrels")},
    "jsonl": json_lines, "spec": spec, "reply": reply, "judge": judge, "text": text,
}  # fmt: skip


def find_properties() -> dict[str, Callable[[bytes], Any]]:
    """The tests that draw all their arguments, as functions of bytes."""
    found: dict[str, Callable[[bytes], Any]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        names = re.findall(r"@given\b(?:.|\n)*?^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
        if names:
            module = import_file(file)
            for name in names:
                test: Any = getattr(module, name, None)
                if hasattr(test, "hypothesis") and not inspect.signature(test).parameters:
                    found[f"{file.relative_to(TESTS).with_suffix('')}:{name}".replace("/", ".")] = (
                        test.hypothesis.fuzz_one_input
                    )
    return found


def import_file(file: Path) -> Any:
    """A file of tests as a module."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def fuzz(target: str, words: list[str]) -> None:
    """Try inputs on one target until the time that libFuzzer's words give is over. Ends this process."""
    import atheris

    with atheris.instrument_imports(include=["karat"]):
        for room in ("core", "text", "data", "judges", "metrics", "stats"):
            package = importlib.import_module(f"karat.{room}")
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                with suppress(ImportError):  # an extra, or a kernel that was not built
                    importlib.import_module(module.name)
    function = BYTES[target] if target in BYTES else find_properties()[target]
    atheris.Setup([sys.argv[0], *words], function)
    atheris.Fuzz()


def try_target(target: str, seconds: int) -> tuple[int, int, str]:
    """Fuzz a target in a process of its own. Gives the number of inputs, how much they reached, and what failed."""
    name = re.sub(r"[^\w.]", "_", target)
    corpus, found = SCRATCH.with_suffix("") / name, FOLDER / "found" / name
    corpus.mkdir(parents=True)
    found.mkdir(parents=True, exist_ok=True)
    words = [
        f"-max_total_time={seconds}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-timeout={SLOWEST}",
        f"-artifact_prefix={found}/",
    ]
    seeds = PROMPTS if target == "judge" else FOLDER / "seeds" / name
    words += ["-print_final_stats=1", "-max_len=4096", str(corpus), *([str(seeds)] if seeds.is_dir() else [])]
    command = [sys.executable, __file__, "--target", target, *words]
    run = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    tried = re.search(r"number_of_executed_units: (\d+)", run.stdout)
    reached = re.findall(r"cov: (\d+)", run.stdout)
    failed = "" if run.returncode == 0 else re.sub(r"INFO:.*\n", "", run.stdout)[-4000:]
    return int(tried[1]) if tried else 0, int(reached[-1]) if reached else 0, failed


def main(words: list[str]) -> int:
    """Fuzz each target; 1 if any fails."""
    if words[:1] == ["--target"]:
        fuzz(words[1], words[2:])
    seconds = int(words[0]) if words else SECONDS
    failures = 0
    print(f"{'target':70} {'inputs':>9} {'reached':>8}")
    for target in words[1:] or [*BYTES, *find_properties()]:
        tried, reached, failed = try_target(target, seconds)
        print(f"{target:70} {tried:9,} {reached:8,}  {'FAILED' if failed else ''}", flush=True)
        if failed:
            failures += 1
            print(failed, file=sys.stderr)
    return int(failures > 0)


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS.parent / "src"))
    sys.exit(main(sys.argv[1:]))
