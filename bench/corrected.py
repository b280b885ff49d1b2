"""Values corrected by people, by simulation: how often intervals that say 95 % hold the truth, and how wide they are.

`python bench/corrected.py` prints the tables of docs/explanation/validation.md, `python bench/corrected.py openqa` that
of docs/people.md: 12 systems of OpenQA-eval, judged by GPT-4. A cell such as `95.1 · 0.62` means that 95.1 % of the
intervals hold the truth, and that they are on average 0.62 times as wide as those of the same labels alone.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from karat.stats.corrected.allocation import (
    add_rounds,
    draw_rows,
    erring,
    probabilities_of,
    share_of_round,
    uncertain,
)
from karat.stats.corrected.cross_prediction import cross_predict
from karat.stats.corrected.estimate import corrected_difference, corrected_mean
from karat.stats.corrected.judged import Judged
from karat.stats.corrected.value import Corrected

Array = NDArray[np.float64]
random = np.random.default_rng(15)
TIMES = 2_000
OPENQA = Path(__file__).parents[1] / "../shared/data/qa_human_openqa_eval"
SIZES = ((50, 0.1), (50, 0.02), (200, 0.1), (200, 0.02), (500, 0.3), (2_000, 0.3))


class Tally:
    """How many intervals held the truth, and how wide they were by the width of others."""

    def __init__(self) -> None:
        self.held = self.times = 0
        self.width = self.other = 0.0

    def add(self, found: Corrected, truth: float, other: Corrected | None = None) -> None:
        beside = (other.low, other.high) if other else (found.labels_alone or ())[1:]
        low, high, least, most = np.array([found.low, found.high, *beside], float).tolist()
        self.times += 1
        self.held += low - 1e-12 <= truth <= high + 1e-12
        self.width, self.other = self.width + high - low, self.other + most - least

    def __str__(self) -> str:
        return f"{100 * self.held / self.times:.1f} · {self.width / self.other:.2f}"


def table(head: str, *columns: str) -> Callable[..., None]:
    print(f"\n| {head} | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    return lambda name, *cells: print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)


def right(share: float) -> tuple[Callable[[tuple[int, ...]], Array], float]:
    return lambda shape: (random.random(shape) < share).astype(float), share


def graded(shape: tuple[int, ...]) -> Array:
    """Scores such as F1: 30 % at 0, 45 % at 1, the rest between."""
    return np.clip(
        np.where((u := random.random(shape)) < 0.3, 0, np.where(u < 0.75, 1, random.beta(3, 2, shape))), 0, 1
    )


TRUTHS = {"70 % right": right(0.7), "95 % right": right(0.95), "F1-like": (graded, 0.45 + 0.25 * 0.6)}
JUDGES: dict[str, Callable[[Array], Array]] = {
    "good": lambda labels: np.where(random.random(labels.shape) < 0.92, labels, 1 - labels),
    "lenient": lambda labels: np.where(random.random(labels.shape) < 0.15, 1.0, labels),
    "bad": lambda labels: np.where(random.random(labels.shape) < 0.65, labels, 1 - labels),
    "useless": lambda labels: (random.random(labels.shape) < 0.6).astype(float),
    "reversed": lambda labels: np.where(random.random(labels.shape) < 0.85, 1 - labels, labels),
}


def hide(labels: Array, count: int) -> Array:
    """The labels of the first rows only: rows are in random order."""
    return np.where(np.arange(len(labels)) < count, labels, np.nan)


def simulate_means() -> None:
    row = table("labels, judge", *(f"{count:,} labels, {100 * share:g} % of the rows" for count, share in SIZES))
    for name, (draw, truth) in TRUTHS.items():
        for judge, judged in JUDGES.items():
            cells = []
            for count, share in SIZES:
                tally = Tally()
                for _ in range(TIMES):
                    labels = draw((round(count / share),))
                    tally.add(corrected_mean(Judged(judged(labels), hide(labels, count))), truth)
                cells.append(tally)
            row(f"{name}, {judge}", *cells)


def simulate_proposals() -> None:
    """A judge that says how likely it is right; half of the rows are clear to it, and half are not."""
    row = table("rows to label", "100 of 2,000", "300 of 3,000", "300 of 3,000, by width of uniform")
    judges = {"knows what it does not know": (0.02, 0.4), "does not know": (0.2, 0.2)}
    for judge, (clear, unclear) in judges.items():
        for method in ("uniform", "uncertain", "active, second half"):
            cells, wide = [], Tally()
            for count, rows in ((100, 2_000), (300, 3_000)):
                tally = Tally()
                for _ in range(TIMES):
                    chance = np.where(random.random(rows) < 0.5, clear, unclear)
                    verdict = (random.random(rows) < 0.7).astype(float)
                    labels = np.where(random.random(rows) < chance, 1 - verdict, verdict)
                    truth = 0.7 * (1 - (clear + unclear) / 2) + 0.3 * (clear + unclear) / 2
                    scores = (
                        np.where(verdict == 1, 1 - chance, chance)
                        if clear != unclear
                        else random.beta(2, 2, rows) / 2 + verdict / 2
                    )
                    found = corrected_mean(propose(scores, labels, count, method))
                    tally.add(found, truth)
                    if count == 300:
                        wide.add(found, truth, corrected_mean(Judged(scores, hide(labels, count))))
                cells.append(tally)
            row(f"judge {judge}; {method}", *cells, str(wide).split(" · ")[1])


def propose(scores: Array, labels: Array, count: int, method: str) -> Judged:
    """The rows as `karat label --next` would have them labelled."""
    if method == "uniform":
        return Judged(scores, hide(labels, count))
    if method == "uncertain":
        chances = probabilities_of(uncertain(scores), count)
        return Judged(scores, keep(labels, draw_rows(chances, int(random.integers(1 << 30)))), chances)
    first = count // 2
    judged = Judged(scores, hide(labels, first))
    free, part = ~judged.labelled, share_of_round(first, count - first, len(scores))
    chances = probabilities_of(erring(judged), count - first, free, most=part)
    drawn = draw_rows(np.where(free, chances, 0.0), int(random.integers(1 << 30)))
    earlier, fresh = add_rounds(np.full(first, first / len(scores)), chances[drawn], len(scores))
    probabilities = np.full(len(scores), np.nan)
    probabilities[:first], probabilities[drawn] = earlier, fresh
    return Judged(scores, keep(labels, np.concatenate([np.arange(first), drawn])), probabilities)


def keep(labels: Array, rows: NDArray[np.integer]) -> Array:
    kept = np.full(len(labels), np.nan)
    kept[rows] = labels[rows]
    return kept


def simulate_clusters() -> None:
    row = table("clusters of 1 to 10 rows", "20 of 200 labelled", "60 of 600 labelled", "200 of 1,000 labelled")
    for judge in ("good", "bad", "useless"):
        for whole in (True, False):
            cells = []
            for count, groups in ((20, 200), (60, 600), (200, 1_000)):
                tally = Tally()
                for _ in range(TIMES):
                    keys = np.repeat(np.arange(groups, dtype=np.uint64), random.integers(1, 11, groups))
                    ease = random.beta(1.4, 0.6, groups)[keys]
                    labels = (random.random(len(keys)) < ease).astype(float)
                    known = keys < count if whole else random.random(len(keys)) < count / groups
                    tally.add(
                        corrected_mean(Judged(JUDGES[judge](labels), np.where(known, labels, np.nan), clusters=keys)),
                        0.7,
                    )
                cells.append(tally)
            row(f"{judge} judge; labels of {'whole clusters' if whole else 'single rows'}", *cells)


def simulate_slices() -> None:
    """Four slices of unequal size and accuracy: each by its own labels, and all together."""
    row = table(
        "slices, judge; 300 labels of 3,000",
        "smallest slice, 30 labels",
        "largest slice, 120 labels",
        "all, by stratum, by width of unstratified",
        "all, Neyman, by width of uniform",
    )
    shares, accuracies, errors = (
        np.array([0.1, 0.2, 0.3, 0.4]),
        np.array([0.5, 0.6, 0.8, 0.95]),
        np.array([0.4, 0.2, 0.1, 0.02]),
    )
    for judge, noise in (("good", errors), ("useless", np.full(4, 0.5))):
        tallies = [Tally() for _ in range(4)]
        for _ in range(TIMES):
            slices = random.choice(4, 3_000, p=shares)
            labels = (random.random(3_000) < accuracies[slices]).astype(float)
            scores = np.where(random.random(3_000) < noise[slices], 1 - labels, labels)
            rows = Judged(scores, hide(labels, 300), strata=slices)
            for tally, each in zip(tallies, (0, 3), strict=False):
                there = slices == each
                tally.add(corrected_mean(Judged(scores[there], rows.labels[there])), accuracies[each])
            every = corrected_mean(rows)
            tallies[2].add(every, float(shares @ accuracies), corrected_mean(replace(rows, strata=None)))
            error = erring(Judged(scores, hide(labels, 100)), slices)
            chances = probabilities_of(error, 300)
            drawn = draw_rows(chances, int(random.integers(1 << 30)), slices)
            neyman = corrected_mean(Judged(scores, keep(labels, drawn), strata=slices))
            tallies[3].add(neyman, float(shares @ accuracies), every)
        row(judge, *tallies)


def simulate_differences() -> None:
    sizes = ((50, 0.1), (200, 0.1), (600, 0.2), (2_000, 0.3))
    row = table("difference of two systems", *(f"{count:,} labels, {100 * share:g} %" for count, share in sizes))
    for name, (changed, better) in {"10 % differ, equal": (0.1, 0.7), "30 % differ, 6 points": (0.3, 0.9)}.items():
        for judge in ("good", "bad", "useless"):
            for partial in (False, True) if judge == "good" else (False,):
                cells = []
                for count, share in sizes:
                    tally = Tally()
                    for _ in range(TIMES):
                        tally.add(
                            difference(round(count / share), count, (changed, better), judge, partial=partial),
                            changed * (better - 0.7),
                        )
                    cells.append(tally)
                row(f"{name}; {judge} judge{', half of the labels of one system only' if partial else ''}", *cells)


def difference(rows: int, count: int, change: tuple[float, float], judge: str, *, partial: bool) -> Corrected:
    first = (random.random(rows) < 0.7).astype(float)
    differs = random.random(rows) < change[0]
    second = np.where(differs, random.random(rows) < change[1], first)
    scores = JUDGES[judge](first)
    same = ~differs & (random.random(rows) < 0.6)  # the answer is the same, and so is the verdict
    others = np.where(same, scores, JUDGES[judge](second))
    labels = (hide(first, count), hide(second, count))
    if partial:
        labels = (
            labels[0],
            np.where(np.arange(rows) < count // 2, second, np.where(np.arange(rows) < count * 3 // 2, second, np.nan)),
        )
        labels = (
            np.where(
                np.arange(rows) < count // 2,
                first,
                np.where((np.arange(rows) >= count) & (np.arange(rows) < count * 3 // 2), first, np.nan),
            ),
            hide(second, count),
        )
    return corrected_difference(Judged(scores, labels[0]), Judged(others, labels[1]))


def simulate_thresholds() -> None:
    """A score whose threshold was chosen, among all, to agree best with the labels that then correct it."""
    row = table("threshold fitted to the labels", "50 of 1,000", "200 of 4,000")
    fits = {"and used as it is": False, "with cross-prediction": True}
    for name, crossed in fits.items():
        cells = []
        for count, rows in ((50, 1_000), (200, 4_000)):
            tally = Tally()
            for _ in range(TIMES):
                labels = (random.random(rows) < 0.7).astype(float)
                scores = np.round(labels + 1.5 * random.normal(size=rows), 1)
                judged = Judged(scores, hide(labels, count))
                calls = (
                    cross_predict(judged, threshold) if crossed else threshold(scores[:count], labels[:count])(scores)
                )
                tally.add(corrected_mean(Judged(calls, judged.labels)), 0.7)
            cells.append(tally)
        row(name, *cells)


def threshold(scores: Array, labels: Array) -> Callable[[Array], Array]:
    """The threshold with which most labels agree."""
    cuts = np.unique(scores)
    agree = ((scores >= cuts[:, None]) == labels).sum(axis=1)
    best = cuts[agree.argmax()]
    return lambda new: (new >= best).astype(float)


def judged_answers() -> Iterator[tuple[str, Array, Array]]:
    """Of each system of OpenQA-eval, what people and GPT-4 said of its answers: 1 is acceptable.

    Answers that people did not see in these words are left out: 1 to 6 of 301, but 25 to 35 of DPR's and EMDR²'s.
    """

    def plain(text: str) -> str:
        return " ".join(re.findall(r"\w+", text.lower()))

    def verdicts(name: str) -> dict[tuple[str, str], float]:
        with gzip.open(OPENQA / f"NQ301_{name}.tsv.gz", "rt", encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file][1:]
        return {(plain(row[1]), plain(row[2])): {"Yes": 1.0, "No": 0.0}.get(row[3], np.nan) for row in rows}

    people, judge = verdicts("human"), verdicts("gpt-4")
    for path in sorted((OPENQA / "model_outputs").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            answers = [(row["question"], row["prediction"]) for row in map(json.loads, file)]
        answers = [(plain(question), plain(said if isinstance(said, str) else said[0])) for question, said in answers]
        known = [answer for answer in answers if answer in people]
        labels, scores = (np.array([each.get(answer, np.nan) for answer in known]) for each in (people, judge))
        yield path.name.removesuffix(".jsonl.gz"), labels, scores


def openqa() -> None:
    row = table(
        "system",
        "rows",
        "people, all rows",
        "GPT-4",
        "held by 100 labels and GPT-4, % · width by labels alone",
        "labels that this is worth",
        "the same for all such questions",
    )
    for name, labels, scores in judged_answers():
        tally, such, effective = Tally(), Tally(), []
        for _ in range(1_000):
            drawn = random.permutation(len(labels))[:100]
            judged = Judged(scores, keep(labels, drawn))
            found = corrected_mean(judged, finite=True)
            tally.add(found, float(labels.mean()))
            such.add(corrected_mean(judged), float(labels.mean()))
            effective.append(found.effective)
        row(
            name,
            len(labels),
            f"{100 * labels.mean():.1f}",
            f"{100 * np.nanmean(scores):.1f}",
            tally,
            f"{np.median(np.array(effective, float)):.0f}",
            such,
        )


def main() -> None:
    """Run the simulations whose names are given, or all of them."""
    parts = {name.removeprefix("simulate_"): part for name, part in globals().items() if name.startswith("simulate_")}
    start = time.perf_counter()
    for name in sys.argv[1:] or parts:
        (parts | {"openqa": openqa})[name]()
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
