"""The figures of RAGChecker, from claims whose entailment was judged before."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy
from karat.core.columns.column_cache import once
from karat.core.columns.kinds import Answers, Array, Score, Texts
from karat.core.metric.decorator import metric
from karat.core.metric.rows import NOTHING, Rows, divide

ClaimFigure: TypeAlias = Literal[
    "precision",
    "recall",
    "f1",
    "claim_recall",
    "context_precision",
    "context_utilization",
    "noise_sensitivity_in_relevant",
    "noise_sensitivity_in_irrelevant",
    "hallucination",
    "self_knowledge",
    "faithfulness",
]

MANY = 1 << 62  # more contexts than there are


@metric(source="Ru et al. 2024, RAGChecker, arXiv:2408.08067; computation.py of ragchecker 0.1.9")
def claim_check(
    answer2response: Texts,
    response2answer: Texts,
    retrieved2answer: Answers,
    retrieved2response: Answers,
    *,
    figure: ClaimFigure = "f1",
) -> Score:
    """One of RAGChecker's figures, from which claims are entailed, in the columns that RAGChecker writes.

    Each text is `Entailment` or another verdict. `answer2response`: on each claim of the response, by the gold answer;
    `response2answer`: on each claim of the gold answer, by the response; `retrieved2answer` and `retrieved2response`:
    on each claim of the gold answer and of the response, a list with each context's. As in RAGChecker a figure of no
    claims or no contexts is 0. A row is unscored where its columns differ in their number of claims or contexts.

    >>> columns = [[["Entailment", "Neutral"]], [["Entailment"]], [[["Entailment"]]], [[["Entailment"], ["Neutral"]]]]
    >>> claim_check(*columns).to_numpy().round(4), claim_check(*columns, figure="hallucination").to_pylist()
    (array([0.6667]), [0.5])
    """
    columns = (answer2response, response2answer, retrieved2answer, retrieved2response)
    fits, figures = once("claim_check", columns, lambda: _compute(*columns))
    scores = np.full(len(fits), np.nan)
    scores[fits] = figures[figure]
    return Rows(scores, np.where(fits, NOTHING, "the columns differ in their number of claims or contexts"))


def _compute(*columns: pa.Array) -> tuple[Array, dict[str, Array]]:
    """Which rows fit together, and each figure of these."""
    fits, least, most = np.ones(len(columns[0]), bool), np.full(len(columns[0]), MANY), np.zeros(len(columns[0]), int)
    for verdicts, by_context in (columns[::3], columns[1:3]):
        fits &= _sizes(verdicts) == _sizes(by_context)
        contexts, row = _sizes(by_context.flatten()), _owners(by_context)
        np.minimum.at(least, row, contexts)
        np.maximum.at(most, row, contexts)
    fits &= (least == most) | (least == MANY)
    return fits, _figures(most[fits], *(column.filter(from_numpy(fits)) for column in columns))


def _figures(
    contexts: Array,
    answer2response: pa.Array,
    response2answer: pa.Array,
    retrieved2answer: pa.Array,
    retrieved2response: pa.Array,
) -> dict[str, Array]:
    """Each figure of rows whose columns fit together, with so many contexts."""
    rows, starts = len(contexts), np.cumsum(contexts) - contexts
    correct, covered = _entailed(answer2response), _entailed(response2answer)
    claim_row, gold_row = _owners(answer2response), _owners(response2answer)

    def place(by_context: pa.Array, row: Array) -> tuple[Array, Array, Array]:
        """Of each verdict by a context: whether it is entailment, its claim, and its context, numbered over rows."""
        claims = by_context.flatten()
        claim, sizes = _owners(claims), _sizes(claims)
        position = np.arange(len(claim)) - (np.cumsum(sizes) - sizes)[claim]
        return _entailed(claims), claim, starts[row[claim]] + position

    useful, gold, context = place(retrieved2answer, gold_row)
    relevant = _any(context, useful, int(contexts.sum()))
    recalled = _any(gold, useful, len(covered))
    grounded, claim, context = place(retrieved2response, claim_row)
    from_relevant = _any(claim, grounded & relevant[context], len(correct))
    from_other = _any(claim, grounded & ~relevant[context], len(correct)) & ~from_relevant
    faithful = from_relevant | from_other

    def share(row: Array, part: Array, whole: Array | None = None) -> Array:
        return divide(_count(row, part, rows), _count(row, np.ones(len(part)) if whole is None else whole, rows))

    precision, recall = share(claim_row, correct), share(gold_row, covered)
    return {
        "precision": precision,
        "recall": recall,
        "f1": divide(2 * precision * recall, precision + recall),
        "claim_recall": share(gold_row, recalled),
        "context_precision": share(np.repeat(np.arange(rows), contexts), relevant) * (_sizes(response2answer) > 0),
        "context_utilization": share(gold_row, recalled & covered, recalled),
        "noise_sensitivity_in_relevant": share(claim_row, from_relevant & ~correct),
        "noise_sensitivity_in_irrelevant": share(claim_row, from_other & ~correct) * (_sizes(response2answer) > 0),
        "hallucination": share(claim_row, ~faithful & ~correct) * (contexts > 0),
        "self_knowledge": share(claim_row, ~faithful & correct) * (contexts > 0),
        "faithfulness": share(claim_row, faithful),
    }


def _entailed(lists: pa.Array) -> Array:
    return np.asarray(pc.equal(lists.flatten(), "Entailment").fill_null(False))


def _count(owner: Array, what: Array, size: int) -> Array:
    return np.bincount(owner, what.astype(np.float64), size)


def _any(owner: Array, what: Array, size: int) -> Array:
    return np.greater(_count(owner, what, size), 0)


def _sizes(lists: pa.Array) -> Array:
    return np.asarray(pc.list_value_length(lists).fill_null(0)).astype(np.int64)


def _owners(lists: pa.Array) -> Array:
    """The number of the list that each item is in."""
    return np.repeat(np.arange(len(lists)), _sizes(lists))
