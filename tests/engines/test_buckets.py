"""Gold that is too large for one machine: the shuffles of Ray and Spark bring ids together; the bits are the same."""

import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.data.join import buckets as divided
from karat.data.join import join as join_module
from karat.engines.ray import Ray
from karat.engines.spark import Spark
from karat.engines.worker import divide_packed_half, pack_recipe, score_packed_bucket
from karat.errors import JoinError
from karat.runs.scoring.arguments import Selection
from karat.runs.scoring.plan import plan_run
from karat.runs.scoring.tasks import buckets as buckets_module
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.scoring.tasks.task import make_recipe
from karat.stats.inference import Inference

pytestmark = pytest.mark.filterwarnings("ignore")  # what Ray and Spark warn of is theirs
ROWS = 6_000


@pytest.fixture(scope="module", params=["ray", "spark"])
def engine(request, tmp_path_factory):
    if request.param == "spark":
        pytest.importorskip("pysail")
        with request.getfixturevalue("serve")(tmp_path_factory.mktemp("shared")) as (_, address):
            yield Spark(address)
        return
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    yield Ray()
    ray.shutdown()


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The arguments of a joined scoring, in three buckets of ids."""
    monkeypatch.setattr(parts_module, "TASK_ROWS", 2_000)
    monkeypatch.setattr(join_module, "GOLD_BYTES", 0)
    monkeypatch.setattr(buckets_module, "BUCKET_BYTES", 1 << 20)
    monkeypatch.setattr(divided, "CHUNK_BYTES", 50_000)
    random = np.random.default_rng(5)
    texts = np.array(["the cat", "a cat sat", "Zürich", ""])[random.integers(0, 4, ROWS)].tolist()
    gold = pa.table({"id": np.arange(ROWS), "answer": texts, "topic": [f"t{at % 4}" for at in range(ROWS)]})
    answered = random.permutation(ROWS)[:-20].tolist()
    answers = ["cat" if at % 3 else texts[at] for at in answered]
    predictions = pa.table({"key": [*map(str, answered), "none"], "prediction": [*answers, "x"]})
    for name, table in (("gold", gold), ("predictions", predictions)):
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=2_000)
    return {"data": f"{tmp_path}/predictions.parquet", "gold": f"{tmp_path}/gold.parquet", "on": "key=id"}


def test_the_bits_are_those_of_the_join_row_by_row(files, engine, monkeypatch):
    settings, seen = {"metrics": ["exact_match", "token_f1", "bleu"], "by": "topic", "where": "topic <> 't3'"}, []
    expected = karat.score(**files, **settings, keep=True).as_dict()
    assert (expected["joined"]["missing"], expected["joined"]["unknown_ids"]) == (20, ["none"])
    monkeypatch.setattr(join_module, "match_ids", lambda *_: pytest.fail("one machine matches all ids"))
    found = karat.score(**files, **settings, engine=engine, progress=lambda *rows: seen.append(rows))
    assert found.as_dict() == expected
    assert seen[-1] == (ROWS, ROWS)


def test_ids_that_are_not_unique_are_the_error_of_one_machine(files, engine, tmp_path):
    if isinstance(engine, Ray):
        pytest.skip("the same task raises it; another shuffle of Ray's takes a minute")
    path = tmp_path / "predictions.parquet"
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table.slice(9, 1)]), path, row_group_size=2_000)
    with pytest.raises(JoinError, match=r"predictions .*'key': expected every id once, found '\d+' in rows 10, 5982"):
        karat.score(**files, metrics="exact_match", engine=engine)


def test_a_file_that_a_machine_lacks_is_named_by_its_task(files, tmp_path):
    path = tmp_path / "predictions.parquet"
    plan = plan_run(Selection(files["data"], gold=files["gold"], on=files["on"]), "exact_match", Inference())
    part = plan.joined.halves[1].source.parts[0]
    path.unlink()
    packed = pack_recipe(make_recipe(plan, None), pickle.dumps)
    (row,) = divide_packed_half(packed, 4, divided.HalfPart(**vars(part), side="prediction", buckets=3))
    failed = score_packed_bucket(packed, pa.Table.from_batches([row]))
    assert failed.task == 4
    assert "predictions.parquet is not on machine" in str(failed.error)
