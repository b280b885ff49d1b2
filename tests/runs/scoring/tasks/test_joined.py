"""Predictions joined with gold in tasks: the same bits as joined and scored row by row."""

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.data.join import join as join_module
from karat.data.join import parts as joined_parts
from karat.errors import DataError, JoinError, SpecError
from karat.runs.scoring.tasks import buckets as buckets_module
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.scoring.tasks.engine import Failed
from karat.runs.scoring.tasks.local import Processes, Threads
from karat.runs.scoring.tasks.task import score_part

ROWS, METRICS = 3_000, ["exact_match", "token_f1", "bleu"]


@cache
def make_tables(*, shuffled):
    """Gold and predictions, in the same order or not."""
    random = np.random.default_rng(5)
    words = np.array(["the", "cat", "sat", "on", "Zürich", ""])
    texts = [" ".join(words[random.integers(0, 6, size)]) for size in random.integers(1, 7, ROWS)]
    ids = random.permutation(ROWS)
    gold = {"id": ids, "answer": texts, "topic": [f"t{at % 4}" for at in ids], "document": [at // 7 for at in ids]}
    answered = np.delete(np.arange(ROWS), [5, 99, 2_000])
    if shuffled:
        answered = random.permutation(answered)
    predictions = {
        "key": [str(ids[at]) for at in answered] + ["none"],
        "prediction": [None if at % 23 == 3 else texts[at - at % 3] for at in answered] + ["x"],
        "seconds": random.gamma(2, 1, len(answered) + 1) * 1e6,
    }
    return pa.table(gold), pa.table(predictions)


@pytest.fixture(params=["same", "shuffled", "buckets"])
def files(request, tmp_path, monkeypatch):
    """The arguments of a joined scoring: gold and predictions in several files.

    They are in the same order, or shuffled, or shuffled and so large that they are joined in buckets.
    """
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(parts_module, "LEAST_ROWS", 1)
    monkeypatch.setattr(joined_parts, "BATCH_ROWS", 1)
    if request.param == "buckets":
        monkeypatch.setattr(join_module, "GOLD_BYTES", 0)
        monkeypatch.setattr(buckets_module, "BUCKET_BYTES", 20_000)
    gold, predictions = make_tables(shuffled=request.param != "same")
    for name, table, cut in (("gold", gold, 1_300), ("predictions", predictions, 611)):
        pq.write_table(table.slice(0, cut), tmp_path / f"{name}0.parquet", row_group_size=300)
        pq.write_table(table.slice(cut), tmp_path / f"{name}1.parquet", row_group_size=300)
    return {
        "data": str(tmp_path / "predictions*.parquet"),
        "gold": str(tmp_path / "gold*.parquet"),
        "on": "key=id",
        "metrics": METRICS,
    }


SETTINGS = [{}, {"by": "topic"}, {"cluster": "document"}, {"where": "topic <> 't3'", "by": "topic"}]


@pytest.mark.parametrize("settings", SETTINGS, ids=["plain", "groups", "clusters", "condition"])
def test_tasks_give_the_bits_of_the_join_row_by_row(files, settings):
    expected, seen = karat.score(**files, **settings, keep=True).as_dict(), []
    assert expected["joined"]["missing_ids"][0] is not None
    progress = lambda *rows: seen.append(rows)  # noqa: E731
    assert karat.score(**files, **settings, engine=Threads(2), progress=progress).as_dict() == expected
    assert seen[-1] == (ROWS, ROWS)


@pytest.mark.parametrize("engine", [None, Threads(2)], ids=["rows", "threads"])
@pytest.mark.parametrize("settings", [{}, {"where": "topic <> 't3'"}, {"id": "id"}], ids=["plain", "condition", "id"])
def test_gold_without_a_prediction_is_unscored_where_a_null_is_an_answer(files, engine, settings):
    metric = "answered(null='declines')"
    result = karat.score(**files | {"metrics": metric}, **settings, engine=engine, keep=engine is None)
    unscored = 3 if "where" not in settings else sum(int(key) % 4 != 3 for key in result.joined["missing_ids"])
    assert result.values[metric].n - result.values[metric].scored == unscored
    assert result.reasons == {metric: {"prediction is null": unscored}}


def test_processes_join_as_threads_do(files):
    files["metrics"] = [*files["metrics"], "answered(null='declines')"]  # gold without a prediction is unscored in each
    expected = karat.score(**files, keep=True).as_dict()
    assert karat.score(**files, engine=Processes(2)).as_dict() == expected


def test_a_joined_run_in_parts_has_the_rows_of_one_in_a_file(files):
    parts = karat.score(**files, by="topic", run="parts", engine="threads").run
    one = karat.score(**files, by="topic", run="one", keep=True).run
    assert len(parts.files) > 2
    assert parts.values == one.values
    assert parts.schema == one.schema
    assert parts.read(parts.schema.names).equals(one.read(one.schema.names))


class Elsewhere:
    """An engine whose workers see no folder of this machine; it stops after some tasks."""

    name, workers = "elsewhere", 4

    def __init__(self, after=99):
        self.after, self.done = after, []

    def run(self, recipe, tasks, advance):
        for task, part in tasks.items():
            if len(self.done) == self.after:
                yield Failed(task, OSError("stopped"))
                return
            self.done.append(task)
            yield score_part(recipe, task, part, advance)


def test_an_engine_of_other_machines_reads_the_files_of_the_predictions(files):
    expected = karat.score(**files, keep=True).as_dict()
    assert karat.score(**files, engine=Elsewhere()).as_dict() == expected


def test_a_joined_run_goes_on_where_it_was_stopped(files):
    with pytest.raises(DataError, match="stopped"):
        karat.score(**files, run="a", engine=Elsewhere(3))
    rest = Elsewhere()
    resumed = karat.score(**files, run="a", engine=rest, resume=True)
    assert rest.done[0] == 3
    assert resumed.as_dict() == karat.score(**files, keep=True).as_dict()


def test_a_joined_run_does_not_go_on_with_other_predictions(files, tmp_path):
    with pytest.raises(DataError, match="stopped"):
        karat.score(**files, run="a", engine=Elsewhere(3))
    path = tmp_path / "predictions1.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(DataError, match=r"predictions1\.parquet has changed since; resume with the same files"):
        karat.score(**files, run="a", engine="threads", resume=True)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("predictions1", r"'key': expected every id once, found '\d+' in rows \d+, 299"),
        ("gold0", "'id': the id is null or empty in row 2; expected"),
    ],
)
def test_ids_that_are_null_or_not_unique_are_refused(files, tmp_path, name, problem):
    path = tmp_path / f"{name}.parquet"
    table = pq.read_table(path)
    if name == "gold0":
        ids = pa.array([7, None, *range(3_000, 4_298)])
        table = table.set_column(0, "id", ids)
    pq.write_table(pa.concat_tables([table, table.slice(9, 1)]), path)
    with pytest.raises(JoinError, match=problem):
        karat.score(**files, engine="threads")


def test_the_first_error_in_a_large_join_names_where_it_was(files, tmp_path, monkeypatch):
    monkeypatch.setattr(join_module, "GOLD_BYTES", 0)
    monkeypatch.setattr(buckets_module, "BUCKET_BYTES", 20_000)

    @karat.metric(source="ours", register=False)
    def wrong(prediction: karat.kinds.Text) -> karat.kinds.Score:
        """Fails."""
        raise ZeroDivisionError("oh")

    with pytest.raises(DataError, match=r"ZeroDivisionError: oh \(in the task of bucket \d of ids"):
        karat.score(**files | {"metrics": wrong}, engine=Threads(1))
    monkeypatch.setattr(
        Threads, "run", lambda _, recipe, tasks, advance: iter([Failed(max(tasks), OSError("no disk"))])
    )
    with pytest.raises(DataError, match=r"no disk \(in the task of .*predictions1\.parquet, row group"):
        karat.score(**files, engine=Threads(1))


def test_gold_that_is_not_in_parquet_files_says_so(files):
    with pytest.raises(SpecError, match="is not in Parquet files"):
        karat.score(**{**files, "gold": {"id": ["1"], "answer": ["x"]}}, engine="threads")
