"""Metrics, kinds of columns and errors in other processes: by name, or whole where no name is found."""

import pickle
import subprocess
import sys

import pytest

import karat
from karat.core.columns.kinds import GRADED, NUMBER, TEXT
from karat.core.errors import KaratError, MissingExtra
from karat.core.metric.metric import Metric
from karat.metrics import token_f1

SCRIPT = """
import karat, sys
import pyarrow as pa, pyarrow.parquet as pq
from karat.runs.scoring.tasks import parts
parts.LEAST_ROWS = 2

@karat.metric(source="ours", finish=lambda totals: totals[..., 0] / totals[..., 1])
def long(prediction: karat.kinds.Text, *, least: int = 3) -> karat.kinds.Counts:
    "The share of long answers."
    return [[float(len(text) >= least), 1.0] for text in prediction.to_pylist()]

if __name__ == "__main__":
    pq.write_table(pa.table({"prediction": ["a", "abc", "abcd", "abcde"]}), "rows.parquet", row_group_size=2)
    print(karat.score("rows.parquet", [long, long.using(least=5)], engine="processes"))
"""


def test_a_metric_of_a_script_is_scored_by_other_processes(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "long: 0.7500" in done.stdout
    assert "long(least=5): 0.2500" in done.stdout


def test_a_metric_that_no_process_can_import_is_sent_whole():
    cloudpickle = pytest.importorskip("cloudpickle")

    @karat.metric(source="ours", register=False)
    def shout(prediction: karat.kinds.Text, *, mark: str = "!") -> karat.kinds.Score:
        """Whether an answer ends with a mark."""
        return [float(text.endswith(mark)) for text in prediction.to_pylist()]

    sent = pickle.loads(cloudpickle.dumps(shout.using(mark="?")))  # noqa: S301
    assert sent.spec == "shout(mark='?')"
    assert sent.definition is not shout.definition
    assert sent(["a?", "b"]).to_pylist() == [1.0, 0.0]
    assert sent.__qualname__ == shout.__qualname__
    assert shout.__qualname__.endswith("<locals>.shout")


def test_metrics_of_modules_are_sent_by_name():
    sent = pickle.loads(pickle.dumps(token_f1.using(normalize="none")))  # noqa: S301
    assert isinstance(sent, Metric)
    assert sent.definition is token_f1.definition


@pytest.mark.parametrize("kind", [TEXT, NUMBER, GRADED], ids=lambda kind: kind.name)
def test_kinds_stay_themselves(kind):
    assert pickle.loads(pickle.dumps(kind)) is kind  # noqa: S301


def test_errors_keep_their_message():
    error = pickle.loads(pickle.dumps(MissingExtra("ray", extra="ray", need="engine 'ray'")))  # noqa: S301
    assert isinstance(error, KaratError)
    assert str(error) == "engine 'ray' needs ray: pip install 'karat[ray]'"
