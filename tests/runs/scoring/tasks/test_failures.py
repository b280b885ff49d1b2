"""Tasks that fail, processes that die, engines that yield too little: what failed is named, and nothing else fails."""

import os
import re
import subprocess
import sys
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children
from time import monotonic, sleep
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.core import errors
from karat.core.errors import DataError, KaratError, MissingExtra, RowError, SpecError
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import plan_run
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.scoring.tasks.engine import Failed
from karat.runs.scoring.tasks.local import Processes, _collect
from karat.runs.scoring.tasks.task import make_recipe, score_part
from karat.stats.inference import Inference

FILES, ROWS = 4, 5
BAD = 1  # the file with the row that the metrics below do not survive

METRICS = """
import time
import karat


class TwoArguments(Exception):
    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")


def reacts(prediction, react):
    if "bad" in prediction.to_pylist():
        react()
    return [1.0] * len(prediction)


def fail():
    raise TwoArguments(7, "no")


@karat.metric(source="ours")
def raising(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "Raises an error that cannot be unpickled."
    return reacts(prediction, fail)


@karat.metric(source="ours")
def hanging(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "Waits for a minute."
    return reacts(prediction, lambda: time.sleep(60))
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(parts_module, "LEAST_ROWS", 1)
    for at in range(FILES):
        texts = ["bad" if at == BAD else "good", *["good"] * (ROWS - 1)]
        pq.write_table(pa.table({"prediction": texts, "gold": ["good"] * ROWS}), tmp_path / f"{at}.parquet")
    return str(tmp_path / "*.parquet")


@pytest.fixture
def metrics(tmp_path, monkeypatch):
    (tmp_path / "metrics_that_fail.py").write_text(METRICS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import metrics_that_fail

    yield metrics_that_fail
    del sys.modules["metrics_that_fail"]


class Fails:
    """An engine all of whose tasks fail with an error."""

    name, workers = "fails", 4

    def __init__(self, error):
        self.error = error

    def run(self, _recipe, tasks, _advance):
        yield from (Failed(task, self.error) for task in tasks)


KINDS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, KaratError)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_of_a_task_keeps_its_kind_and_says_where(files, kind):
    error = kind("pandas", extra="pandas", need="a metric") if kind is MissingExtra else kind("wrong")
    with pytest.raises(kind, match=re.escape(str(error)) + r" \(in the task of .*0\.parquet, row group 0") as found:
        karat.score(files, "exact_match", engine=Fails(error))
    assert type(found.value) is kind


def test_an_error_that_cannot_be_unpickled_has_its_text(files, metrics):
    with pytest.raises(DataError, match=rf"^TwoArguments: 7: no \(in the task of .*{BAD}\.parquet"):
        karat.score(files, metrics.raising, engine=Processes(1))


def test_only_the_task_that_kills_its_process_fails(monkeypatch):
    def run_two_at_a_time(_self, _recipe, tasks):
        order = list(tasks)
        for at, task in enumerate(order):
            if BAD in order[at : at + 2]:
                raise BrokenProcessPool("a process died")
            yield SimpleNamespace(task=task)

    monkeypatch.setattr(Processes, "_run", run_two_at_a_time)
    came = list(Processes(2).run(None, dict.fromkeys(range(FILES)), None))
    (failed,) = [each for each in came if isinstance(each, Failed)]
    assert failed.task == BAD
    assert "its process died" in str(failed.error)
    assert sorted(each.task for each in came) == list(range(FILES))


def test_tasks_that_had_ended_when_a_process_died_are_not_done_again():
    pending = {Future(): at for at in range(20)}
    for future, at in pending.items():
        future.set_exception(BrokenProcessPool("a process died")) if at % 2 else future.set_result(at)
    came = []
    with pytest.raises(BrokenProcessPool):
        came.extend(_collect(pending))  # keeps what came before the error
    assert sorted(came) == list(range(0, 20, 2))


DIES = """
import os, signal
from pathlib import Path
import karat

if os.getpid() != PARENT and not Path(f"{__file__}.died").exists():
    Path(f"{__file__}.died").touch()
    os.kill(os.getpid(), signal.SIGKILL)

@karat.metric(source="ours", register=False)
def own(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "1."
    return [1.0] * len(prediction)
"""


def test_a_process_that_is_killed_while_it_starts_is_replaced(files, tmp_path, monkeypatch):
    (tmp_path / "metric_that_dies.py").write_text(DIES.replace("PARENT", str(os.getpid())))
    monkeypatch.syspath_prepend(str(tmp_path))
    from metric_that_dies import own

    assert karat.score(files, own, engine=Processes(1)).values["own"].scored == FILES * ROWS
    assert (tmp_path / "metric_that_dies.py.died").exists()


def planned(files, metric):
    plan = plan_run(Selection(files), [metric], Inference())
    return make_recipe(plan, None), plan.base.parts


def test_a_task_that_hangs_is_ended_when_the_others_stop(files, metrics):
    recipe, parts = planned(files, metrics.hanging)
    before = active_children()
    came = Processes(2).run(recipe, dict(enumerate(parts)), lambda _: None)
    for _ in range(FILES - 1):
        next(came)
    came.close()
    end = monotonic() + 20
    while left := [each for each in active_children() if each not in before]:
        assert monotonic() < end, left
        sleep(0.05)


def test_processes_of_a_script_without_a_guard_say_what_to_write(files):
    script = f"import karat; karat.score({files!r}, 'exact_match', engine='processes')"
    ended = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, check=False)
    assert "SpecError: a process ended before its first task" in ended.stderr
    assert 'write `if __name__ == "__main__":` around the call, or use engine="threads"' in ended.stderr


class YieldsOne:
    name, workers = "one", 4

    def run(self, recipe, tasks, advance):
        yield score_part(recipe, 0, tasks[0], advance)


def test_an_engine_that_yields_too_little_is_an_error(files):
    with pytest.raises(SpecError, match=r"ended without a result of the task of .*1\.parquet"):
        karat.score(files, "exact_match", engine=YieldsOne())


def test_tasks_may_not_fail_where_a_condition_selects_their_rows(files):
    with pytest.raises(SpecError, match=r"max_failed_tasks .* where"):
        karat.score(files, "exact_match", engine="threads", where="prediction = 'good'", max_failed_tasks=1)


@pytest.mark.parametrize("engine", [None, "threads"])
def test_a_bad_number_is_named_by_its_row_in_the_file(files, tmp_path, engine):
    for at, cells in enumerate([["1", "2", "3"], ["4", "5", "six"]]):
        pq.write_table(pa.table({"id": [1, 0, 1], "n": cells}), tmp_path / f"n{at}.parquet")
    with pytest.raises(RowError, match=r"row 6\D(?!.*of those scored)"):
        karat.score(str(tmp_path / "n*.parquet"), "column(n)", where="id = 1", engine=engine)


def test_bad_json_is_named_by_its_row_in_the_file(tmp_path):
    path = tmp_path / "answers.jsonl"
    cells = ["1.0", "2.0", "3.0", '{"a": 1}']
    lines = (f'{{"id": {at}, "prediction": {cell}, "gold": "x", "n": {cell}}}' for at, cell in enumerate(cells))
    path.write_text("\n".join(lines))
    for where in (None, "id <> 1"):
        with pytest.raises(RowError, match=r"row 4, column .prediction.: expected text"):
            karat.score(path, "exact_match", where=where)
        with pytest.raises(RowError, match=rf"^{re.escape(str(path))}, row 4, column 'n': expected text"):
            karat.score(path, "column(n)", where=where)
