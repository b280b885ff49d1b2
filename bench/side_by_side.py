"""Time functions in turn, in one process, and tell their ratios with the machine they were measured on."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any


def machine() -> str:
    """The processor, its cores, and the versions that matter."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"


def in_turn(
    functions: Mapping[str, Callable[[], Any]], rounds: int = 5, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The median seconds of each function, called in turn so that a drift of the machine meets all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = clock()
            function()
            seconds[name].append(clock() - start)
    return {name: median(each) for name, each in seconds.items()}
