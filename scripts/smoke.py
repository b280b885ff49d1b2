"""Whether an installed karat works: its kernels are compiled, and the command scores an example in a new folder.

python scripts/smoke.py [--kernels]

Each wheel is tested so, where nothing but karat and what it needs is installed. With --kernels nothing else is looked
at: they are imported, and where the interpreter has no lock they do not bring it back.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from karat.core.errors import MissingExtra
from karat.core.plugins import compiled_kernels

ROWS = [
    {"prediction": "the cat sat", "reference": ["Cat sat."]},
    {"prediction": "Zürich", "reference": ["Genf", "Zürich"]},
    {"prediction": None, "reference": ["Au"]},
]


def main() -> None:
    """End with an error where something does not work."""
    kernels = compiled_kernels()
    if missing := [name for name, compiled in kernels.items() if not compiled]:
        sys.exit(f"not compiled: {', '.join(missing)}")
    for name in kernels:
        try:
            import_module(name)
        except MissingExtra:  # the adapter around it needs a framework
            print(f"not imported: {name}")
    if getattr(sys, "_is_gil_enabled", lambda: True)() and "--kernels" in sys.argv:
        sys.exit("the interpreter's lock is on")
    if "--kernels" not in sys.argv:
        score()
    print(f"{len(kernels)} kernels, Python {sys.version.split()[0]}")


def score() -> None:
    """Score with the command, in a folder without karat's source."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
        metrics = ["-m", "token_f1", "-m", "exact_match(normalize=squad)"]
        command = [sys.executable, "-m", "karat", "score", "rows.jsonl", *metrics, "--json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
        if done.returncode:
            sys.exit(done.stderr)
        for value in json.loads(done.stdout)["metrics"]:
            if (value["value"], value["scored"]) != (1.0, 2):
                sys.exit(f"another value than 1 of 2 rows: {value}")


if __name__ == "__main__":
    main()
