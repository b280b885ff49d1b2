"""A judge's exam beside people, its intervals, its decoys, its rate: `python bench/exam.py [NAME]`.

- `people`: on the 301 questions of OpenQA-eval (NQ-open; data CC BY-SA 3.0, repository MIT), what the exam says of
  exact match, F1 and `contains`, and what people's verdicts on the systems' answers say of the same errors.
- `coverage`: 2,000 simulated exams of a judge whose errors of one question go together, and the share of intervals
  that hold the true share; and of certificates that are given although the limit is reached.
- `decoys`: the share of wrong answers that are right in truth, in a sample from SQuAD (CC BY-SA 4.0) and NQ-open of
  which each answer was read beside its question and gold, once: `exam_decoys.csv`, whose rows are ids and edits.
- `rate`: 10,000 answers asked of a local endpoint, beside what its latency and the number of calls at a time allow.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import karat
from karat.judges import use_governor
from karat.models.testing.fake import FakeServer
from karat.runs.judge.exam.exam import Marking, ask
from karat.runs.judge.exam.paper import make_exam
from karat.runs.judge.praise import accepts
from karat.stats.agreement.accuracy import mean
from karat.stats.intervals.wilson import wilson_interval
from karat.stats.reliability.certificate import certify
from karat.stats.value import Estimate

HERE = Path(__file__).parent
DATA = HERE.parent / "../shared/data/qa_human_openqa_eval"
METRICS = ("em", "f1", "contains")
SIMULATED, QUESTIONS, CLASSES = 2000, 200, 8


def people() -> None:
    """The exam of metrics, and people's verdicts on the same metrics' verdicts of all systems' answers."""
    golds: dict[str, list[str]] = {}
    for path in sorted(DATA.glob("model_outputs/NQ_*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            row = json.loads(line)
            golds.setdefault(row["question"].strip().rstrip("?").lower(), row["answer"])
    rows = []
    with gzip.open(DATA / "NQ301_human.tsv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            question = row["Question"]
            gold = golds.get(question.strip().rstrip("?").lower())
            verdict = (row["Acceptable?"] or "").strip().lower()
            if gold and verdict in {"yes", "no"}:
                answer = row["Model answer"] or ""
                rows.append({"question": question, "gold": gold, "answer": answer, "right": float(verdict == "yes")})
    table = karat.score(rows, list(METRICS), keep=True, cluster="none").table.to_pylist()
    found = karat.exam(rows, list(METRICS), questions=301)
    print(f"{len(rows)} answers to {len({row['question'] for row in rows})} questions; an exam of {found.n} answers\n")
    print("| metric | | by the exam | by people |\n|---|---|---|---|")
    truth = np.array([row["right"] for row in rows])
    codes = np.unique([row["question"] for row in rows], return_inverse=True)[1]
    for metric in METRICS:
        judge = found.judge(metric)
        accepted = accepts(np.array([row[metric] for row in table], dtype=float), 0.5)
        pairs: list[tuple[str, Any, Any]] = [
            ("accepts of mistakes", judge.mistakes, mean(np.where(truth == 0, accepted, np.nan))),
            ("accepts of all wrong answers", judge.false_praise, None),
            ("refuses of right answers", judge.false_blame, mean(np.where(truth == 1, 1 - accepted, np.nan))),
        ]
        for words, ours, theirs in pairs:
            shown = "" if theirs is None else _percent(theirs.estimate(codes))
            print(f"| {metric} | {words} | {_percent(ours)} | {shown} |")
        implied = judge.implied
        if implied is not None:
            print(f"| {metric} | right answers | {_percent(implied.value)} | {100 * truth.mean():.1f} |")


def coverage() -> None:
    """How often intervals hold the true share, by its size and by how far errors of one question go together."""
    draw = np.random.default_rng(7)
    print(
        "| true share | correlation within a question | all answers | one class | certificates given, limit = share |"
    )
    print("|---|---|---|---|---|")
    for share in (0.01, 0.05, 0.2, 0.5):
        for rho in (0.0, 0.2, 0.5):
            inside, single, given = 0, 0, 0
            for _ in range(SIMULATED):
                # a question's own share of errors: of a beta distribution, whose correlation is rho
                each = np.full(QUESTIONS, share)
                if rho:
                    a = share * (1 - rho) / rho
                    each = draw.beta(a, (1 - share) * (1 - rho) / rho, QUESTIONS)
                wrong = (draw.random((QUESTIONS, CLASSES)) < each[:, None]).astype(float)
                clusters = np.repeat(np.arange(QUESTIONS), CLASSES)
                found = mean(wrong.ravel()).estimate(clusters)
                inside += found.low <= share <= found.high  # type: ignore[operator]
                alone = mean(wrong[:, 0]).estimate()
                single += alone.low <= share <= alone.high  # type: ignore[operator]
                given += certify(int(wrong[:, 0].sum()), QUESTIONS, share).passed
            shares = (f"{100 * count / SIMULATED:.1f} %" for count in (inside, single, given))
            print(f"| {share} | {rho} | {' | '.join(shares)} |", flush=True)


def decoys() -> None:
    """The share of decoys that are right in truth, by class."""
    with (HERE / "exam_decoys.csv").open(encoding="utf-8") as file:
        read = [(row["exam_id"].partition(" ")[2], row["verdict"]) for row in csv.DictReader(file)]
    counts, verdicts = Counter(name for name, _ in read), Counter(read)
    print("| class | read | right in truth | doubtful |\n|---|---|---|---|")
    for name, n in counts.items():
        print(f"| {name} | {n} | {verdicts[name, 'right']} | {verdicts[name, 'doubtful']} |")
    right = sum(verdict == "right" for _, verdict in read)
    low, high = wilson_interval(right / len(read), len(read), 1.959964)
    print(f"| all | {len(read)} | {right}: {100 * right / len(read):.1f} % [{100 * low:.1f}, {100 * high:.1f}] | |")


def rate(latency: float = 4.0, calls: int = 100) -> None:
    """The seconds that 10,000 answers take, and the least that the endpoint's latency allows."""
    rows = [{"question": f"Who wrote book number {n}?", "gold": f"Writer{n} Author{n % 97}"} for n in range(1000)]
    with FakeServer({"explanation": "…", "label": "incorrect"}, latency=latency) as server:
        judge = karat.Judge("correctness", model="fake")
        started = time.perf_counter()
        paper = make_exam(rows, questions=626)
        made = time.perf_counter() - started
        with use_governor(karat.Governor(concurrency=calls), base_url=server.url):
            found = ask(paper, [judge], Marking())
        took = time.perf_counter() - started - made
    ideal = found.n / calls * latency
    asked = f"{found.n} answers, {calls} calls at a time of {latency} s"
    print(f"{asked}: made in {made:.1f} s, asked and marked in {took:.1f} s, ideal {ideal:.1f} s, {ideal / took:.1%}")


def _percent(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate.reason or "–"
    return f"{100 * estimate.value:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


if __name__ == "__main__":
    for name in sys.argv[1:] or ("people", "decoys", "coverage", "rate"):
        print(f"\n## {name}\n")
        {"people": people, "decoys": decoys, "coverage": coverage, "rate": rate}[name]()
