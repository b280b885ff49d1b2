"""How long it takes from nothing to the first number, before and after: `python bench/install.py COMMIT... [WHEEL]`.

Each commit is cloned from this checkout and installed by pip into an environment of its own, then a wheel if one is
named; a file of twelve rows is scored, and an extra is added. One after the other, in one run; what pip has kept of
earlier downloads is used. HEAD comes last if no commit is named. Prints, as Markdown, seconds and megabytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from side_by_side import machine

ROOT = Path(__file__).parents[1]
SCORE = ("score", str(ROOT / "examples" / "answers.jsonl"), "-m", "exact_match", "-m", "token_f1")


def main(*sources: str) -> None:
    """Print the row of each commit and wheel."""
    print(machine(), "\n\n| | clone | environment | install | first number | together | an extra | MB |")
    print("|---|---|---|---|---|---|---|---|")
    for source in sources or ("HEAD",):
        with tempfile.TemporaryDirectory() as folder:
            clone, python = Path(folder, "karat"), Path(folder, "env", "bin", "python")
            wheel = Path(source).resolve() if source.endswith(".whl") else None
            target = str(wheel or clone)
            checkout = ("git", "-C", str(clone), "checkout", "-q", "--detach", source)
            steps = (
                [] if wheel else [("git", "clone", "-q", str(ROOT), str(clone)), checkout],
                [(sys.executable, "-m", "venv", str(python.parents[1]))],
                [(str(python), "-m", "pip", "install", "-q", target)],
                [(str(python.with_name("karat")), *SCORE)],
            )
            seconds = [sum(map(_run, step)) for step in steps]
            size = sum(file.stat().st_size for file in python.parents[1].rglob("*") if file.is_file()) / 1e6
            extra = _run((str(python), "-m", "pip", "install", "-q", f"{target}[judge]"))
            cells = [f"{each:.1f}" for each in (*seconds, sum(seconds), extra)]
            print("|", " | ".join([wheel.name if wheel else source, *cells, f"{size:.0f}"]), "|", flush=True)


def _run(command: tuple[str, ...]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  (git, pip and karat)
    return time.perf_counter() - start


if __name__ == "__main__":
    main(*sys.argv[1:])
