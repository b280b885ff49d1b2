"""Files of runs that were damaged: each read gives an error that names the file, or what was written."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat import KaratError
from karat.cli.main import main
from karat.cli.options.printed import load_schema
from karat.data.storage import checksums
from karat.errors import DataError
from karat.runs.scoring.tasks import parts
from karat.runs.scoring.tasks.local import Threads
from karat.runs.store.folders import run_folder
from karat.runs.store.run import open_run
from karat.runs.store.verify import verify_run

Draft202012Validator = pytest.importorskip("jsonschema").Draft202012Validator

FLIPS = int(os.environ.get("KARAT_FLIPS", "24"))  # a file
N = 60
TABLE = pa.table(
    {
        "id": [f"q{row}" for row in range(N)],
        "topic": [f"t{row % 3}" for row in range(N)],
        "doc": [row // 4 for row in range(N)],
        "prediction": [None if row % 11 == 5 else f"word{row % 4} of {row}" for row in range(N)],
        "gold": [[f"word{row % 5}"] for row in range(N)],
        "vote": [1.0 if row % 9 == 0 else None for row in range(N)],
    }
)
METRICS = ["exact_match", "bleu"]
pytestmark = pytest.mark.usefixtures("folder")


class Stop(Exception):
    pass


def score(table=TABLE, name="a", *, stop=False, **options):
    """Score a table as a run, or stop in the middle of it."""

    def progress(done, _):
        if stop and done > N // 2:
            raise Stop

    return karat.score(table.to_reader(max_chunksize=10), METRICS, run=name, progress=progress, **options)


def stop(**options):
    with pytest.raises(Stop):
        score(stop=True, **options)


def content(run):
    """All that is read of a run."""
    counts = [run.statistics(spec).tobytes() for spec in run.specs]
    return run.values, run.read(run.schema.names), counts, run.manifest


def attempt(read):
    """What is read, or the message of the error."""
    try:
        return read(), None
    except KaratError as error:
        return None, str(error)


def flips(folder):
    """Places in the files of a folder, spread evenly, and bits to flip there."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        for at in sorted({*np.linspace(0, size - 1, FLIPS).astype(int).tolist(), size - 1}):
            yield path, at, 1 << (at % 8)


def flip(path, at, bits):
    damaged = bytearray(path.read_bytes())
    damaged[at] ^= bits
    path.write_bytes(damaged)


def test_a_byte_flipped_in_any_file_of_a_run_is_an_error_that_names_the_file():
    run = score(by="topic").run
    expected, errors = content(run), 0
    for path, at, bits in flips(run.path):
        whole = path.read_bytes()
        flip(path, at, bits)
        found, problem = attempt(lambda: content(open_run("a")))
        if problem:
            errors += 1
            assert path.name in problem, (path, at)
            assert path.name in str(verify_run("a"))
        else:
            assert found == expected, (path, at)
        path.write_bytes(whole)
    assert errors > 3 * FLIPS
    assert str(verify_run("a")) == "4 files, all as they were written"


def check_resumed(resume, whole):
    """A byte is flipped in each file of a stopped run, which then gives an error, or what a whole run gives."""
    expected, folder = content(whole)[:3], run_folder("a").parent
    shutil.copytree(folder, kept := folder.with_name("stopped"))
    errors = 0
    for path, at, bits in flips(kept):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        flip(damaged := folder / path.relative_to(kept), at, bits)
        found, problem = attempt(lambda: resume() and content(open_run("a"))[:3])
        if problem:
            errors += 1
            assert damaged.name in problem, (path, at)
        else:
            assert found == expected, (path, at)
    assert errors > FLIPS


def test_a_byte_flipped_in_a_stopped_run_is_an_error_or_changes_nothing():
    whole = score(name="whole", by="topic").run
    whole.path.rename(whole.path.parent.with_name("whole"))
    stop(by="topic")
    assert str(verify_run("a")).endswith("files, all as they were written")
    check_resumed(lambda: score(resume=True, by="topic"), open_run(whole.path.parent.with_name("whole")))


