"""Made-up answers in the proportions of real ones, for the benchmarks; the same for the same seed.

Mean 7 words and 43 bytes an answer (1 to 30 words), 1.7 references a row, 3 % of rows not ASCII, one word in eight with
punctuation and one in fourteen an article (SQuAD and NQ-open answers: one in thirteen to six, one in 23 to nine),
20 % of predictions equal to a reference as they stand and 31 % after normalisation.
"""

from __future__ import annotations

import random
from itertools import accumulate

import pyarrow as pa

VOCABULARY = 20_000
MARKS = (*("",) * 28, ",", ".", "'s", "-x")
SYLLABLES = (
    "ka",
    "rat",
    "gol",
    "den",
    "mi",
    "lo",
    "ter",
    "son",
    "ber",
    "an",
    "the",
    "is",
    "el",
    "do",
    "ra",
    "vi",
    "chi",
    "pol",
)
FOREIGN = ("é", "ü", "ñ", "ø", "ç", "中文", "река", "日本", "π", "—")


def make(rows: int, seed: int = 0) -> pa.Table:
    """A table of `id`, `prediction` and `references` (list of texts)."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 3))) for _ in range(VOCABULARY)]
    words[:8] = ["the", "of", "a", "in", "an", "and", "to", "The"]
    weights = list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))

    def text() -> str:
        length = min(30, 1 + int(draw.expovariate(1 / 6.0)))
        said = [word + draw.choice(MARKS) for word in draw.choices(words, cum_weights=weights, k=length)]
        if draw.random() < 0.0125:
            said[draw.randrange(length)] += draw.choice(FOREIGN)
        return " ".join(said)

    predictions, references = [], []
    for _ in range(rows):
        golds = [text() for _ in range(draw.choice((1, 1, 1, 2, 2, 3)))]
        kind, gold = draw.random(), draw.choice(golds)
        if kind < 0.2:
            predictions.append(gold)
        elif kind < 0.31:
            predictions.append(f"The {gold.upper()}.")
        elif kind < 0.6:
            predictions.append(" ".join([*gold.split()[: draw.randint(1, 6)], text()]))
        else:
            predictions.append(text())
        references.append(golds)
    return pa.table({"id": [f"q{row}" for row in range(rows)], "prediction": predictions, "references": references})
