import json
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import karat
from karat import metric
from karat.core.metric.spec import parse
from karat.errors import DataError, SpecError
from karat.judges import Judge
from karat.kinds import Text
from karat.metrics import best_of
from karat.models.governor.faults import ModelError
from karat.models.governor.governor import Governor
from karat.models.testing.fake import FakeModel
from karat.runs.match.systems import open_system
from karat.runs.store.folders import run_folder, run_names, unfinished_runs
from karat.runs.store.kept import list_runs, remove_run
from karat.runs.store.parts import PartsFolder
from karat.runs.store.run import open_run, open_scored

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


def batches(table=TABLE, rows=7):
    return table.to_reader(max_chunksize=rows)


class Stop(Exception):
    pass


def stopping(at=None):
    """A metric that is stopped in the batch of one row, and how many rows of each batch it scored."""
    seen = []

    @metric(source="ours", register=False)
    def length(prediction: Text) -> karat.kinds.Score:
        """How long it is."""
        texts = prediction.to_pylist()
        if any(text.endswith(f" of {at}") for text in texts):
            raise Stop
        seen.append(len(texts))
        return [len(text) / 100 for text in texts]

    return length, seen


def rows_of_parts(name):
    return PartsFolder(run_folder(name)).count_rows()


def stop(name="a", at=22, **options):
    with pytest.raises(Stop):
        karat.score(batches(), [*METRICS, stopping(at)[0]], run=name, **options)


def test_a_run_holds_what_the_result_says_and_its_files_are_plain(folder):
    result = karat.score(TABLE, METRICS, by="topic", run="first", output=folder.parent / "rows.parquet")
    assert sorted(path.name for path in (folder / "first").iterdir()) == [
        "manifest.json", "rows.parquet", "statistics.parquet", "values.json",
    ]  # fmt: skip
    assert sorted(path.name for path in folder.iterdir()) == ["first"]
    run = open_run("first")
    assert run.values == result.as_dict() == result.run.values == json.loads((folder / "first/values.json").read_text())
    assert pq.read_table(run.rows).equals(pq.read_table(folder.parent / "rows.parquet"))
    assert result.table.drop_columns("reason").equals(result.run.read(result.run.schema.names[:-1]))
    (mean,) = duckdb.sql(f"SELECT avg(exact_match) FROM '{folder}/first/rows.parquet'").fetchall()[0]  # noqa: S608
    assert mean == pytest.approx(result.values["exact_match"].value)
    (width,) = duckdb.sql(f"SELECT max(len(bleu)) FROM '{folder}/first/statistics.parquet'").fetchall()[0]  # noqa: S608
    assert width == run.statistics("bleu").shape[1] > 1
    counts = pq.read_table(folder / "first" / "statistics.parquet")["bleu"]
    assert (counts.null_count, np.isnan(run.statistics("bleu")).any()) == (0, True)  # as older pyarrow reads


def test_scores_and_statistics_are_those_of_the_rows_and_add_up_to_the_values():
    result = karat.score(TABLE, METRICS, run="a", keep=True)
    run = open_run("a")
    for spec in METRICS:
        expected = result.table[spec].to_numpy()
        np.testing.assert_array_equal(run.scores(spec), expected)
        assert np.isnan(run.statistics(spec)).all(axis=1).tolist() == np.isnan(expected).tolist()
    np.testing.assert_array_equal(run.statistics("exact_match")[:, 0], run.scores("exact_match"))
    total = np.nansum(run.statistics("bleu"), axis=0)
    assert parse("bleu").finish(total) == pytest.approx(result.values["bleu"].value, rel=1e-12)


