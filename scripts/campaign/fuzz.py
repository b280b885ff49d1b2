"""Hostile bytes for all that karat reads: `python scripts/campaign/fuzz.py [SECONDS [TARGET…]]`, 60 for each target.

atheris (not in any extra: `pip install atheris`, CPython 3.11 to 3.13) changes inputs so that they reach new lines of
karat. A target fails by any exception that is not karat's own, by a wrong result, and by an input that takes 20 seconds
or 2 GB. Targets are the functions of `targets`, and every test with `@given` that needs no fixture, as FILE:TEST.
Seeds are in `seeds/TARGET`; inputs that fail are left in `found/TARGET`, and those that reached new lines in
`corpus/TARGET`, where the next try goes on. `fuzz.py keep [TARGET…]` copies the small ones of these to the seeds.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from mutate import mutate
from targets import find_targets

FOLDER = Path(__file__).parent
TESTS = FOLDER.parents[1] / "tests"
PROMPTS = TESTS.parent / "src/karat/judges/prompts"
SECONDS, MEGABYTES, SLOWEST = 60, 2048, 20
SKIPPED = 3  # exit code
USUAL = "384MB"  # of the databases that are opened and closed for one query
LONGEST, KEPT = 4096, 400  # bytes of an input, and of one that is kept as a seed
MOST = 20  # inputs of a target that are kept at a time


def find_properties() -> dict[str, tuple[Path, str]]:
    """The file and the name of each test with `@given`, by the name of its target."""
    found = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        module = str(file.relative_to(TESTS).with_suffix("")).replace("/", ".")
        for name in re.findall(
            r"@(?:hypothesis\.)?given\b(?:.|\n)*?^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE
        ):
            found[f"{module}:{name}"] = file, name
    return found


def find_function(target: str) -> Callable[[bytes], Any] | None:
    """A target as a function of bytes; None for a test that needs a fixture or a parameter."""
    if (function := find_targets().get(target)) is not None:
        return function
    file, name = find_properties()[target]
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    test: Any = getattr(module, name, None)
    if not hasattr(test, "hypothesis") or inspect.signature(test).parameters:
        return None
    bytewise: Callable[[bytes], Any] = test.hypothesis.fuzz_one_input
    return bytewise


def fuzz(target: str, words: list[str]) -> None:
    """Try inputs on one target until the time that libFuzzer's words give is over. Ends this process.

    The first word is the program that libFuzzer starts again while it merges.
    """
    import atheris

    share_database()
    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=["karat"]):  # also of what is imported later
        if (function := find_function(target)) is None:
            sys.exit(SKIPPED)
        for seed in list_seeds(target):  # imports are not timed
            function(seed.read_bytes())
        atheris.Setup(words, function, custom_mutator=mutate)
        atheris.Fuzz()


def share_database() -> None:
    """One database for all connections with equal settings: starting one takes longer than all the rest."""
    import duckdb

    start, connect = cache(lambda settings: connect(config=dict(settings))), duckdb.connect

    def open_shared(*, config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        own = config.get("memory_limit") != USUAL  # the page changes the settings of its own
        return connect(config=config) if own else start(tuple(config.items())).cursor()

    setattr(duckdb, "connect", open_shared)  # noqa: B010


def list_folders(target: str) -> tuple[Path, Path, Path]:
    """The folders of a target: the seeds, what reached new lines, and what failed."""
    name = re.sub(r"[^\w.]", "_", target)
    corpus, found = FOLDER / "corpus" / name, FOLDER / "found" / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    return PROMPTS if target == "judge" else FOLDER / "seeds" / name, corpus, found


def list_seeds(target: str) -> list[Path]:
    """The seeds of a target; tests have none."""
    folder = list_folders(target)[0]
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []


def run(target: str, *words: str) -> subprocess.CompletedProcess[str]:
    """LibFuzzer with these words, in a process of its own, with the known names of columns as its dictionary."""
    with tempfile.TemporaryDirectory() as folder:
        known, program = Path(folder, "names.dict"), Path(folder, "fuzz")
        known.write_text("".join(f'"{word}"\n' for word in find_words()))
        program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, __file__, "--target", target])} "$0" "$@"\n')
        program.chmod(0o700)
        limits = (
            f"-rss_limit_mb={MEGABYTES}",
            f"-timeout={SLOWEST}",
            f"-max_len={LONGEST}",
            "-len_control=0",
            f"-dict={known}",
        )
        command = [str(program), *limits, *words]
        return subprocess.run(
            command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )


def find_words() -> set[str]:
    """The names that the tools whose logs karat reads give to columns, and to what is in them."""
    from karat.data.roles import ALIASES, read_layouts

    paths = chain.from_iterable(chain.from_iterable(layout.paths.values() for layout in read_layouts()))
    names = chain(ALIASES, *ALIASES.values(), *(layout.columns for layout in read_layouts()), paths)
    return set(re.findall(r"[A-Za-z_]+", " ".join(names)))


def try_target(target: str, seconds: int) -> tuple[int, int, str] | None:
    """Fuzz a target. Gives the number of inputs, how much they reached, and what failed; None where it is skipped."""
    seeds, corpus, found = list_folders(target)
    words = [f"-max_total_time={seconds}", f"-artifact_prefix={found}/", "-print_final_stats=1", str(corpus)]
    done = run(target, *words, *([str(seeds)] if seeds.is_dir() else []))
    if done.returncode == SKIPPED:
        return None
    tried = re.search(r"number_of_executed_units: (\d+)", done.stdout) or re.search(
        r"#(\d+)(?!(?:.|\n)*#\d)", done.stdout
    )
    reached = re.findall(r"cov: (\d+)", done.stdout)
    failed = "" if done.returncode == 0 else re.sub(r"INFO:.*\n", "", done.stdout)[-4000:]
    return int(tried[1]) if tried else 0, int(reached[-1]) if reached else 0, failed


def keep(target: str) -> int:
    """Copy to the seeds what reaches lines that they do not reach; the number of bytes that were copied."""
    seeds, corpus, _ = list_folders(target)
    if target == "judge" or not any(corpus.iterdir()):
        return 0
    seeds.mkdir(parents=True, exist_ok=True)
    before = set(seeds.iterdir())
    run(target, "-merge=1", str(seeds), str(corpus))
    new = sorted((each for each in seeds.iterdir() if each not in before), key=lambda each: each.stat().st_size)
    small = [each for each in new if each.stat().st_size <= KEPT][:MOST]
    for each in set(new) - set(small):
        each.unlink()
    return sum(each.stat().st_size for each in small)


def main(words: list[str]) -> int:
    """Fuzz each target; 1 if any fails."""
    if words[:1] == ["--target"]:
        fuzz(words[1], words[2:])
    targets = words[1:] or [*find_targets(), *find_properties()]
    if words[:1] == ["keep"]:
        for target in targets:
            print(f"{target:70} {keep(target):9,} bytes")
        return 0
    seconds = int(words[0]) if words else SECONDS
    failures = 0
    print(f"{'target':70} {'inputs':>9} {'reached':>8}")
    for target in targets:
        if (done := try_target(target, seconds)) is None:
            continue
        tried, reached, failed = done
        print(f"{target:70} {tried:9,} {reached:8,}  {'FAILED' if failed else ''}", flush=True)
        if failed:
            failures += 1
            print(failed, file=sys.stderr)
    return int(failures > 0)


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS.parent / "src"))
    sys.exit(main(sys.argv[1:]))
