"""Which of ten published QA systems differ: `python bench/openqa.py`, the tables of docs/explanation/ten-systems.md.

Keeps the ten full systems of OpenQA-eval as runs (in $KARAT_RUNS, else in a temporary folder), scored on the 3,610
questions of NQ-open by exact match and F1 with SQuAD's normalisation, checks their values against those of the
repository's own script, and compares each with each: one family of 90 tests.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import karat
from karat.runs.compare.compare import apply_holm
from karat.runs.compare.finding import Finding

DATA = Path(__file__).parents[1] / "../shared/data/qa_human_openqa_eval"
GOLD = DATA / "model_outputs/NQ_DPR.jsonl.gz"
METRICS = {"exact_match(normalize='squad')": "EM", "token_f1(empty='v1')": "F1"}
SYSTEMS = {
    "EMDR2": "EMDR²", "R2D2": "R2-D2", "EviGen": "EviGen", "FiD-KD": "FiD-KD", "GAR-plus_FiD": "GAR+",
    "Rocketv2_FiD": "RocketQAv2", "Contriever_FiD": "Contriever", "ANCE-plus_FiD": "ANCE+", "FiD": "FiD", "DPR": "DPR",
}  # fmt: skip


def score_all() -> dict[str, karat.Result]:
    """Each system's result, kept as a run, once its own file gives the values that were published with it.

    All are scored against the references of one file: those of EviGen's differ in 95 questions, where it has some of
    them in another encoding too. `karat compare` refuses that, and so did we see it.
    """
    expected = json.loads((DATA / "expected.json").read_text())["em_f1_official_script"]
    results = {}
    for file, name in SYSTEMS.items():
        path = DATA / f"model_outputs/NQ_{file}.jsonl.gz"
        published = expected[f"NQ_{file}"]["full"]
        for spec, value in karat.score(path, list(METRICS)).values.items():
            assert value.value is not None
            assert abs(value.value - published[METRICS[spec]]["mean"]) < 1e-9, (name, spec)
        results[name] = karat.score(path, list(METRICS), gold=GOLD, on="question", run=file)
    return results


def compare_all(ranked: list[str]) -> tuple[Finding, ...]:
    """Each pair of systems by each metric, all as one family; the better one by exact match comes second."""
    runs = {name: file for file, name in SYSTEMS.items()}
    pairs = combinations(reversed(ranked), 2)
    return apply_holm([each for a, b in pairs for each in karat.compare(runs[a], runs[b]).findings])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("KARAT_RUNS", folder)
        results = score_all()
        found = compare_all(rank(results))
    show_values(results)
    show_matrix(rank(results), found)
    show_unsupported(found)


def show_values(results: dict[str, karat.Result]) -> None:
    print("| system | EM | 95 % interval | F1 | 95 % interval |\n|---|---|---|---|---|")
    for name in rank(results):
        print(f"| {name} | " + " | ".join(_cell(value) for value in results[name].values.values()) + " |")


def _cell(value: karat.Value) -> str:
    ends = [0.0 if end is None else 100 * end for end in (value.value, value.low, value.high)]
    return f"{ends[0]:.1f} | {ends[1]:.1f} – {ends[2]:.1f}"


def show_matrix(ranked: list[str], found: Sequence[Finding]) -> None:
    """Every pair: above the diagonal by EM, below it by F1; row less column, bold where it is supported."""
    cells = {}
    for each in found:
        pair = SYSTEMS[each.system], SYSTEMS[each.first]  # the first is the lower one by EM
        told = 100 * (each.comparison.difference or 0.0)
        mark = "" if each.verdict == "unclear" else "**"
        by_em = METRICS[each.metric] == "EM"
        cells[pair if by_em else pair[::-1]] = f"{mark}{told if by_em else -told:+.1f}{mark}"
    print(f"\n| EM \\ F1 | {' | '.join(ranked)} |\n|---|{'---|' * len(ranked)}")
    for a in ranked:
        print(f"| {a} | {' | '.join(cells.get((a, b), '') for b in ranked)} |")


def show_unsupported(found: Sequence[Finding]) -> None:
    open_ones = [each for each in found if each.verdict == "unclear"]
    print(f"\n{len(open_ones)} of {len(found)} differences are not supported:\n")
    print("| | | B − A | 95 % interval | won/lost | p | p, Holm | could show |\n|---|---|---|---|---|---|---|---|")
    for each in open_ones:
        c, visible = each.comparison, each.smallest_visible
        numbers = [0.0 if x is None else 100 * x for x in (c.difference, c.low, c.high, visible)]
        print(
            f"| {SYSTEMS[each.first]} – {SYSTEMS[each.system]} | {METRICS[each.metric]} | {numbers[0]:+.1f} | "
            f"{numbers[1]:+.1f} – {numbers[2]:+.1f} | {c.wins}/{c.losses} | {c.p:.2g} | {each.adjusted:.2g} | "
            f"{numbers[3]:.1f} |"
        )


def rank(results: dict[str, karat.Result]) -> list[str]:
    """The systems, the best by exact match first."""
    em = next(iter(METRICS))
    return sorted(results, key=lambda name: -(results[name].values[em].value or 0.0))


if __name__ == "__main__":
    main()