def test_the_manifest_says_what_was_scored_and_how(folder):
    options = {"where": "id < 50", "limit": 40, "cluster": "topic", "confidence": 0.9, "seed": 3}
    karat.score(TABLE, ["token_f1", "bleu"], run="a", **options)
    said = open_run("a").manifest
    assert [each.signature for each in said.metrics] == [parse("token_f1").signature, parse("bleu").signature]
    assert [each.counts for each in said.metrics] == [False, True]
    assert said.settings == {"on": None, "by": None} | options
    assert said.mapping == {"prediction": "prediction", "reference": "gold"}
    assert (said.n, said.sources, said.models) == (40, {"data": "Table"}, None)
    assert said.versions["karat"] == karat.__version__
    assert {"numpy", "pyarrow", "python"} <= said.versions.keys()
    same = karat.score(TABLE.slice(0, 40), ["token_f1"], run="b").run.manifest
    assert same.digests.items() <= said.digests.items()
    assert said.digests.keys() == {"prediction", "reference", "column id", "column topic"}
    other = karat.score(
        TABLE.slice(0, 40).set_column(2, "prediction", [["x"] * 40]), ["token_f1"], run="c"
    ).run.manifest
    assert other.digests["reference"] == said.digests["reference"]
    assert other.digests["prediction"] != said.digests["prediction"]


def test_a_score_column_whose_name_was_taken_is_found():
    rows = [{"prediction": "a", "reference": "a", "exact_match": 7.0}]
    run = karat.score(rows, "exact_match", run="a").run
    assert run.manifest.metric("exact_match").column == "exact_match_2"
    assert run.scores("exact_match").tolist() == [1.0]


def test_names_are_never_written_over_and_never_leave_the_folder(folder):
    karat.score(TABLE, "exact_match", run="a")
    with pytest.raises(DataError, match=r"run a exists already.*--run OTHER.*`karat runs remove a`"):
        karat.score(TABLE, "exact_match", run="a")
    for name in ("../a", "a/b", ".a", "", "a.", "/etc", "a\nb"):
        with pytest.raises(SpecError, match="a name of letters"):
            karat.score(TABLE, "exact_match", run=name)
        with pytest.raises(SpecError, match="a name of letters"):
            remove_run(name)
    assert run_names() == ["a"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "file" / "runs"))
    with pytest.raises(DataError, match=r"no run can be stored in .*KARAT_RUNS"):
        karat.score(TABLE, "exact_match", run="a")


def test_runs_are_listed_and_removed(folder):
    for name in ("b", "a"):
        karat.score(TABLE, "exact_match", run=name)
    stop("c")
    assert {run.name: run.state for run in list_runs()} == {"a": "finished", "b": "finished", "c": "stopped"}
    assert unfinished_runs() == ["c"]
    remove_run("a")
    remove_run("c")
    assert [path.name for path in folder.iterdir()] == ["b"]
    with pytest.raises(DataError, match=r"there is no run 'bb'.*did you mean 'b'"):
        remove_run("bb")
    (folder / "mine").mkdir()
    with pytest.raises(DataError, match="there is no run 'mine'"):
        remove_run("mine")
    with pytest.raises(DataError, match=r"there is no run 'bb'.*did you mean 'b'"):
        open_run("bb")
    assert open_run(folder / "b").name == "b"


def test_what_a_process_left_that_was_killed_just_before_its_end_goes(folder):
    karat.score(TABLE, "exact_match", run="a")
    (folder / ".a.partial" / "parts").mkdir(parents=True)
    (folder / ".a.lock").write_text("1")
    with pytest.raises(DataError, match="run a exists already"):
        karat.score(TABLE, "exact_match", run="a", resume=True)
    assert [path.name for path in folder.iterdir()] == ["a"]
    (folder / "a").rename(folder / ".a.removed")
    remove_run("a")
    assert list(folder.iterdir()) == []
    (folder / ".a.lock").write_text("1")
    remove_run("a")
    assert list(folder.iterdir()) == []
    with pytest.raises(DataError, match="there is no run 'a'"):
        remove_run("a")


@pytest.mark.parametrize("rows", [7, 60, 1, 13])
@pytest.mark.parametrize("options", [{"by": "topic"}, {"cluster": "topic"}, {"where": "id % 2 = 0"}])
def test_a_run_that_goes_on_gives_what_an_undisturbed_one_gives(rows, options):
    whole = karat.score(batches(), [*METRICS, stopping()[0]], run="whole", **options)
    stop(**options)
    assert unfinished_runs() == ["a"]
    scored_before = sum(1 for row in whole.table.to_pylist()[: rows_of_parts("a")] if row["length"] is not None)
    scorer, seen = stopping()
    resumed = karat.score(batches(rows=rows), [*METRICS, scorer], run="a", resume=True, **options)
    assert resumed.as_dict() == whole.as_dict()
    assert resumed.reasons == whole.reasons
    assert resumed.table.equals(whole.table)
    assert resumed.run.manifest.digests == whole.run.manifest.digests
    np.testing.assert_array_equal(resumed.run.statistics("bleu"), whole.run.statistics("bleu"))
    assert sum(seen) == whole.values["length"].scored - scored_before
    assert unfinished_runs() == []


