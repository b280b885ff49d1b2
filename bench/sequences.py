"""How often confidence sequences hold, how often they decide wrongly, and what they save: `python bench/sequences.py`.

    python bench/sequences.py [PART] [STREAMS]

Parts: `values`, `pairs` (recorded verdicts of OpenQA-eval's twelve systems and of PandaLM's pairs, each replayed in
random orders and looked at after every row), `simulated`, `people` (with a judge and a free metric), `cost`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from time import process_time

import numpy as np
from scipy.stats import norm

from karat.core.columns.kinds import Array
from karat.stats.inference import Inference
from karat.stats.sequential.drift import find_drift
from karat.stats.sequential.population import Population
from karat.stats.sequential.sequence import ConfidenceSequence
from karat.text.normalise import normalise_squad

DATA = Path(__file__).parents[1] / "../shared/data"
NORMAL = 1.959963984540054


def print_row(*cells: object) -> None:
    print("|", " | ".join(f"{each:.3g}" if isinstance(each, float) else str(each) for each in cells), "|", flush=True)


def read_openqa() -> tuple[dict[str, Array], dict[str, Array]]:
    """The verdicts of GPT-4 and of people on each system's answers to 301 questions, 1 for acceptable; NaN for none.

    As in the repository's script, answers that match the gold exactly were not annotated: they are acceptable.
    """
    verdicts = []
    for name in ("gpt-4", "human"):
        text = gzip.decompress((DATA / f"qa_human_openqa_eval/NQ301_{name}.tsv.gz").read_bytes()).decode()
        rows = list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))
        verdicts.append({(_key(r["Question"]), _key(r["Model answer"])): r["Acceptable?"].lower() for r in rows})
    questions = sorted({question for question, _ in verdicts[1]})
    by_judge, by_people = dict[str, Array](), dict[str, Array]()
    for path in sorted((DATA / "qa_human_openqa_eval/model_outputs").glob("*.gz")):
        answers = {
            _key(row["question"]): row for row in map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
        }
        rows = [answers[question] for question in questions]
        matches = [_key(row["prediction"]) in {_key(gold) for gold in row["answer"]} for row in rows]
        for scores, given in zip((by_judge, by_people), verdicts, strict=True):
            known = [given.get((question, _key(answers[question]["prediction"]))) for question in questions]
            of_system = [
                1.0 if exact else {"yes": 1.0, "no": 0.0}.get(verdict or "", np.nan)
                for exact, verdict in zip(matches, known, strict=True)
            ]
            scores[path.name.split("_", 1)[1].removesuffix(".jsonl.gz")] = np.array(of_system)
    return by_judge, by_people


def _key(text: str | list[str]) -> str:
    return normalise_squad(text if isinstance(text, str) else text[0])


def read_pandalm() -> dict[str, tuple[Array, Array]]:
    """By pair of models the verdicts of GPT-3.5 and of most people: 1 for the first, -1 for the second, 0 for a tie."""
    names = ("testset-v1", "gpt-3.5-turbo-testset-v1")
    labelled, judged_rows = (
        json.loads(gzip.decompress((DATA / f"judge_pairwise_pandalm/{name}.json.gz").read_bytes())) for name in names
    )
    worth = {"1": 1.0, "2": -1.0, "0": 0.0, "Tie": 0.0}
    pairs = defaultdict[str, list[tuple[float, float]]](list)
    for row, judged in zip(labelled, judged_rows, strict=True):
        people = Counter(str(row[f"annotator{at}"]) for at in (1, 2, 3)).most_common(1)[0][0]
        pairs[row["cmp_key"]].append((worth.get(str(judged["gpt_result"]), np.nan), worth[people]))
    return {name: tuple(np.array(rows).T) for name, rows in pairs.items()}


def replay(
    scores: Array, random: np.random.Generator, *, width: float | None = None, bounds: tuple[float, float] = (0.0, 1.0)
) -> tuple[bool, int | None, int | None]:
    """One stream of all rows: whether the mean was inside at all times, and the rows after which 0 was outside, and
    the interval as narrow as `width`; the sign of the first says on which side of 0 it was.
    """
    order = random.permutation(len(scores))
    totals, counts = np.nan_to_num(scores)[order], (~np.isnan(scores))[order].astype(float)
    sequence = ConfidenceSequence(Population(np.ones(len(scores)), bounds), width=width)
    sequence.add(totals, counts)
    asked, low, high = sequence.course()
    mean = float(np.nanmean(scores))
    held = bool(low[:-1].max() <= mean + 1e-9 and high[:-1].min() >= mean - 1e-9)  # at the end it is inside anyway
    side = np.where(low > 0, 1, np.where(high < 0, -1, 0))
    decided = np.flatnonzero(side)
    narrow = np.flatnonzero(high - low <= (width or 0.0))
    first = int(side[decided[0]] * asked[decided[0]]) if len(decided) else None
    return held, first, int(asked[narrow[0]]) if len(narrow) else None


def rows_for_width(scores: Array, width: float) -> int:
    """The rows whose interval, looked at once, has this width, where they are drawn from these without replacement."""
    needed = (2 * NORMAL * float(np.nanstd(scores)) / width) ** 2
    return min(len(scores), round(needed / (1 + needed / len(scores))))


def rows_for_power(scores: Array, power: float) -> int:
    """The rows with which a paired test, looked at once, shows this difference with this power, without replacement."""
    effect = abs(float(np.nanmean(scores))) / float(np.nanstd(scores))
    needed = ((NORMAL + norm.ppf(power)) / max(effect, 1e-9)) ** 2
    return int(min(len(scores), round(needed / (1 + needed / len(scores)))))


def values(streams: int) -> None:
    print_row("system", "rows", "share right", "held", "rows to a width of .1", "looked at once", "ratio")
    print_row(*["---"] * 7)
    by_judge, _ = read_openqa()
    for name, scores in by_judge.items():
        random = np.random.default_rng(1)
        runs = [replay(scores, random, width=0.1) for _ in range(streams)]
        held, asked = (float(np.mean([each[at] for each in runs])) for at in (0, 2))
        once = rows_for_width(scores, 0.1)
        print_row(name, len(scores), float(np.nanmean(scores)), held, asked, once, asked / once)


def pairs(streams: int) -> None:
    print_row(
        "pair", "rows", "difference", "held", "wrong", "before the end", "rows asked", "at once, same power", "80 %"
    )
    print_row(*["---"] * 9)
    by_judge, _ = read_openqa()
    contrasts = {f"{a} − {b}": by_judge[a] - by_judge[b] for a, b in combinations(by_judge, 2)}
    ordered = sorted(contrasts, key=lambda name: abs(float(np.nanmean(contrasts[name]))))
    some = {name: contrasts[name] for name in ordered[:: len(ordered) // 13]}
    for name, scores in (some | {name: judged for name, (judged, _) in read_pandalm().items()}).items():
        random, truth = np.random.default_rng(1), float(np.nanmean(scores))
        runs = [replay(scores, random, bounds=(-1.0, 1.0)) for _ in range(streams)]
        held = sum(each for each, *_ in runs) / streams
        wrong = sum(rows is not None and rows * truth < 0 for _, rows, _ in runs) / streams
        asked = [abs(rows or len(scores)) for _, rows, _ in runs]
        share = float(np.mean(np.array(asked) < len(scores)))
        powers = [rows_for_power(scores, power) for power in (min(max(share, 0.05), 0.99), 0.8)]
        print_row(name, len(scores), truth, held, wrong, share, float(np.mean(asked)), *powers)


def simulate(kind: str, random: np.random.Generator) -> tuple[Population, Array, Array]:
    """A population of 1,000 units in random order, and the sums of scores and the scored rows of each."""
    units = 1_000
    ones, counts = np.ones(units), np.ones(units)
    if kind == "clusters":
        sizes = random.integers(1, 9, units).astype(float)
        return Population(sizes), random.binomial(sizes.astype(int), random.beta(2, 1, units)).astype(float), sizes
    if kind == "proposed sampling":
        odds = 0.25 + 0.75 * random.random(units)
        order = np.argsort(random.exponential(size=units) / odds)
        scores = (random.random(units) > odds / 2).astype(float)
        return Population(ones, free=odds[order, None], probabilities=odds[order]), scores[order], ones
    share = {"mean .01": 0.01, "mean .99": 0.99}.get(kind, 0.7)
    scores = (random.random(units) < share).astype(float)
    if kind == "graded":
        return (
            Population(ones, (1.0, 5.0)),
            random.choice(np.arange(1.0, 6), units, p=[0.05, 0.1, 0.2, 0.3, 0.35]),
            ones,
        )
    if kind == "a third unscored":
        counts = (random.random(units) < 2 / 3).astype(float)
        return Population(ones), scores * counts, counts
    agree = {"useful free metric": 0.85, "useless free metric": 0.5, "reversed free metric": 0.1}.get(kind)
    if agree is not None:
        free = np.where(random.random(units) < agree, scores, 1 - scores)
        return Population(ones, free=free[:, None]), scores, counts
    return Population(ones), scores, counts


def simulated(streams: int) -> None:
    kinds = ["mean .7", "mean .01", "mean .99", "graded", "clusters", "proposed sampling", "a third unscored"]
    print_row("rows", "held at all times", "width at 300 of 1,000", "looked at once", "ratio")
    print_row(*["---"] * 5)
    for kind in [*kinds, "useful free metric", "useless free metric", "reversed free metric"]:
        random, held, widths, once = np.random.default_rng(1), 0, list[float](), list[float]()
        for _ in range(streams):
            population, totals, counts = simulate(kind, random)
            sequence = ConfidenceSequence(population)
            sequence.add(totals[:300], counts[:300])
            widths.append(sequence.width)
            rest = (totals - totals.sum() / counts.sum() * counts)[:300]
            once.append(2 * NORMAL * float(rest.std()) * np.sqrt(0.7 / 300) / counts[:300].mean())
            sequence.add(totals[300:900], counts[300:900])
            held += sequence.low - 1e-9 <= totals.sum() / counts.sum() <= sequence.high + 1e-9
        print_row(
            kind, held / streams, float(np.mean(widths)), float(np.mean(once)), float(np.mean(widths) / np.mean(once))
        )
    for before, after in ((0.7, 0.7), (0.7, 0.6), (0.7, 0.5)):
        random = np.random.default_rng(2)
        drifts = [
            find_drift((random.random(1_000) < np.repeat([before, after], 500)).astype(float)) for _ in range(streams)
        ]
        warned = sum(drift is not None and drift.p < 0.001 for drift in drifts)
        print_row(
            f"drift of the judge from {before} to {after} after half", f"said in {warned / streams:.3f}", "", "", ""
        )


def people(streams: int) -> None:
    """People's mean through a judge: of OpenQA-eval's systems together, each answer a row."""
    by_judge, by_people = read_openqa()
    judged, labels = (np.concatenate(list(each.values())) for each in (by_judge, by_people))
    both = ~(np.isnan(judged) | np.isnan(labels))
    judged, labels, rows = judged[both], labels[both], int(both.sum())
    print_row("judge known of", "labels", "held", "width", "labels alone", "looked at once")
    print_row(*["---"] * 6)
    for known, asked in ((rows, 200), (rows, 400), (1_000, 200), (1_000, 400), (400, 200)):
        random, held, widths, alone = np.random.default_rng(1), 0, list[float](), list[float]()
        for _ in range(streams):
            second = random.permutation(rows)
            ordered, cheap = labels[second][:asked], None
            if known == rows:
                population = Population(np.ones(rows), free=judged[second][:, None])
            else:
                population = Population(np.ones(rows), cheap=True)
                batches = judged[random.integers(rows, size=(asked, known // asked))].mean(axis=1)
                cheap = np.column_stack([judged[second][:asked], batches])
            sequence = ConfidenceSequence(population, Inference(0.95))
            sequence.add(ordered, np.ones(asked), cheap)
            only = ConfidenceSequence(Population(np.ones(rows)))
            only.add(ordered, np.ones(asked))
            held += sequence.low <= labels.mean() <= sequence.high
            widths.append(sequence.width)
            alone.append(only.width)
        slope = np.cov(labels, judged)[0, 1] / judged.var()
        rest = labels - slope * judged
        variance = rest.var() * (1 / asked - 1 / rows) + slope**2 * judged.var() * (1 / known - 1 / rows)
        once = 2 * NORMAL * float(np.sqrt(variance))
        print_row(f"{known} of {rows}", asked, held / streams, float(np.mean(widths)), float(np.mean(alone)), once)


def cost(_streams: int) -> None:
    scores = (np.random.default_rng(0).random(100_000) < 0.7).astype(float)
    for width in (None, 0.02):
        start = process_time()
        ConfidenceSequence(Population(np.ones(100_000)), width=width).add(scores, np.ones(100_000))
        whole = process_time() - start
        sequence, start = ConfidenceSequence(Population(np.ones(100_000)), width=width), process_time()
        for at in range(3_000):
            sequence.add(scores[at : at + 1], np.ones(1))
        each = (process_time() - start) / 3_000
        print(
            f"width {width}: 100,000 rows at once {whole:.1f} s of processor time, one by one {each * 1e3:.2f} ms each"
        )


def main() -> None:
    parts = {"values": values, "pairs": pairs, "simulated": simulated, "people": people, "cost": cost}
    named = sys.argv[1:2] if sys.argv[1:2] and sys.argv[1] in parts else list(parts)
    streams = int(next((each for each in sys.argv[1:] if each.isdigit()), "2000"))
    for name in named:
        print(f"\n{name}, {streams} streams\n")
        parts[name](streams)


if __name__ == "__main__":
    main()
