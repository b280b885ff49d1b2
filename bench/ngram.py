"""BLEU against Hugging Face evaluate's and sacrebleu's, ROUGE against rouge_score, and how time grows with an answer.

    python bench/ngram.py [rows]

One process. evaluate's BLEU is its inner function, restated here from its definition, for its files are fetched from a
network; sacrebleu and rouge_score are the packages.
"""

from __future__ import annotations

import math
import os
import random
import sys
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from answers import make
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from side_by_side import in_turn, machine

from karat.core.columns.column_cache import column_cache
from karat.core.columns.kinds import Array
from karat.core.metric.rows import Rows
from karat.core.metric.score import SLICE, score_rows
from karat.core.parallel import even_part, map_ordered
from karat.metrics import bleu, rouge_l, rouge_lsum, rouge_n, sentence_bleu
from karat.text.tokenise import split_13a

EVALUATE = sentence_bleu.using(smooth="none", effective_order=False, reference_length="shortest")
FEW = 50_000  # rows for the peers


def n_grams(tokens: list[str]) -> Counter[tuple[str, ...]]:
    """The n-grams of orders 1 to 4, one by one, as evaluate collects them."""
    counts: Counter[tuple[str, ...]] = Counter()
    for order in range(1, 5):
        for i in range(len(tokens) - order + 1):
            counts[tuple(tokens[i : i + order])] += 1
    return counts


def peer_bleu(prediction: str, references: list[str]) -> float:
    """One sentence's BLEU-4: 13a, no smoothing, shortest reference."""
    said, golds = split_13a(prediction), [split_13a(each) for each in references]
    merged: Counter[tuple[str, ...]] = Counter()
    for gold in golds:
        merged |= n_grams(gold)
    matches, possible = [0] * 4, [max(0, len(said) - n) for n in range(4)]
    overlap = n_grams(said) & merged
    for gram in overlap:
        matches[len(gram) - 1] += overlap[gram]
    if min(matches) == 0:
        return 0.0
    mean = math.exp(sum(math.log(m / p) for m, p in zip(matches, possible, strict=True)) / 4)
    ratio = len(said) / min(map(len, golds))
    return mean if ratio > 1.0 else mean * math.exp(1 - 1 / ratio)


def corpus_bleu(table: pa.Table) -> float:
    """The value alone: statistics added up batch by batch, then finished."""

    def work(batch: pa.RecordBatch) -> Array:
        columns = {"prediction": batch["prediction"], "reference": batch["first"]}
        total: Array = score_rows(bleu, columns).statistics.sum(axis=0)
        return total

    totals = np.sum(list(map_ordered(work, table.to_batches(max_chunksize=even_part(len(table), SLICE)))), axis=0)
    return float(Rows(totals[None]).scores(bleu)[0])


def rouge(table: pa.Table) -> list[Array]:
    """ROUGE-1 and ROUGE-L, each text split once."""

    def work(batch: pa.RecordBatch) -> Array:
        columns = {"prediction": batch["prediction"], "reference": batch["first"]}
        with column_cache():
            return np.stack([score_rows(metric, columns).scores(metric) for metric in (rouge_n, rouge_l)])

    return list(
        np.concatenate(list(map_ordered(work, table.to_batches(max_chunksize=even_part(len(table), SLICE)))), axis=1)
    )


def report(name: str, peer: float, seconds: float) -> None:
    print(f"{name:36} {1 / seconds:12,.0f} rows/s, peer {1 / peer:8,.0f}: {peer / seconds:6.0f} times")


def side_by_side(rows: int) -> None:
    table = make(rows).combine_chunks()
    table = table.append_column("first", pc.list_element(table["references"], 0)).combine_chunks()
    few = table.slice(0, FEW)
    said, golds, first = (few[name].to_pylist() for name in ("prediction", "references", "first"))
    scorer = RougeScorer(["rouge1", "rougeL"])

    def peer_sentences() -> list[float]:
        return [peer_bleu(*pair) for pair in zip(said, golds, strict=True)]

    def peer_corpus() -> float:
        for tokenizer in (Tokenizer13a, TokenizerRegexp):  # a corpus is new text, not what the last round left there
            tokenizer.__call__.cache_clear()
        score: float = BLEU().corpus_score(said, [first]).score
        return score / 100

    def peer_rouge() -> list[Any]:
        return [scorer.score(gold, prediction) for gold, prediction in zip(first, said, strict=True)]

    np.testing.assert_allclose(EVALUATE(few["prediction"], few["references"]).to_numpy(), peer_sentences(), rtol=1e-12)
    np.testing.assert_allclose(corpus_bleu(few), peer_corpus(), rtol=1e-12)
    for scores, name in zip(rouge(few), ("rouge1", "rougeL"), strict=True):
        np.testing.assert_allclose(scores, [score[name].fmeasure for score in peer_rouge()], rtol=1e-12)

    for cores in (1, 2):
        os.environ["KARAT_THREADS"] = str(cores)
        seconds = in_turn(
            {
                "peer sentences": peer_sentences,
                "sentences": lambda: EVALUATE(table["prediction"], table["references"]),
                "peer corpus": peer_corpus,
                "corpus": lambda: corpus_bleu(table),
                "peer rouge": peer_rouge,
                "rouge": lambda: rouge(table),
            },
            rounds=3,
        )
        print(f"{cores} core(s), {rows:,} rows, the same scores as the peers on {FEW:,}")
        for ours, name in (
            ("sentences", "sentence BLEU-4 / evaluate's inner"),
            ("corpus", "corpus BLEU, 1 reference / sacrebleu"),
            ("rouge", "ROUGE-1 and -L / rouge_score"),
        ):
            report(name, seconds[f"peer {ours}"] / FEW, seconds[ours] / rows)


def long_answers() -> None:
    draw = random.Random(0)
    print("milliseconds for one pair of answers of so many tokens")
    for tokens in (100, 1_000, 10_000, 100_000):
        said, gold = ([" ".join(draw.choices("abcdefgh" * 8 + "kmn", k=tokens))] for _ in range(2))
        words = [[" ".join(f"w{draw.randrange(20_000)}" for _ in range(tokens))] for _ in range(2)]
        functions = {
            "BLEU": lambda said=words[0], gold=words[1]: sentence_bleu(said, gold),
            "BLEU, 11 words": lambda said=said, gold=gold: sentence_bleu(said, gold),
            "ROUGE-2": lambda said=words[0], gold=words[1]: rouge_n(said, gold, n=2),
            "ROUGE-L": lambda said=words[0], gold=words[1]: rouge_l(said, gold),
            "ROUGE-L, 11 words": lambda said=said, gold=gold: rouge_l(said, gold),
        }
        if tokens <= 10_000:
            functions["ROUGE-Lsum"] = lambda said=said, gold=gold: rouge_lsum(said, gold)
        print(
            f"{tokens:8,}", *(f"{name} {1000 * taken:.2f}" for name, taken in in_turn(functions, 3).items()), sep="  "
        )


if __name__ == "__main__":
    print(machine())
    side_by_side(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
    long_answers()
