"""Totals of a table's parts are those of the table, whatever the parts, and as bytes too."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat.core.metric.rows import Rows
from karat.core.metric.score import complete_rows, compute_rows
from karat.errors import DataError
from karat.runs.columns.groups import MAX_GROUPS
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import plan_run
from karat.runs.scoring.totals.totals import CHECKSUM, FORMAT, HEAD, Totals
from karat.stats.inference import Inference

METRICS = ["exact_match", "token_f1", "bleu", "ndcg@3"]
ROWS = 20_000  # more than are kept apart


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(5)
    words = np.array(["a", "cat", "sat", "on", "mats", "of", "red"])
    texts = [" ".join(words[random.integers(7, size=4)]) for _ in range(40)]
    picks = random.integers(40, size=(2, ROWS))
    ids = [[f"d{each}" for each in row] for row in random.permuted(np.tile(np.arange(6), (ROWS, 1)), axis=1)]
    return pa.table(
        {
            "prediction": pa.array([texts[at] for at in picks[0]], mask=random.random(ROWS) < 0.05),
            "reference": [texts[at] for at in picks[1]],
            "retrieved": [row[:4] for row in ids],
            "relevant": [row[3:5] for row in ids],
            "topic": [f"t{each}" for each in random.integers(5, size=ROWS)],
            "author": [f"a{each}" if each else None for each in random.integers(900, size=ROWS)],
        }
    )


def score_all(table, **how):
    plan = plan_run(Selection(table, **how), METRICS, Inference(seed=3))
    batch = table.combine_chunks().to_batches()[0]
    columns = plan.role_columns(batch)
    return plan, batch, complete_rows(plan.metrics, columns, compute_rows(plan.metrics, columns))


def totals_of(plan, batch, scored, cut):
    """The totals of the rows between the first and the last cut, added in batches that end at each."""
    totals = Totals(plan)
    for start, end in pairwise(cut):
        parts = [
            Rows(rows.statistics[start:end], None if rows.reasons is None else rows.reasons[start:end])
            for rows in scored
        ]
        numbers = np.arange(start, end, dtype=np.uint64)
        totals.add(batch.slice(start, end - start), parts, {"documents": Counter(seen=end - start)}, numbers)
    return totals


def found(totals):
    """What a result has of totals, in their order."""
    metrics = [
        (
            spec,
            each.whole.value().as_dict(),
            list(each.whole.reasons.items()),
            [(label, total.value().as_dict(), dict(total.reasons)) for label, total in each.groups.items()],
            list(each.labels.items()),
        )
        for spec, each in totals.metrics.items()
    ]
    return totals.n, totals.counted, metrics


@pytest.mark.parametrize("how", [{}, {"by": "topic", "cluster": "author"}], ids=["rows", "groups of clusters"])
def test_parts_merged_as_bytes_are_the_whole(table, how):
    plan, batch, scored = score_all(table, **how)
    whole = totals_of(plan, batch, scored, [0, ROWS])
    expected = found(whole)
    random = np.random.default_rng(0)
    for parts in (2, 7):
        cuts = [0, *sorted(random.integers(ROWS, size=3 * parts - 1).tolist()), ROWS]
        states = [totals_of(plan, batch, scored, cuts[at : at + 4]).to_bytes() for at in range(0, len(cuts) - 1, 3)]
        merged = Totals(plan)
        for state in states:
            merged.merge_bytes(state)
        assert found(merged) == expected
        assert merged.to_bytes() == whole.to_bytes()
        mixed = Totals(plan)
        for at in random.permutation(len(states)):
            mixed.merge_bytes(states[at])
        for spec, each in mixed.metrics.items():
            assert each.whole.value() == whole.metrics[spec].whole.value()
            assert np.array_equal(each.whole.units[0].sums, whole.metrics[spec].whole.units[0].sums)


@pytest.mark.parametrize("how", [{}, {"by": "topic"}, {"cluster": "author"}], ids=str)
def test_a_score_is_the_same_bits_in_batches_of_any_size(table, how):
    whole = karat.score(table, METRICS, **how)
    random = np.random.default_rng(1)
    cut = [0, *sorted(random.integers(ROWS, size=30).tolist()), ROWS]
    batches = [table.slice(a, b - a).combine_chunks().to_batches() for a, b in pairwise(cut)]
    parts = karat.score(pa.Table.from_batches([each for some in batches for each in some]), METRICS, **how)
    assert parts.values == whole.values
    assert parts.groups == whole.groups


def small(metrics="exact_match", topics=range(4), first=0, **how):
    rows = [{"prediction": "a", "reference": "a", "topic": f"t{at}"} for at in topics]
    plan = plan_run(Selection(rows, **how), metrics, Inference())
    totals = Totals(plan)
    for numbers, batch in plan.source.numbered_batches():
        columns = plan.role_columns(batch)
        totals.add(
            batch, complete_rows(plan.metrics, columns, compute_rows(plan.metrics, columns)), Counter(), numbers + first
        )
    return totals


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (b"PAR1", "begin with b'PAR1'"),
        (b"", "begin with b''"),
        (small().to_bytes()[:-1], "damaged"),
        (small().to_bytes()[:30], "damaged"),
        (HEAD + FORMAT + blake2b(b"", digest_size=CHECKSUM).digest(), "damaged"),
        (small().to_bytes().replace(HEAD + FORMAT, HEAD + b"9\n"), "of format b'9"),
        (small("token_f1").to_bytes(), r"metrics \[\['exact_match', .* found them with \[\['token_f1'"),
        (small(by="topic").to_bytes(), "by None expected, found them with 'topic'"),
    ],
    ids=["other file", "empty", "cut", "cut short", "nothing", "format", "metrics", "groups"],
)
def test_bytes_that_are_no_totals_of_these_metrics_are_refused(state, words):
    totals = small()
    with pytest.raises(DataError, match=words):
        totals.merge_bytes(state)
    assert totals.n == 4


def test_a_byte_that_changed_is_found():
    state = bytearray(small().to_bytes())
    state[-20] ^= 1
    with pytest.raises(DataError, match="damaged"):
        small().merge_bytes(bytes(state))


def test_parts_have_no_more_groups_than_a_table():
    totals = small(topics=range(MAX_GROUPS), by="topic")
    totals.merge_bytes(small(topics=[1, 2], by="topic", first=MAX_GROUPS).to_bytes())
    with pytest.raises(DataError, match="'topic' has more than 1,000 values"):
        totals.merge_bytes(small(topics=[MAX_GROUPS], by="topic", first=2 * MAX_GROUPS).to_bytes())
