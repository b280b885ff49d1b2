"""How long `import karat` and `karat --help` take over a bare interpreter.

python bench/start.py
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

from side_by_side import in_turn, machine


def main() -> None:
    """Print the median of 21 runs of each, in turn."""
    commands = {
        "bare interpreter": ["-c", "pass"],
        "import karat": ["-c", "import karat"],
        "karat --help": ["-m", "karat", "--help"],
    }

    def run(words: list[str]) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603

    seconds = in_turn({name: run(words) for name, words in commands.items()}, rounds=21)
    print(machine())
    bare = seconds["bare interpreter"]
    for name, taken in seconds.items():
        print(f"{name:18} {taken * 1e3:6.1f} ms, {(taken - bare) * 1e3:+6.1f} ms")


if __name__ == "__main__":
    main()
