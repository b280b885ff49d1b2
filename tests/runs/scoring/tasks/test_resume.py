"""A run in parts that was stopped goes on whole: with the same columns, all of its files, and nothing else."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.errors import DataError
from karat.runs.scoring import pipeline
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.scoring.tasks.task import score_part
from karat.runs.store import writer as store
from karat.runs.store.folders import partial_folder, run_folder

METRICS = ["exact_match", "bleu"]
FILES = 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of three files with a few rows each."""
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(parts_module, "LEAST_ROWS", 1)
    for at in range(FILES):
        rows = {"prediction": ["a b c d", f"e {at}", "x"], "gold": ["a b c d", "e f", "y"]}
        pq.write_table(pa.table(rows), tmp_path / f"{at}.parquet")
    return tmp_path


def score(folder, **settings):
    return karat.score(str(folder / "*.parquet"), METRICS, **settings)


class Stops:
    """An engine that carries out some tasks, and then fails; `done` are those that it carried out."""

    name, workers = "stops", 4

    def __init__(self, after=FILES):
        self.after, self.done = after, []

    def run(self, recipe, tasks, advance):
        for task, part in tasks.items():
            if len(self.done) == self.after:
                raise DataError("the disk is full")
            self.done.append(task)
            yield score_part(recipe, task, part, advance)


def stop(folder, after):
    with pytest.raises(DataError, match="the disk is full"):
        score(folder, run="a", engine=Stops(after))
    return partial_folder(run_folder("a"))


def test_a_new_column_is_named_even_of_a_file_without_rows(folder):
    stop(folder, 1)
    rows = pq.read_table(folder / "0.parquet")
    pq.write_table(rows.append_column("extra", pa.array([1, 2, 3])).slice(0, 0), folder / "9.parquet")
    with pytest.raises(DataError, match=r"started with other column 'extra': None; now 'int64'"):
        score(folder, run="a", engine="threads", resume=True)
    (folder / "9.parquet").unlink()
    assert score(folder, run="a", engine="threads", resume=True).n == 3 * FILES


@pytest.mark.parametrize("kind", ["rows", "statistics"])
@pytest.mark.parametrize("damage", ["lost", "cut"])
def test_a_part_whose_files_are_not_whole_is_scored_again(folder, kind, damage):
    path = stop(folder, 2) / "run" / kind / "part-000001.parquet"
    if damage == "lost":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-9])
    rest = Stops()
    score(folder, run="a", engine=rest, resume=True)
    assert rest.done == [1, 2]
    score(folder, run="b", engine="threads")
    for file in run_folder("b").rglob("part-*"):
        assert (run_folder("a") / file.relative_to(run_folder("b"))).read_bytes() == file.read_bytes()


def test_files_of_killed_writers_are_not_in_the_finished_run(folder):
    leftover = stop(folder, 1) / "run" / "rows" / ".part-000001.parquet.12345678.new"
    leftover.write_bytes(b"PAR1")
    run = score(folder, run="a", engine="threads", resume=True).run
    assert sorted(path.name for path in (run.path / "rows").iterdir()) == [f"part-{at:06}.parquet" for at in range(3)]


@pytest.mark.parametrize("least", [1, 99], ids=["parts", "one file"])
@pytest.mark.parametrize(("where", "rows"), [("gold = 'none'", 0), ("prediction = 'e 1'", 1)])
def test_runs_and_parts_without_rows_have_their_counts(folder, monkeypatch, least, where, rows):
    monkeypatch.setattr(parts_module, "LEAST_ROWS", least)
    run = score(folder, where=where, run="a").run
    assert run.statistics("exact_match").shape == (rows, 1)
    found = run.statistics("bleu")
    assert len(found) == rows
    assert found.shape[1] >= 1


def test_a_run_goes_on_as_it_was_started_in_tasks_or_not(folder, monkeypatch):
    whole = score(folder, run="whole", engine="threads").run
    stop(folder, 1)
    monkeypatch.setattr(parts_module, "LEAST_ROWS", 99)
    resumed = score(folder, run="a", resume=True).run
    assert sorted(resumed.manifest.files) == sorted(whole.manifest.files)
    assert resumed.values == whole.values

    def stopped(*_):
        raise DataError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "summarise_run", stopped)
        with pytest.raises(DataError, match="the disk is full"):
            score(folder, run="b")
    with pytest.warns(UserWarning, match="run b was started without tasks, and goes on without: engine 'threads'"):
        in_order = score(folder, run="b", engine="threads", resume=True).run
    assert in_order.values == whole.values
    assert "rows.parquet" in in_order.manifest.files


def test_a_run_in_tasks_does_not_go_on_where_its_rows_are_to_be_written_to_one_file(folder):
    stop(folder, 1)
    with pytest.raises(karat.errors.SpecError, match="run a was started in tasks, but rows are written to one file"):
        score(folder, run="a", resume=True, output=folder / "rows.csv")


def test_a_run_of_more_parts_than_names_is_refused(folder, monkeypatch):
    monkeypatch.setattr(store, "MOST_PARTS", 2)
    with pytest.raises(DataError, match=r"run a: expected at most 2 parts, found 3; put the rows into fewer files"):
        score(folder, run="a", engine="threads")
    assert not partial_folder(run_folder("a")).exists()
