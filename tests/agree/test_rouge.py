"""ROUGE equal to rouge_score's, on random and hostile text."""

from __future__ import annotations

import random

import pytest
from rouge_score.rouge_scorer import RougeScorer

from karat.metrics import rouge_l, rouge_lsum, rouge_n

ODD = ["the", "The", "cat", "a", "a", "b", "sat.", "3.5", "x-1", "é", "café", "北京", "İs", "\u212a", "Σ", "_", "don't"]
GAPS = [" ", " ", " ", "  ", "\n", "\n", "\n\n", "\t", "\u00a0", "\r\n", "", ", "]
PARTS = {"f": "fmeasure", "precision": "precision", "recall": "recall"}


def pairs(longest: int, rows: int, words: list[str] = ODD) -> list[tuple[str, str]]:
    draw = random.Random(longest)  # noqa: S311

    def text() -> str:
        return "".join(draw.choice(words) + draw.choice(GAPS) for _ in range(draw.randint(0, longest)))

    made = [(text(), text()) for _ in range(rows)]
    return made + [
        (predicted, predicted[len(predicted) // 3 :] + predicted[: len(predicted) // 2]) for predicted, _ in made
    ]


@pytest.mark.parametrize(("longest", "rows"), [(4, 150), (25, 120), (90, 20), (400, 4)])
@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (rouge_n, "rouge1"),
        (rouge_n.using(n=2), "rouge2"),
        (rouge_n.using(n=5), "rouge5"),
        (rouge_l, "rougeL"),
        (rouge_lsum, "rougeLsum"),
    ],
    ids=str,
)
def test_rouge_is_that_of_rouge_score(metric, name, longest, rows):
    scorer = RougeScorer([name])
    given = pairs(longest, rows) + pairs(longest + 1, rows // 2, ["a", "b", "c"])
    theirs = [scorer.score(gold, predicted)[name] for predicted, gold in given]
    for part, field in PARTS.items():
        ours = metric(*map(list, zip(*given, strict=True)), score=part).to_pylist()
        assert ours == pytest.approx([getattr(score, field) for score in theirs], rel=1e-12, abs=0)


def test_of_several_references_the_best_counts():
    scorer = RougeScorer(["rouge1", "rougeL", "rougeLsum"])
    predicted, golds = "the cat sat\non the mat", ["a dog", "the mat sat on the cat", "on the\nthe cat"]
    theirs = scorer.score_multi(golds, predicted)
    for metric, name in ((rouge_n, "rouge1"), (rouge_l, "rougeL"), (rouge_lsum, "rougeLsum")):
        assert metric([predicted], [golds]).to_pylist() == pytest.approx([theirs[name].fmeasure], rel=1e-12)