def test_a_run_stopped_before_its_first_part_leaves_nothing_and_resume_begins_it(folder):
    stop(at=0)
    assert list(folder.iterdir()) == []
    assert karat.score(TABLE, "exact_match", run="a", resume=True).n == N


def test_what_is_not_finished_is_not_begun_anew():
    stop()
    with pytest.raises(
        DataError, match="not finished: continue it with --resume, or start again after `karat runs remove a`"
    ):
        karat.score(TABLE, "exact_match", run="a")
    with pytest.raises(SpecError, match="run='NAME'"):
        karat.score(TABLE, "exact_match", resume=True)


CHANGES = [
    (TABLE, {"metrics": METRICS}, "started with other metrics: .*exact_match"),
    (TABLE, {"seed": 1}, "started with other seed: 0; now 1"),
    (TABLE, {"where": "id < 50"}, "started with other where: None; now 'id < 50'"),
    (TABLE, {"map": {"reference": "topic"}}, "started with other reference: 'gold'; now 'topic'"),
    (
        TABLE.slice(1),
        {},
        r"column 'prediction' \(prediction\), column 'gold' \(reference\), column 'id': its first .* rows are not",
    ),
    (TABLE.slice(0, 10), {}, "its first 2. rows are not those it was started with"),
    (TABLE.drop_columns(["id"]), {}, "run a: column 'id': its first 2. rows are not those"),
    (TABLE.rename_columns(["ID", "topic", "prediction", "gold"]), {}, "run a: column 'id': its first 2. rows"),
]


@pytest.mark.parametrize(("table", "options", "message"), CHANGES)
def test_a_run_goes_on_only_as_it_was_begun(table, options, message):
    stop()
    scorer, _ = stopping()
    given = {"metrics": [*METRICS, scorer]} | options
    with pytest.raises(DataError, match=message):
        karat.score(table, run="a", resume=True, **given)
    assert karat.score(TABLE, [*METRICS, scorer], run="a", resume=True).n == N  # nothing of it was lost


OWN = """
import karat
@karat.metric(source="ours", register=False)
def constant(prediction: karat.kinds.Text) -> karat.kinds.Score:
    "The same for each row."
    return [{share}] * len(prediction)
"""


