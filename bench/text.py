"""Metrics of text beside their peers, on one thread: rows a second of the processor's time.

    python bench/text.py [rows [words...]]

Half of the predictions are references with a word replaced and a phrase moved, the others are random sentences of the
same words. karat's side is a call of the metric on Arrow columns, the peer's a call on lists of Python's texts. The
values are first compared.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jiwer
import numpy as np
import pyarrow as pa
from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler, Levenshtein
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from side_by_side import in_turn, machine

import karat
from karat.metrics import bleu, cer, chrf, contains, jaccard, jaro_winkler, levenshtein, ter, wer

FEW = 1_000  # rows for a peer in plain Python


def sentences(rows: int, words: int) -> tuple[list[str], list[str]]:
    """Predictions and references of so many words."""
    draw = random.Random(0)
    vocabulary = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(3_000)]
    predicted, expected = [], []
    for row in range(rows):
        reference = draw.choices(vocabulary, k=words)
        prediction = (
            [*reference[words // 2 :], *reference[: words // 2]] if row % 2 else draw.choices(vocabulary, k=words)
        )
        prediction[0] = draw.choice(vocabulary)
        predicted.append(" ".join(prediction))
        expected.append(" ".join(reference))
    return predicted, expected


def peers() -> dict[Any, Callable[[list[str], list[str]], Any]]:
    """What each metric is compared with: the scores of rows."""
    rate = TER()
    f_score = CHRF()
    return {
        chrf: lambda a, b: [f_score.sentence_score(x, [y]).score / 100 for x, y in zip(a, b, strict=True)],
        ter: lambda a, b: [rate.sentence_score(x, [y]).score / 100 for x, y in zip(a, b, strict=True)],
        levenshtein: lambda a, b: process.cpdist(a, b, scorer=Levenshtein.normalized_similarity, dtype=np.float64),
        jaro_winkler: lambda a, b: [JaroWinkler.similarity(x, y) for x, y in zip(a, b, strict=True)],
        wer: lambda a, b: [jiwer.wer(y, x) for x, y in zip(a, b, strict=True)],
        cer: lambda a, b: [jiwer.cer(y, x) for x, y in zip(a, b, strict=True)],
    }


def corpus_bleu(predicted: list[str], expected: list[str]) -> Any:
    """sacrebleu's, of texts that it has not seen: it keeps the tokens of 65,536."""
    for tokenizer in (Tokenizer13a, TokenizerRegexp):
        tokenizer.__call__.cache_clear()
    return BLEU().corpus_score(predicted, [expected])


def report(name: str, rows: int, seconds: float, few: int = 0, peer: float = 0.0) -> None:
    beside = f"{few / peer:12,.0f} {peer / few / (seconds / rows):8.1f} times" if few else ""
    print(f"{name:28} {rows / seconds:12,.0f} {beside}", flush=True)


def measure(rows: int, words: int) -> None:
    """Each metric on texts of so many words, beside its peer."""
    predicted, expected = sentences(rows, words)
    a, b = pa.array(predicted), pa.array(expected)
    table = pa.table({"prediction": a, "reference": b})

    def beside(name: str, ours: Callable[[], Any], peer: Callable[[list[str], list[str]], Any], few: int) -> None:
        times = in_turn({"peer": partial(peer, predicted[:few], expected[:few]), "ours": ours}, 3, time.process_time)
        report(f"{name}, {words} words", rows, times["ours"], few, times["peer"])

    for metric, peer in peers().items():
        np.testing.assert_allclose(metric(a[:FEW], b[:FEW]), peer(predicted[:FEW], expected[:FEW]), rtol=1e-12)
        beside(metric.name, partial(metric, a, b), peer, rows if metric in (levenshtein, jaro_winkler) else FEW)
    beside("corpus bleu", partial(karat.score, table, bleu), corpus_bleu, min(rows, 20_000))
    for metric in (jaccard, contains):
        report(f"{metric.name}, {words} words", rows, in_turn({"": partial(metric, a, b)}, 3, time.process_time)[""])


if __name__ == "__main__":
    os.environ["KARAT_THREADS"] = "1"
    print(machine())
    print(f"{'':28} {'karat':>12} {'peer':>12}")
    for words in map(int, sys.argv[2:] or (4, 12)):
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000, words)
