"""Haystack's evaluators and karat's in their place, on the same documents.

    python bench/documents.py [questions]

One process, documents built beforehand; ten retrieved and two or three relevant a question.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from operator import attrgetter
from time import process_time
from typing import Any

import numpy as np
from side_by_side import in_turn, machine

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Document
from haystack.components import evaluators as theirs

from karat.adapters import haystack as ours

Lists = list[list[Any]]
Run = Callable[[], dict[str, Any]]
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "MAP": ("DocumentMAPEvaluator", {}),
    "MRR": ("DocumentMRREvaluator", {}),
    "recall, single hit": ("DocumentRecallEvaluator", {}),
    "NDCG": ("DocumentNDCGEvaluator", {}),
}


def make(questions: int) -> tuple[Lists, Lists, list[str], list[str]]:
    """Relevant and retrieved documents, expected and predicted answers."""
    draw = random.Random(0)

    def build(number: int) -> Document:
        text = f"Passage {number} of the collection, which says a little more than its number."
        return Document(id=f"d{number}", content=text, meta={"page": number})

    gold, found = [], []
    for _ in range(questions):
        relevant = [draw.randrange(1_000_000) for _ in range(draw.choice((2, 3)))]
        retrieved = [draw.randrange(1_000_000) for _ in range(10)]
        for number in relevant:
            if draw.random() < 0.7:
                retrieved[draw.randrange(10)] = number
        gold.append(list(map(build, relevant)))
        found.append(list(map(build, retrieved)))
    answers = [f"Answer {number}" for number in range(questions)]
    said = [f"Answer {number}" if draw.random() < 0.7 else "Another" for number in range(questions)]
    return gold, found, answers, said


def compare(title: str, pairs: Mapping[str, tuple[Run, Run]], rounds: int) -> float:
    """Print what each of Haystack's runs and karat's took, and all of them. Returns Haystack's seconds."""
    for mine, other in pairs.values():
        np.testing.assert_allclose(mine()["individual_scores"], other()["individual_scores"], rtol=1e-12)
    named = {(name, side): pairs[name][side] for name in pairs for side in (0, 1)}
    seconds = in_turn({str(key): run for key, run in named.items()}, rounds, process_time)
    took = {name: (seconds[str((name, 0))], seconds[str((name, 1))]) for name in pairs}
    print(f"{title}: the same scores")
    for name, (mine_took, other_took) in {**took, "all": tuple(map(sum, zip(*took.values(), strict=True)))}.items():
        times = other_took / mine_took
        print(f"{name:18} Haystack {1000 * other_took:8.1f} ms, karat {1000 * mine_took:8.1f} ms: {times:5.2f} times")
    return sum(other_took for _, other_took in took.values())


def main(questions: int) -> None:
    *documents, answers, said = make(questions)
    gc.collect()
    gc.freeze()  # the documents are no part of what is measured, nor is looking through them for garbage
    exact = [package.AnswerExactMatchEvaluator() for package in (ours, theirs)]
    mine, other = (partial(evaluator.run, answers, said) for evaluator in exact)
    compare(f"{questions:,} answers", {"exact match": (mine, other)}, rounds=51)
    theirs_took = {}
    for field in ("content", "meta.page"):
        pairs = {}
        for name, (kind, settings) in KINDS.items():
            mine, other = (
                partial(getattr(package, kind)(**settings, document_comparison_field=field).run, *documents)
                for package in (ours, theirs)
            )
            pairs[name] = mine, other
        theirs_took[field] = compare(f"{questions:,} questions, documents compared by {field}", pairs, rounds=5)
    every = list(chain.from_iterable(chain(*documents)))
    read = in_turn({"floor": lambda: deque(map(hash, map(attrgetter("content"), every)), 0)}, 5, process_time)
    times = theirs_took["content"] / (len(KINDS) * read["floor"])
    took = f"{1000 * read['floor']:.1f} ms a component, {times:.2f} times as fast as Haystack"
    print(f"reading the content of each document once from Python, and no more: {took}")
    gc.unfreeze()


if __name__ == "__main__":
    print(machine())
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
