"""Wrong gold planted in real data, and what `karat gold` finds: `python bench/gold.py [PART...] [--plantings N]`.

Parts are `squad` (10,557 questions of SQuAD 1.1, two systems; data CC BY-SA 4.0) and `nq12`, `nq5`, `nq3`, `nq2` (301
questions of NQ-open, of OpenQA-eval's systems 12, 5, 3 or 2; data CC BY-SA 3.0, repository MIT), and `people`.

A planting replaces the gold of 0, 2, 5 or 10 % of the rows by another row's gold of the same type (a person, a number,
a date, …) that does not resemble its own. Of the first 20, 50 and 100 rows the planted share is printed beside the one
of a list by how many systems miss the row (equal ones in random order), and, of the rows that are reported, the share
that is false in two ways: not planted; and neither planted nor a row in which people accept an answer beside the gold
(NQ-open only), as the data have errors of their own. Then somebody looks at 30 of the first 100 rows, drawn at random,
and says that the gold is wrong where it is planted or people accept another answer: what is reported beside these 30,
and which share of all that is reported is false.

`people`: which rows are listed of those in which people accept an answer that the gold does not.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from karat.runs.gold.answers import RowAnswers, find_agreement
from karat.runs.gold.doubts import doubt_rows
from karat.runs.gold.rows import GoldRow, SystemAnswer
from karat.runs.judge.exam.answers.gold_types import find_type
from karat.runs.judge.exam.answers.guard import why_right
from karat.stats.reliability.selection import adjust_by_labels
from karat.text.normalise import normalise_squad

DATA = Path(__file__).parents[1] / "../shared/data"
FEWER = {"nq12": range(12), "nq5": (0, 1, 7, 8, 11), "nq3": (1, 8, 11), "nq2": (1, 8)}
FDR, FIRST, SHARES = 0.1, (20, 50, 100), (0, 0.02, 0.05, 0.1)
LABELS = 30  # of the first 100 rows
alike = lru_cache(1 << 17)(why_right)


@dataclass
class Data:
    """Questions with their gold, and the answers of systems to each, as (system, answer, normalised answer)."""

    questions: Sequence[str]
    golds: Sequence[tuple[str, ...]]
    answers: Sequence[Sequence[tuple[str, str, str]]]

    def row(self, at: int, gold: tuple[str, ...] | None = None) -> GoldRow:
        """A row, with other gold where it is planted; scored by exact match."""
        gold = self.golds[at] if gold is None else gold
        right = {normalise_squad(each) for each in gold}
        scored = ((name, text, plain in right) for name, text, plain in self.answers[at])
        answers = tuple(SystemAnswer(name, text, float(hit), hit) for name, text, hit in scored)
        return GoldRow(str(at), self.questions[at], gold, None, answers)

    @cached_property
    def rows(self) -> list[GoldRow]:
        return [self.row(at) for at in range(len(self.golds))]

    @cached_property
    def agreements(self) -> list[RowAnswers]:
        return [find_agreement(row) for row in self.rows]

    @cached_property
    def types(self) -> list[str]:
        return [find_type(gold[0], question) for gold, question in zip(self.golds, self.questions, strict=True)]

    @cached_property
    def by_type(self) -> dict[str, list[int]]:
        found = defaultdict[str, list[int]](list)
        for at, kind in enumerate(self.types):
            found[kind].append(at)
        return found

    def plant(self, share: float, draw: random.Random) -> dict[int, tuple[str, ...]]:
        """Rows and their gold that is wrong."""
        planted = {}
        for at in draw.sample(range(len(self.golds)), round(share * len(self.golds))):
            same = self.by_type[self.types[at]]
            for _ in range(50):
                other = draw.choice(same if len(same) > 1 else range(len(self.golds)))
                if other != at and not any(alike(each, self.golds[at]) for each in self.golds[other]):
                    break
            planted[at] = self.golds[other]
        return planted


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def key(question: str) -> str:
    return question.strip().rstrip("?").lower()


def read_nq(systems: Sequence[int]) -> Data:
    """The 301 questions that people judged, with the gold of DPR's file."""
    paths = sorted((DATA / "qa_human_openqa_eval/model_outputs").glob("*.jsonl.gz"))
    files = {path.name.partition(".")[0]: {key(row["question"]): row for row in read_lines(path)} for path in paths}
    names = list(files)
    questions = list(files[names[0]])
    rows = []
    for question in questions:
        given = [(names[at], files[names[at]][question]["prediction"]) for at in systems]
        texts = [(name, answer if isinstance(answer, str) else answer[0]) for name, answer in given]
        rows.append([(name, text, normalise_squad(text)) for name, text in texts])
    return Data(questions, [tuple(files["NQ_DPR"][each]["answer"]) for each in questions], rows)


def read_squad() -> Data:
    """The questions of SQuAD 1.1's development set that both systems answered."""
    folder = DATA / "squad"
    read = {path.name: json.loads(gzip.decompress(path.read_bytes())) for path in folder.glob("*1.1*.json.gz")}
    systems = {name: read[f"pred_1.1_{name}.json.gz"] for name in ("bert_ensemble", "logistic_regression_baseline")}
    paragraphs = (each for article in read["gold_dev_1.1.json.gz"]["data"] for each in article["paragraphs"])
    kept = [each for part in paragraphs for each in part["qas"] if all(each["id"] in own for own in systems.values())]
    answers = [
        [(name, own[each["id"]], normalise_squad(own[each["id"]])) for name, own in systems.items()] for each in kept
    ]
    golds = [tuple(answer["text"] for answer in each["answers"]) for each in kept]
    return Data([each["question"] for each in kept], golds, answers)


