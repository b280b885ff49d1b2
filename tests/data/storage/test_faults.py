"""Tasks whose rows are in a store that fails, is slow or goes away: the same bits, or an error and a run to resume."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.runs.scoring.tasks import parts as parts_module
from karat.runs.scoring.tasks.local import Threads

METRICS = ["exact_match", "token_f1", "bleu"]
FAULTS = [500, "reset", "truncated", "slow", 503]
GROUPS = 4


@pytest.fixture(autouse=True)
def _small_and_impatient(tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    monkeypatch.setattr(parts_module, "LEAST_ROWS", 1)
    monkeypatch.setattr("karat.data.storage.http_file._PAUSES", (0, 0, 0, 0))
    monkeypatch.setattr("karat.data.storage.http_file._TIMEOUT", 0.2)  # seconds, fewer than a slow answer takes


@pytest.fixture
def content():
    texts = [f"word {row % 7} of {row}" for row in range(400)]
    gold = [text if row % 3 else "word" for row, text in enumerate(texts)]
    table, file = pa.table({"prediction": texts, "gold": gold}), io.BytesIO()
    pq.write_table(table, file, row_group_size=len(table) // GROUPS)
    return file.getvalue()


@pytest.fixture
def expected(content):
    return karat.score(pq.read_table(io.BytesIO(content)), METRICS).as_dict()


@pytest.mark.parametrize(("place", "good"), [("s3", 4), ("web", 1)])
def test_each_fault_may_be_met_and_passes(request, place, good, content, expected):
    """After each fault come some `good` answers; a client of S3 waits longer after each."""
    server = request.getfixturevalue(place)
    if place == "s3":
        server.put("rows.parquet", content)
    else:
        server.files["rows.parquet"] = content
    address = f"{server.url if place == 'web' else 's3://lake'}/rows.parquet"
    server.faults = [each for fault in 9 * FAULTS for each in [fault, *[None] * good]]
    left = len(server.faults) - len(FAULTS) * (1 + good)
    assert karat.score(address, METRICS, engine=Threads(1)).as_dict() == expected
    assert len(server.faults) <= left


def test_a_run_whose_store_goes_away_is_resumed_without_its_finished_parts(web, content, expected):
    web.files["rows.parquet"] = content
    address = f"{web.url}/rows.parquet?signature=abc"
    karat.score(address, METRICS, engine=Threads(1), run="whole")
    most = len(web.requests)
    web.faults = [None] * (most - 4) + [503] * 99
    with pytest.raises(
        karat.errors.DataError, match=r"status 503 .* \(in the task of .*rows\.parquet, row group \d"
    ) as raised:
        karat.score(address, METRICS, engine=Threads(1), run="a")
    assert "abc" not in str(raised.value)
    web.faults = []
    web.requests.clear()
    assert karat.score(address, METRICS, engine=Threads(1), run="a", resume=True).as_dict() == expected
    assert len(web.requests) < most
