"""What a machine of a cluster checks before it scores, and the errors that it sends back."""

import pickle
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.data.join.parts import JoinedPart
from karat.engines import worker
from karat.engines.worker import pack_recipe, score_packed_frame, score_packed_part
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import plan_run
from karat.runs.scoring.tasks.task import make_recipe
from karat.runs.store.parts import PartsFolder
from karat.stats.inference import Inference


@karat.metric(source="ours", register=False)
def hostile(prediction: karat.kinds.Text) -> karat.kinds.Score:
    """Raises what cannot be pickled."""

    class Local(Exception):
        pass

    raise Local(f"at {prediction[0]}")


@karat.metric(source="ours", register=False)
def wrong(prediction: karat.kinds.Text) -> karat.kinds.Score:
    """Divides by zero."""
    return [1 / 0 for _ in prediction]


@pytest.fixture
def planned(tmp_path):
    """The recipe and the only part of a file, by metric."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"qid": ["a", "b"], "prediction": ["x", "y"], "gold": ["x", "z"]}), path)

    def plan(*metrics, folder=None):
        found = plan_run(Selection(str(path), id="qid"), metrics, Inference())
        return make_recipe(found, folder), found.base.parts[0]

    return plan


def packed(recipe):
    return pack_recipe(recipe, pickle.dumps)


def test_a_part_and_rows_of_a_frame_are_scored_from_a_recipe_in_bytes(planned):
    recipe, part = planned("exact_match")
    frame = pa.table({"gold": ["z", "x"], "qid": ["b", "a"], "prediction": ["y", "x"]})
    done, same = score_packed_part(packed(recipe), 3, part), score_packed_frame(packed(recipe), frame.to_batches())
    assert (done.task, done.rows) == (3, 2)
    assert same.state == done.state


def test_two_versions_of_karat_are_named(planned, monkeypatch):
    recipe, part = planned("exact_match")
    sent = packed(recipe)
    monkeypatch.setattr(worker, "__version__", "9.9")
    failed = score_packed_part(sent, 0, part)
    with pytest.raises(
        karat.errors.SpecError, match=rf"karat {karat.__version__} started .* has karat 9\.9: install one"
    ):
        raise failed.error


def test_a_file_and_a_folder_of_another_machine_are_named(planned, tmp_path):
    recipe, part = planned("exact_match", folder=PartsFolder(tmp_path / "elsewhere"))
    with pytest.raises(
        karat.errors.DataError, match=r"elsewhere.partial is not on machine .* would be written: use a disk"
    ):
        raise score_packed_part(packed(recipe), 0, part).error
    (tmp_path / "rows.parquet").unlink()
    with pytest.raises(karat.errors.DataError, match=r"rows\.parquet is not on machine .* where it would be read"):
        raise score_packed_part(packed(recipe), 0, part).error


def test_another_file_of_the_same_name_and_files_of_predictions_are_named(planned, tmp_path):
    recipe, part = planned("exact_match")
    joined = JoinedPart(**vars(part), predictions=(replace(part, file=str(tmp_path / "said.parquet")),))
    with pytest.raises(karat.errors.DataError, match=r"said\.parquet is not on machine .* where it would be read"):
        raise score_packed_part(packed(recipe), 0, joined).error
    (tmp_path / "rows.parquet").write_bytes((tmp_path / "rows.parquet").read_bytes() + b"x")
    with pytest.raises(
        karat.errors.DataError, match=r"rows\.parquet on machine .* is not the file that was opened, or has"
    ):
        raise score_packed_part(packed(recipe), 0, part).error


def test_a_module_that_a_machine_lacks_is_named(planned, tmp_path, monkeypatch):
    (tmp_path / "own_metrics.py").write_text(
        "from karat import metric\nfrom karat.kinds import Score, Text\n"
        '@metric(source="ours", register=False)\ndef own(prediction: Text) -> Score:\n'
        '    "1."\n    return [1.0] * len(prediction)\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import own_metrics

    recipe, part = planned(own_metrics.own)
    sent = packed(recipe)
    assert score_packed_part(sent, 0, part).rows == 2
    monkeypatch.undo()
    monkeypatch.delitem(sys.modules, "own_metrics")
    worker._unpack.cache_clear()  # another machine
    with pytest.raises(
        karat.errors.SpecError, match=r"'own_metrics', which machine .* lacks: install it there, or define"
    ):
        raise score_packed_part(sent, 0, part).error


def test_an_error_that_cannot_be_sent_comes_back_as_text(planned):
    recipe, part = planned(hostile)
    with pytest.raises(karat.errors.DataError, match="Local: at x"):
        raise score_packed_part(packed(recipe), 0, part).error


def test_an_error_says_where_it_was_raised(planned):
    recipe, part = planned(wrong)
    failed = score_packed_part(packed(recipe), 0, part)
    assert isinstance(failed.error, ZeroDivisionError)
    assert "test_worker.py" in failed.error.__notes__[0]
