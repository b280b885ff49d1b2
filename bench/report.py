"""How large a report is, how long it takes to write, and how soon a browser shows its rows.

    python bench/report.py [FOLDER]

Two runs of 2 000 rows whose questions, gold and answers are as long as those of SQuAD. Needs Chromium and its driver
(scripts/chromium). The report is kept in FOLDER, else in a folder that is removed.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from selenium import webdriver

import karat

ROWS, TIMES = 2_000, 9
SHOWN = """
new MutationObserver(() => {
  if (document.querySelectorAll("table.rows tbody tr").length >= 25) window.shown ??= performance.now();
}).observe(document, {subtree: true, childList: true});
"""


def make_results() -> list[Any]:
    """Two scored tables of the same rows."""
    rng = np.random.default_rng(0)
    words = np.array([f"{'abcdefghij'[at % 10]}word{at}" for at in range(8_000)])

    def texts(size: int) -> list[str]:
        return [" ".join(each) for each in rng.choice(words, (ROWS, size))]

    gold = [list(each) for each in zip(texts(3), texts(3), strict=True)]
    columns = {"id": [f"{at:024x}" for at in range(ROWS)], "question": texts(10), "gold": gold}
    columns["topic"] = [f"topic {at % 8}" for at in range(ROWS)]
    answers = [[each[at % 2] if right else other for at, (each, right, other) in enumerate(
        zip(gold, rng.random(ROWS) < share, texts(3), strict=True))] for share in (0.5, 0.7)]  # fmt: skip
    return [karat.score({**columns, "prediction": each}, ["em", "f1"], keep=True) for each in answers]


def measure(path: Path, profile: str) -> list[float]:
    """Milliseconds until the rows are shown, for each of several loads; the first one starts cold."""
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": SHOWN})
        times = []
        for _ in range(TIMES):
            driver.get(path.as_uri())
            times.append(driver.execute_script("return window.shown"))
        return times
    finally:
        driver.quit()


def main(folder: Path) -> None:
    results = make_results()
    for rows in (500, ROWS):
        start = perf_counter()
        path = karat.report(*results, by="topic", rows=rows, output=folder / f"report{rows}.html")
        seconds = perf_counter() - start
        with tempfile.TemporaryDirectory() as profile:
            first, *others = measure(path, profile)
        size = path.stat().st_size / 1000
        shown = f"first {first:.0f} ms, then {statistics.median(others):.0f} ms (median of {len(others)})"
        print(f"{rows} rows in the file: {size:.0f} kB, written in {seconds:.1f} s, rows shown after {shown}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).absolute())
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
