"""How often the intervals of `karat judge --ask 3` cover a bias that was planted in a judge.

    python bench/judges.py [DATA SETS]

A scripted model judges rows that are right or wrong, two answers to each of 100 questions. For each fault, the table
has the planted figure, the mean of the estimates, the share of data sets whose 95 % interval covers the planted figure,
and the share in which the examination finds the fault (its interval excludes 0). Below, the same for the expected
calibration error of scores whose relation to people's labels is known, over ten times as many data sets.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from random import Random
from typing import Any

import numpy as np

import karat
from karat import Governor, Judge
from karat.models.testing.fake import FakeModel
from karat.runs.judge.figures import Examined
from karat.stats.reliability.calibration import calibrate
from karat.stats.value import Estimate

Shown = Mapping[str, Any]
Bias = Callable[[Shown, Random, str], str]
QUESTIONS = 100


def answers(draw: Random) -> list[dict[str, Any]]:
    """Answers with lengths from 15 to 1023 characters, half of them right."""
    rows = []
    for number in range(2 * QUESTIONS):
        right = draw.random() < 0.5
        text = f"{'right' if right else 'wrong'} {number} ".ljust(round(2 ** draw.uniform(4, 10)) - 1, "x")
        row = {"question": f"q{number // 2}", "prediction": text, "reference": ["right"]}
        rows.append(row | {"label": "correct" if right else "incorrect", "author": ("small", "other")[number % 2]})
    return rows


def pairs(draw: Random) -> list[dict[str, Any]]:
    """Pairs of answers, of which the one that begins with `good` is better."""
    rows = []
    for number in range(QUESTIONS):
        texts = sorted((f"good {number}", f"bad {number}"), key=lambda _: draw.random())
        rows.append({"question": f"q{number}", "prediction": texts[0], "other_prediction": texts[1]})
    return rows


def fair(shown: Shown) -> str:
    return "correct" if shown["prediction"].startswith("right") else "incorrect"


def opposite(shown: Shown) -> str:
    return "incorrect" if fair(shown) == "correct" else "correct"


def noisy(shown: Shown, draw: Random, _: str) -> str:
    return opposite(shown) if draw.random() < 0.15 else fair(shown)


def long_winded(shown: Shown, draw: Random, _: str) -> str:
    """A wrong answer is praised by 0.1 more often with each doubling of its length."""
    return "correct" if draw.random() < 0.1 * (len(shown["prediction"]).bit_length() - 4) else fair(shown)


def by_length(shown: Shown, draw: Random, _: str) -> str:
    return "correct" if draw.random() < 0.1 * (len(shown["prediction"]).bit_length() - 4) else "incorrect"


def selfish(shown: Shown, draw: Random, _: str) -> str:
    own = int(shown["prediction"].split()[1]) % 2 == 0
    return "correct" if own and draw.random() < 0.4 else fair(shown)


def literal(shown: Shown, draw: Random, prompt: str) -> str:
    return opposite(shown) if draw.random() < (0.4 if "# Task" in prompt else 0.1) else fair(shown)


def better(shown: Shown) -> str:
    return "first" if shown["prediction"].startswith("good") else "second"


def hasty(shown: Shown, draw: Random, _: str) -> str:
    return "first" if draw.random() < 0.3 else better(shown)


def blind(_: Shown, draw: Random, __: str) -> str:
    return draw.choice(["first", "second", "tie"])


def _own(found: Examined) -> Estimate:
    assert found.own_answers is not None
    return found.own_answers.slope


LABELLED, SIGNED, LAYOUT = {"human": "label"}, {"author": "author"}, {"rewordings": ["layout"]}
Case = tuple[str, Bias, str, Mapping[str, Any], float, Callable[[Any], Estimate]]
CASES: Sequence[Case] = (
    ("noise: 15 % wrong at random", noisy, "correctness", {}, 2 * 0.15 * 0.85, lambda f: f.noise.flips),
    ("… share of the variance", noisy, "correctness", {}, 4 * 0.15 * 0.85, lambda f: f.noise.share),
    ("… a slope on length: none", noisy, "correctness", LABELLED, 0.0, lambda f: f.length["doubling"].slope),
    ("… own answers: none", noisy, "correctness", SIGNED, 0.0, _own),
    ("length, with labels", long_winded, "correctness", LABELLED, 0.05, lambda f: f.length["doubling"].slope),
    ("length, without labels", by_length, "correctness", {}, 0.1, lambda f: f.length["doubling"].slope),
    ("own answers, with labels", selfish, "correctness", {**SIGNED, **LABELLED}, 0.2, _own),
    ("own answers, without", selfish, "correctness", SIGNED, 0.2, _own),
    ("wording beyond noise", literal, "correctness", LAYOUT, 0.24, lambda f: f.rewordings.beyond_noise),
    ("… noise alone", noisy, "correctness", LAYOUT, 0.0, lambda f: f.rewordings.beyond_noise),
    ("first place", hasty, "pairwise", {}, 0.3, lambda f: f.position.first_place),
    ("… a judge that guesses: none", blind, "pairwise", {}, 0.0, lambda f: f.position.first_place),
)  # fmt: skip


def examine(bias: Bias, judge: str, options: Mapping[str, Any], seed: int) -> Examined:
    """What is found of a judge with this bias, on data and with noise of this seed."""
    draw = Random(seed)

    def reply(messages: Sequence[Mapping[str, str]]) -> dict[str, str]:
        shown = json.loads(messages[-1]["content"].split("\n", 1)[1].rsplit("\n", 1)[0])
        return {"explanation": "…", "label": bias(shown, draw, messages[0]["content"])}

    rows = pairs(draw) if judge == "pairwise" else answers(draw)
    metric = Judge(judge, model=FakeModel(reply, name="small"), governor=Governor())
    return karat.examine(rows, metric, **{"ask": 3, **options}).judges[0]


def main(times: int) -> None:
    print(f"{'fault':32}{'planted':>9}{'mean':>9}{'covered':>9}{'found':>8}   of {times} data sets")
    for name, bias, judge, options, planted, figure in CASES:
        found = [figure(examine(bias, judge, options, seed)) for seed in range(times)]
        known = [(each.value, each.low, each.high) for each in found if None not in (each.value, each.low, each.high)]
        values, lows, highs = np.array(known, dtype=float).T
        mean, covered = values.mean(), ((lows <= planted) & (planted <= highs)).mean()
        sure = ((lows > 0) | (highs < 0)).mean()
        print(f"{name:32}{planted:9.3f}{mean:9.3f}{covered:9.1%}{sure:8.1%}", flush=True)


def calibration(times: int) -> None:
    """Ten bins of even scores s, which are right with probability s·(1 - 2·off) + off."""
    random = np.random.default_rng(1)
    print(f"{'calibration: rows, true error':32}{'planted':>9}{'mean':>9}{'covered':>9}{'found':>8}")
    for rows, off in product((50, 200, 1000), (0.0, 0.1, 0.3)):
        true = float(np.mean(np.abs(2 * off * (np.arange(10) + 0.5) / 10 - off)))
        ends = np.empty((times, 3))
        for at in range(times):
            scores = random.random(rows)
            found = calibrate(scores, (random.random(rows) < scores * (1 - 2 * off) + off).astype(float)).ece
            ends[at] = found.value, found.low, found.high
        value, low, high = ends.T
        covered, sure = ((low <= true) & (true <= high)).mean(), (low > 0).mean()
        print(f"{f'{rows} rows':32}{true:9.3f}{value.mean():9.3f}{covered:9.1%}{sure:8.1%}", flush=True)


if __name__ == "__main__":
    TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    main(TIMES)
    calibration(10 * TIMES)
