"""A run that is not finished is a run: what is scored of it is read, shown and compared."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.errors import DataError
from karat.runs.compare.run_values import value_of
from karat.runs.scoring.tasks import batches as scored_batches
from karat.runs.store import tail
from karat.runs.store.run import open_run

N = 60
TABLE = pa.table(
    {
        "id": list(range(N)),
        "topic": [f"t{row % 3}" for row in range(N)],
        "prediction": [None if row % 11 == 5 else f"word{row % 4} of {row}" for row in range(N)],
        "gold": [[f"word{row % 5}"] if row % 13 else [] for row in range(N)],
    }
)
METRICS = ["exact_match", "token_f1", "bleu"]
pytestmark = pytest.mark.usefixtures("folder")


class Stop(Exception):
    pass


def stop(rows, run="a"):
    def progress(done, _):
        if done > 30:
            raise Stop

    with pytest.raises(Stop):
        karat.score(rows, METRICS, run=run, progress=progress)


def test_the_rows_of_a_run_that_is_not_finished_are_read_and_compared(tmp_path, monkeypatch):
    pq.write_table(TABLE, path := tmp_path / "rows.parquet")
    whole = karat.score(path, METRICS, run="whole").run

    monkeypatch.setattr(scored_batches, "_SCORES", 7 * len(METRICS))
    stop(path)
    run = open_run("a")
    n = run.manifest.n
    assert (n, run.unscored, run.state) == (35, N - 35, "stopped")
    assert (
        run.note
        == f"run a was not finished: {n} of {N} rows are scored; the same command with --resume scores the others"
    )
    for spec in METRICS:
        np.testing.assert_array_equal(run.statistics(spec), whole.statistics(spec)[:n])
    assert run.read(whole.schema.names[:4]).equals(whole.read(whole.schema.names[:4]).slice(0, n))
    value = value_of(run, "exact_match")
    assert (value.n, value.scored) == (N, np.isfinite(run.scores("exact_match")).sum())
    assert value.worst <= value.value < value.best
    compared = karat.compare(run, whole, metrics="exact_match", common=True)
    assert run.note in compared.notes
    assert compared.n == n


def test_a_run_of_which_nothing_is_written_yet_has_no_rows(folder):
    stop(TABLE.to_reader(max_chunksize=7))
    shutil.rmtree(folder / ".a.partial" / "states")
    with pytest.raises(
        DataError, match="run a was not finished, and none of its rows is written yet: continue it with"
    ):
        open_run("a")


@pytest.mark.parametrize(("most", "parts"), [(1 << 20, []), (2000, [28, 28, 4])])
def test_bytes_alone_decide_which_rows_are_in_a_part(folder, monkeypatch, most, parts):
    monkeypatch.setattr(tail, "MOST_BYTES", most)
    often = karat.score(TABLE.to_reader(max_chunksize=7), METRICS, run="often").run
    stop(TABLE.to_reader(max_chunksize=7), "stopped")
    karat.score(TABLE.to_reader(max_chunksize=7), METRICS, run="stopped", resume=True)
    monkeypatch.setattr(tail, "MIN_SECONDS", 1e9)
    seldom = karat.score(TABLE.to_reader(max_chunksize=7), METRICS, run="seldom").run
    assert often.values == seldom.values
    for name in ("often", "stopped", "seldom"):
        files = sorted((folder / name / "rows").glob("part-*")) if parts else [folder / name / "rows.parquet"]
        assert [pq.read_metadata(file).num_rows for file in files] == (parts or [N])
