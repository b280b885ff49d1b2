"""Many metrics of one call: batches are cut so that memory is bounded, and too many are refused."""

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat.errors import SpecError
from karat.runs.scoring.tasks import batches
from karat.runs.store import tail

N = 60
ROWS = pa.table(
    {
        "id": [f"q{row}" for row in range(N)],
        "group": [f"g{row % 3}" for row in range(N)],
        "gold": [f"word{row % 5} and {row % 7}" for row in range(N)],
        "prediction": [None if row % 11 == 5 else f"word{row % 4} and {row % 7}" for row in range(N)],
        "score": np.random.default_rng(0).random(N),
    }
)
METRICS = ["exact_match", "token_f1", "bleu", "rouge_l", "column(score)"]


class Stop(Exception):
    pass


@pytest.mark.parametrize("scores", [1, 7 * len(METRICS), 19 * len(METRICS)])
@pytest.mark.parametrize("stopped", [None, 11, 24])
def test_batches_that_are_cut_give_the_same(tmp_path, monkeypatch, scores, stopped):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    for name in ("MIN_SECONDS", "MIN_SHARE", "PAUSE"):
        monkeypatch.setattr(tail, name, 0.0)

    def score(run, **options):
        table = ROWS.to_reader(max_chunksize=27)
        return karat.score(table, METRICS, by="group", run=run, keep=True, **options)

    def stop(done, _):
        if stopped and done >= stopped:
            raise Stop

    whole = score("whole")
    monkeypatch.setattr(batches, "_SCORES", scores)
    if stopped:
        with pytest.raises(Stop):
            score("cut", progress=stop)
    cut = score("cut", resume=True)
    assert cut.as_dict() == whole.as_dict()
    assert cut.table.equals(whole.table)
    assert cut.run.read(cut.run.schema.names) == whole.run.read(whole.run.schema.names)
    assert np.array_equal(cut.run.statistics("bleu"), whole.run.statistics("bleu"), equal_nan=True)


def test_no_batch_holds_more_scores_than_is_said(monkeypatch):
    monkeypatch.setattr(batches, "_SCORES", 100)
    sizes, real = [], batches.compute_rows
    monkeypatch.setattr(
        batches,
        "compute_rows",
        lambda metrics, columns, *more: (
            sizes.append(len(next(iter(columns.values())))) or real(metrics, columns, *more)
        ),
    )
    metrics = [f"column(score, low={-at})" for at in range(30)]
    assert len(karat.score(ROWS, metrics).values) == 30
    assert (max(sizes), sum(sizes)) == (100 // 30, N)


def test_too_many_metrics_are_refused():
    metrics = [f"column(score, low={-at})" for at in range(1001)]
    with pytest.raises(SpecError, match="1001 metrics are given; at most 1000 are scored at a time: use several calls"):
        karat.score(ROWS, metrics)