def read_verdicts() -> dict[tuple[str, str], bool]:
    """Whether people accept an answer, by the question and the normalised answer."""
    with gzip.open(DATA / "qa_human_openqa_eval/NQ301_human.tsv.gz", "rt", encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(key(row["Question"]), normalise_squad(row["Model answer"] or "")): row["Acceptable?"] == "Yes"
                for row in rows}  # fmt: skip


def list_accepted(data: Data, at: int, found: RowAnswers, verdicts: dict[tuple[str, str], bool]) -> set[str]:
    """The answers beside the gold of a row that people accept."""
    told = [data.answers[at][each][2] for each, relation in enumerate(found.relations) if relation in {"near", "apart"}]
    return {answer for answer in told if verdicts.get((data.questions[at], answer))}


def try_plantings(name: str, data: Data, verdicts: dict[tuple[str, str], bool], plantings: int) -> None:
    draw = random.Random(0)
    incomplete = {at for at, found in enumerate(data.agreements) if list_accepted(data, at, found, verdicts)}
    for share in SHARES if verdicts else SHARES[1:]:
        seen = defaultdict[str, list[float]](list)
        for _ in range(plantings):
            planted = data.plant(share, draw)
            rows, own = list(data.rows), list(data.agreements)
            for at, gold in planted.items():
                rows[at] = data.row(at, gold)
                own[at] = find_agreement(rows[at])
            doubts = doubt_rows(rows, own)
            missed = [sum(each != "hit" for each in row.relations) for row in own]
            plain = sorted(range(len(own)), key=lambda at: (-missed[at], draw.random()))
            for first in FIRST:
                seen[f"first {first}"].append(sum(at in planted for at in doubts.order[:first]) / first)
                seen[f"missed {first}"].append(sum(at in planted for at in plain[:first]) / first)
            reported = [at for at, p in enumerate(doubts.adjusted) if p is not None and p <= FDR]
            wrong = planted.keys() | incomplete
            seen["reported"].append(len(reported))
            seen["unplanted"].append(share_outside(reported, planted.keys()))
            seen["false"].append(share_outside(reported, wrong))
            top = doubts.order[: FIRST[-1]]
            looked = set(draw.sample(top, LABELS))
            adjusted = adjust_by_labels([at in wrong if at in looked else None for at in top])
            reported = [at for at, p in zip(top, adjusted, strict=True) if p is not None and p <= FDR]
            seen["others"].append(len(set(reported) - looked))
            seen["false of all"].append(share_outside(reported, wrong))
        mean = {label: float(np.mean(values)) for label, values in seen.items()}
        firsts = " | ".join(f"{mean[f'first {first}']:.2f} ({mean[f'missed {first}']:.2f})" for first in FIRST)
        alone = f"{mean['reported']:.2f} | {mean['unplanted']:.3f} | {mean['false']:.3f}"
        asked = f"{mean['others']:.1f} | {mean['false of all']:.3f}"
        print(f"| {name} | {100 * share:g} % | {firsts} | {alone} | {asked} |", flush=True)


def share_outside(reported: Sequence[int], right: AbstractSet[int]) -> float:
    return sum(at not in right for at in reported) / max(1, len(reported))


def people() -> None:
    """The share of rows in which people accept an answer beside the gold, among those that are listed."""
    verdicts = read_verdicts()
    print("\n| systems | rows | first 20 | first 50 | first 100 | of all accepted answers, in the first 50, 100 |")
    print("|---|---|---|---|---|---|")
    for systems in FEWER.values():
        data = read_nq(systems)
        ordered = doubt_rows(data.rows, data.agreements).order
        accepted = [list_accepted(data, at, found, verdicts) for at, found in enumerate(data.agreements)]
        rows = [at for at in ordered if "hit" not in data.agreements[at].relations]
        share = [np.mean([bool(accepted[at]) for at in rows[:first]]) for first in FIRST]
        every = sum(map(len, accepted))
        caught = [sum(len(accepted[at]) for at in rows[:first]) / every for first in FIRST[1:]]
        counted = sum(map(bool, accepted))
        shown = f"{' | '.join(f'{each:.2f}' for each in share)} | {caught[0]:.2f}, {caught[1]:.2f}"
        print(f"| {len(systems)} | {counted} of {len(accepted)} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["nq12", "people"])
    parser.add_argument("--plantings", type=int, default=20)
    options = parser.parse_args()
    start, verdicts = time.process_time(), read_verdicts()
    print(f"{options.plantings} plantings, --fdr {FDR}")
    alone = "reported | not planted | nor accepted"
    columns = (
        f"data | planted | first 20 (by misses) | first 50 | first 100 | {alone} | others, after 30 | false of all"
    )
    print(f"| {columns} |\n|{'---|' * 10}")
    for part in options.parts:
        if part != "people":
            data, known = (read_squad(), {}) if part == "squad" else (read_nq(FEWER[part]), verdicts)
            try_plantings(part, data, known, options.plantings)
    if "people" in options.parts:
        people()
    print(f"\n{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
