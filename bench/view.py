"""How quick the page of `karat view` is with two runs of a million rows: `python bench/view.py [ROWS]`.

Chromium opens the page and does what people do. The first page is there when its rows, scores, differences and the
number of rows are drawn; all of it when the histograms and the counts beside them are drawn too, and every other step
ends so. The first page with nothing read is that of a new server in a new browser: of two runs whose rows have the same
order, as those of two systems that answered the same file, and of two whose rows have different ones. Each step is done
several times with another filter, order or page, so that no answer is one that was kept. The runs are made in a
temporary folder by `bench/compare_runs.py`, or taken from `$KARAT_RUNS` where they are there already.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from compare_runs import system
from selenium import webdriver
from selenium.webdriver.chrome.webdriver import WebDriver
from side_by_side import machine

METRICS = ("exact_match", "token_f1")
FLAGS = Path(__file__).parents[1] / "scripts" / "chromium.flags"
DRAWN = "document.querySelector('.list tbody') && !document.querySelector('main[aria-busy], main .list[aria-busy]')"
ALL_DRAWN = "document.querySelector('.list tbody') && !document.querySelector('[aria-busy]')"
COLD = "first page, nothing read"
PAIRS = {"": ["a", "b"], ", another order": ["a", "c"]}  # what is said of the runs that are opened
TARGETS = {**{COLD + order: 1.0 for order in PAIRS}, "first page": 1.0, "sort": 0.7, "filter": 0.7, "next page": 0.3}
STARTS = 5  # of a server and a browser


def make_runs(rows: int, folder: Path) -> None:
    """Score two systems and keep them as the runs `a` and `b`, and the second in another order as `c`."""
    order = np.random.default_rng(0).permutation(rows)
    for name, right, seed in (("a", 0.900, 2), ("b", 0.901, 3), ("c", 0.901, 3)):
        path = folder / f"{name}.parquet"
        table = system(rows, right, seed).sort_by("id")
        pq.write_table(table.take(order) if name == "c" else table, path)
        metrics = [word for metric in METRICS for word in ("-m", metric)]
        words = [sys.executable, "-m", "karat", "score", str(path), *metrics, "--run", name]
        subprocess.run(words, check=True, capture_output=True)  # noqa: S603
        path.unlink()


@contextmanager
def browser() -> Iterator[WebDriver]:
    """A headless Chromium with a profile of its own."""
    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (*FLAGS.read_text("utf-8").split(), f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()


def timed(driver: WebDriver, act: str, *arguments: Any) -> tuple[float, float]:
    """Seconds from an action in the page until its rows, and until all of it is drawn, by the clock of the page."""
    script = (
        "const done = arguments[arguments.length - 1]; const start = performance.now(); let busy = false; let rows; "
        "const frame = (then) => requestAnimationFrame(() => then(performance.now() - start)); "
        "const watch = new MutationObserver(() => { busy ||= document.querySelector('[aria-busy]') !== null; "
        f"if (busy && !rows && {DRAWN}) rows = new Promise(frame); "
        f"if (busy && {ALL_DRAWN}) {{ watch.disconnect(); frame(async (all) => done([await rows, all])); }} }}); "
        f"watch.observe(document.body, {{ attributes: true, childList: true, subtree: true }}); {act}"
    )
    rows, everything = driver.execute_async_script(script, *arguments)
    return rows / 1000, everything / 1000


def open_page(driver: WebDriver, address: str, names: Iterable[str]) -> str:
    """Open the page at its list of runs; the fragment of the rows of those named."""
    driver.set_script_timeout(120)
    driver.get(address)
    links = "[...document.querySelectorAll('tbody th a')]"
    pair = "[link.textContent, new URLSearchParams(link.hash.split('?')[1]).get('runs')]"
    while not (ids := driver.execute_script(f"return Object.fromEntries({links}.map(link => {pair}))")):
        time.sleep(0.05)
    return f"#/rows?runs={','.join(ids[name] for name in names)}"


def measure(driver: WebDriver, rows: str) -> dict[str, list[float]]:
    """The seconds of each step, once the rows were shown."""
    seconds: dict[str, list[float]] = {"first page": [], "all of it": [], "sort": [], "filter": [], "next page": []}
    for _ in range(5):
        driver.execute_script("location.hash = '#/runs'")
        time.sleep(0.5)
        for step, taken in zip(seconds, timed(driver, f"location.hash = '{rows}'"), strict=False):
            seconds[step].append(taken)
    click = "document.querySelectorAll(arguments[0])[arguments[1]].click()"
    choose = "const list = document.querySelector('[data-key=order]'); list.value = arguments[0]; list.onchange?.();"
    choose += "list.dispatchEvent(new Event('change'))"
    for place in ("0", "1", "2", "3", "4", "5"):
        seconds["sort"].append(timed(driver, choose, place)[1])
    for topic in range(6):
        seconds["filter"].append(timed(driver, click, "[data-key*=topic][type=checkbox]", topic)[1])
    for _ in range(6):
        seconds["next page"].append(timed(driver, click, "[data-key=next]", 0)[1])
    return seconds


def memory(process: int) -> float:
    """The most memory that a process has had, in MB."""
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found
    return int(found[1]) / 1024


def main(rows: int, folder: Path) -> None:
    os.environ["KARAT_RUNS"] = str(folder)
    if not (folder / "c").is_dir():
        make_runs(rows, folder)
    command = [sys.executable, "-m", "karat", "view", str(folder), "--no-open"]
    seconds: dict[str, list[float]] = {}
    most = 0.0
    for start, order in product(range(STARTS), PAIRS):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, browser() as driver:  # noqa: S603
            assert server.stdout
            try:
                fragment = open_page(driver, server.stdout.readline().strip(), PAIRS[order])
                time.sleep(1)  # the server loads what every table needs, as it does while people look at the runs
                taken = timed(driver, f"location.hash = '{fragment}'")
                for step, each in zip((COLD, "all of it, nothing read"), taken, strict=True):
                    seconds.setdefault(step + order, []).append(each)
                if start == STARTS - 1 and order:
                    seconds |= measure(driver, fragment)
                most = max(most, memory(server.pid))
            finally:
                server.kill()
    print(f"{machine()}\n\n| two runs of {rows:,} rows | median, s | slowest, s | target, s |\n|---|---|---|---|")
    for step, all_seconds in seconds.items():
        print(f"| {step} | {median(all_seconds):.2f} | {max(all_seconds):.2f} | {TARGETS.get(step, '')} |")
    print(f"| memory of the server, MB | {most:.0f} | | 500 |")


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if "KARAT_RUNS" in os.environ:
        main(number, Path(os.environ["KARAT_RUNS"]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(number, Path(temporary))