def test_a_byte_flipped_in_a_run_that_was_stopped_between_parts(tmp_path, monkeypatch):
    class Stops(Threads):
        def run(self, recipe, tasks, advance):
            yield from super().run(recipe, {task: tasks[task] for task in list(tasks)[:2]}, advance)
            raise Stop

    monkeypatch.setattr(parts, "TASK_ROWS", N // 4)
    monkeypatch.setattr(parts, "LEAST_ROWS", 1)
    pq.write_table(TABLE, rows := tmp_path / "rows.parquet", row_group_size=N // 4)
    whole = karat.score(rows, METRICS, engine="threads", run="whole", by="topic").run
    whole.path.rename(whole.path.parent.with_name("whole"))
    with pytest.raises(Stop):
        karat.score(rows, METRICS, engine=Stops(), run="a", by="topic")
    verified = verify_run("a")
    assert (verified.files, verified.problems) == (2 + 2 * 3, [])  # of each part its state, rows and counts
    check_resumed(
        lambda: karat.score(rows, METRICS, engine="threads", run="a", by="topic", resume=True),
        open_run(whole.path.parent.with_name("whole")),
    )


CHANGES = [
    ("topic", {"by": "topic"}),
    ("doc", {"cluster": "doc"}),
    ("doc", {"where": "doc >= 0 OR topic = 'none'"}),
    ("id", {}),
    ("gold", {}),
    ("vote", {"human": "vote", "on": "id"}),
]


@pytest.mark.parametrize(("column", "options"), CHANGES)
def test_a_column_on_which_the_result_rests_and_that_has_changed_is_not_resumed(column, options):
    stop(**options)
    at, values = TABLE.schema.get_field_index(column), TABLE[column].to_pylist()
    changed = TABLE.set_column(at, TABLE.schema.field(column), [[values[11], *values[1:]]])
    with pytest.raises(DataError, match=rf"column '{column}'.*rows are not those it was started with; resume with the"):
        score(changed, resume=True, **options)
    assert score(resume=True, **options).n == N


def test_a_column_on_which_nothing_rests_may_change():
    stop()
    assert score(TABLE.set_column(1, "topic", [["another"] * N]), resume=True).n == N


def test_files_that_are_missing_or_new_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "TASK_ROWS", N // 4)
    monkeypatch.setattr(parts, "LEAST_ROWS", 1)
    pq.write_table(TABLE, rows := tmp_path / "rows.parquet", row_group_size=N // 4)
    folder = karat.score(rows, METRICS, engine="threads", run="a").run.path
    assert (folder / "rows" / "part-000003.parquet").exists()
    shutil.copy(folder / "rows" / "part-000000.parquet", folder / "rows" / "part-000009.parquet")
    with pytest.raises(DataError, match=r"part-000009.parquet is not of this run: its manifest does not name it"):
        open_run("a").scores("exact_match")
    (folder / "rows" / "part-000009.parquet").unlink()
    (folder / "rows" / "part-000001.parquet").unlink()
    with pytest.raises(DataError, match=r"part-000001.parquet is missing"):
        open_run("a").scores("exact_match")


def test_a_file_is_read_for_its_checksum_once_a_process(monkeypatch):
    score()
    read, really = [], checksums.sum_file
    monkeypatch.setattr(checksums, "sum_file", lambda path: read.append(Path(path).name) or really(path))
    for _ in range(2):
        content(open_run("a"))
    assert sorted(read) == ["rows.parquet", "statistics.parquet"]


def test_verify_names_what_is_damaged(folder):
    score(name="right")
    damaged = score(name="wrong").run.path
    flip(damaged / "rows.parquet", 200, 1)
    old = score(name="old").run.path
    path = old / "manifest.json"
    said = checksums.unseal(checksums.read_json(path), path)
    path.write_text(json.dumps({name: said[name] for name in said if name != "files"}))
    stop(name="stopped")
    done = CliRunner().invoke(main, ["runs", "verify"])
    assert done.exit_code == 1
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert lines["right"] == "4 files, all as they were written"
    assert lines["wrong"].startswith(f"{damaged}/rows.parquet is damaged: ")
    assert lines["old"] == f"{path} has no checksums of the other files"
    assert lines["stopped"] == "10 files, all as they were written"
    done = CliRunner().invoke(main, ["runs", "verify", "right", str(folder / "right")])
    assert done.exit_code == 0
    done = CliRunner().invoke(main, ["runs", "verify", "none"])
    assert (done.exit_code, "there is no run 'none'" in done.stderr) == (1, True)


def test_verify_prints_a_damaged_run_as_json():
    score(name="right")
    damaged = score(name="wrong").run.path
    flip(damaged / "values.json", 20, 1)
    done = CliRunner().invoke(main, ["runs", "verify", "--json"])
    right, wrong = map(json.loads, done.stdout.splitlines())
    for each in (right, wrong):
        Draft202012Validator(load_schema("runs verify")).validate(each)
    assert (done.exit_code, right) == (1, {"name": "right", "state": "intact", "files": 4, "problems": []})
    (problem,) = wrong.pop("problems")
    assert wrong == {"name": "wrong", "state": "damaged", "files": 4}
    assert problem.startswith(f"{damaged}/values.json is damaged: ")