def own_metric(folder, share):
    """A metric in a module of its own, whose code holds a number."""
    (path := folder / "our_module.py").write_text(OWN.format(share=share), "utf-8")
    spec = spec_from_file_location("our_module", path)
    sys.modules["our_module"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.constant


@pytest.mark.parametrize("inner", [False, True])
def test_a_run_does_not_go_on_where_the_code_of_an_own_metric_has_changed(tmp_path, monkeypatch, inner):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # else the second code may be that of the first

    def score(share, **options):
        constant = own_metric(tmp_path, share)
        chosen = best_of.using(metric=constant) if inner else constant
        return karat.score(batches(TABLE.filter(pc.is_valid(TABLE["prediction"]))), [chosen], run="a", **options)

    def progress(done, _):
        if done > N // 2:
            raise Stop

    with pytest.raises(Stop):
        score(1.0, progress=progress)
    with pytest.raises(DataError, match="run a was started with other code of constant: '"):
        score(0.5, resume=True)
    assert score(1.0, resume=True).as_dict()["metrics"][0]["value"] == 1.0


def test_a_stopped_run_does_not_go_on_without_the_labels_it_was_started_with():
    labelled = TABLE.append_column("vote", [[1.0 if row % 9 == 0 else None for row in range(N)]])
    with pytest.raises(Stop):
        karat.score(batches(labelled), [stopping(22)[0]], run="a", human="vote")
    with pytest.raises(DataError, match=r"run a: column 'vote': its first 2. rows are not those"):
        karat.score(batches(labelled), [stopping()[0]], run="a", resume=True)


def test_what_a_judge_said_is_kept_and_not_asked_again():
    asked = []

    class NoSuchKey(Exception):
        status = 401

    def answer(messages):
        asked.append(messages)
        if len(asked) == 25:
            raise NoSuchKey
        return {"explanation": "so", "label": "equivalent" if len(asked) % 2 else "different"}

    judge = Judge("equivalence", model=FakeModel(answer), governor=Governor(concurrency=1))
    with pytest.raises(ModelError):
        karat.score(batches(), judge, run="a")
    before = len(asked)
    result = karat.score(batches(), judge, run="a", resume=True, keep=True)
    assert before < len(asked) <= N
    assert result.values[judge.spec].scored == sum(result.counts[judge.spec]["label"].values())
    assert result.table[f"{judge.spec}.explanation"].to_pylist().count("so") == result.values[judge.spec].scored
    assert result.run.manifest.models["names"] == ["fake"]
    assert result.run.manifest.models["calls"] == len(asked)


HOLD = """
import sys
from pathlib import Path
from karat.runs.store.lock import lock
with lock(Path(sys.argv[1]), "a"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_processes_never_write_the_same_run(folder, python):
    folder.mkdir()
    with python("-c", HOLD, folder / ".a.lock", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(DataError, match=rf"run a is being written by another process \({other.process}\)"):
            karat.score(TABLE, "exact_match", run="a")
        other.kill()  # its lock file stays, its lock does not
    assert (folder / ".a.lock").exists()
    assert karat.score(TABLE, "exact_match", run="a").run.name == "a"
    assert [path.name for path in folder.iterdir()] == ["a"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize("mask", [0o077, 0o027, 0o002])
def test_runs_have_the_permissions_that_the_umask_gives(folder, mask):
    pq.write_table(TABLE, rows := folder.parent / "rows.parquet", row_group_size=20)
    before = os.umask(mask)
    try:
        stop()
        karat.score(TABLE, METRICS, run="b")
        karat.score(rows, METRICS, engine="threads", run="c")
    finally:
        os.umask(before)
    found = {(path.is_dir(), path.stat().st_mode & 0o777) for path in [folder, *folder.rglob("*")]}
    assert found == {(True, 0o777 & ~mask), (False, 0o666 & ~mask)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda said: said | {"format": 99}, "of a newer karat"),
        (lambda said: {"format": 1}, "is not the manifest of a run"),
        (lambda said: [said], "is not the manifest of a run"),
    ],
)
def test_a_manifest_that_cannot_be_read_says_so(folder, change, message):
    karat.score(TABLE, "exact_match", run="a")
    path = folder / "a" / "manifest.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(DataError, match=message):
        open_run("a")


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv", "arrow", "json.gz"])
def test_a_scored_file_reads_like_a_run(tmp_path, ending):
    path = tmp_path / f"rows.{ending}"
    result = karat.score(TABLE, METRICS, output=path, keep=True)
    scored = open_scored(path)
    assert scored.specs == tuple(METRICS)
    for spec in METRICS:
        np.testing.assert_array_equal(scored.scores(spec), result.table[spec].to_numpy())
    assert [str(each) for each in scored.column("id").to_pylist()] == [str(row) for row in range(N)]
    assert {each.signature for each in scored.manifest.metrics} == {None}
    with pytest.raises(DataError, match="is computed from counts, which only a stored run has"):
        scored.statistics("bleu")
    with pytest.raises(SpecError, match="rouge_l was not scored; there are"):
        scored.scores("rouge_l")


def test_files_without_scores_or_with_two_columns_for_them_are_refused(tmp_path):
    pq.write_table(TABLE, tmp_path / "plain.parquet")
    with pytest.raises(DataError, match="holds no scores"):
        open_system(tmp_path / "plain.parquet")
    pq.write_table(pa.table({"exact_match": ["x"], "exact_match_2": [1.0]}), tmp_path / "two.parquet")
    with pytest.raises(DataError, match="in column 'exact_match' or 'exact_match_2'"):
        open_scored(tmp_path / "two.parquet")
    pq.write_table(pa.table({"exact_match": ["x"]}), tmp_path / "text.parquet")
    with pytest.raises(DataError, match="row 1, column 'exact_match': expected a number, yes or no, found 'x'"):
        open_scored(tmp_path / "text.parquet").scores("exact_match")
