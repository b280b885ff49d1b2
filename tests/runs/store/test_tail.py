"""What is written of a run while its rows are scored one after the other."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.runs.scoring import pipeline
from karat.runs.store import tail
from karat.runs.store.run import open_run

N = 60
METRICS = ["exact_match", "bleu"]
TABLE = pa.table({"prediction": [f"word{row % 4}" for row in range(N)], "gold": [f"word{row % 5}" for row in range(N)]})


pytestmark = pytest.mark.usefixtures("folder")


class Stop(Exception):
    pass


def stop(run):
    def progress(done, _):
        if done > N // 2:
            raise Stop

    with pytest.raises(Stop):
        karat.score(TABLE.to_reader(max_chunksize=7), METRICS, run=run, progress=progress)


def test_rows_that_are_on_the_disk_are_not_written_again_until_the_part_ends(folder):
    stop("a")
    written = sorted((folder / ".a.partial" / "run" / "rows").iterdir())
    assert [pq.read_metadata(file).num_rows for file in written] == [7] * 5
    assert len(list((folder / ".a.partial" / "states").iterdir())) == 1
    part = open_run("a")
    assert part.manifest.n == len(part.scores("exact_match")) == len(part.statistics("bleu")) == 35
    karat.score(TABLE.to_reader(max_chunksize=9), METRICS, run="a", resume=True)
    whole, resumed = karat.score(TABLE, METRICS, run="whole").run, open_run("a")
    assert resumed.values == whole.values
    assert sorted(path.name for path in (folder / "a").iterdir()) == sorted(path.name for path in whole.path.iterdir())
    for spec in METRICS:
        np.testing.assert_array_equal(resumed.statistics(spec), whole.statistics(spec))


@pytest.mark.parametrize("most", [1 << 20, 500])
def test_a_run_of_which_all_rows_are_written_is_finished(folder, monkeypatch, most):
    monkeypatch.setattr(tail, "MOST_BYTES", most)
    monkeypatch.setattr(tail, "MOST_FILES", 4)
    whole = karat.score(TABLE.to_reader(max_chunksize=7), METRICS, run="whole").run
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "summarise_run", raise_stop)
        with pytest.raises(Stop):
            karat.score(TABLE.to_reader(max_chunksize=7), METRICS, run="a")
    written = sorted((folder / ".a.partial" / "run" / "rows").iterdir())
    assert sum(pq.read_metadata(file).num_rows for file in written) == N
    assert len(written) < 9, "each batch is written, and several files of a part become one"
    resumed = karat.score(TABLE.to_reader(max_chunksize=7), METRICS, run="a", resume=True).run
    assert resumed.values == whole.values
    rows = [[pq.read_metadata(file).num_rows for file in run.files] for run in (resumed, whole)]
    assert rows[0] == rows[1]
    np.testing.assert_array_equal(resumed.statistics("bleu"), whole.statistics("bleu"))


def raise_stop(*_):
    raise Stop


def test_rows_that_people_labelled_count_once_where_a_run_goes_on(monkeypatch):
    table = TABLE.append_column("people", pa.array([None if row % 3 else row % 2 for row in range(N)], pa.float64()))
    monkeypatch.setattr(tail, "MOST_BYTES", 500)
    settings = {"human": "people"}
    whole = karat.score(table, ["exact_match"], **settings)
    with pytest.raises(Stop):
        karat.score(table.to_reader(max_chunksize=7), ["exact_match"], run="a", progress=raise_late, **settings)
    resumed = karat.score(table.to_reader(max_chunksize=7), ["exact_match"], run="a", resume=True, **settings)
    assert resumed.corrected == whole.corrected
    assert resumed.values == whole.values


def raise_late(done, _):
    if done > N // 2:
        raise Stop
