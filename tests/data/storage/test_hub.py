"""Rows of a data set of the hub, by the hub's own client, from a server that answers as the hub does."""

import io
import json
import os
import subprocess
import sys
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("huggingface_hub")
ROWS = [{"prediction": "x", "reference": "x"}, {"prediction": "ü, \n", "reference": None}]
READ = """
import json, sys
from karat.core.errors import DataError
from karat.data.open import open_source
try:
    print(json.dumps([row for batch in open_source(sys.argv[1]).batches() for row in batch.to_pylist()]))
except DataError as error:
    print(json.dumps(str(error)))
"""
COMMIT = {"id": "0" * 40, "title": "", "date": "2026-01-01T00:00:00.000Z"}
REPOSITORY = {"id": "ada/rows", "sha": COMMIT["id"], "siblings": [], "private": False, "tags": []}


@pytest.fixture
def read(faulty_server, tmp_path):
    """Reads an address of the hub, which has `a.parquet` in the data set `ada/rows`, in a process of its own."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), file)
    content = file.getvalue()
    about = {"type": "file", "path": "a.parquet", "size": len(content), "oid": COMMIT["id"], "lastCommit": COMMIT}
    at = "/api/datasets/ada/rows"

    def answer(_method, address, headers, body):
        path = address.partition("?")[0]
        named = b"a.parquet" in body
        known = {at: REPOSITORY, f"{at}/tree/main": [about], f"{at}/paths-info/main": [about] if named else []}
        if path in known:
            return 200, {"Content-Type": "application/json"}, json.dumps(known[path]).encode()
        if path != "/datasets/ada/rows/resolve/main/a.parquet":
            return 404, {"X-Error-Code": "EntryNotFound" if at in path else "RepoNotFound"}, b""
        first, last = map(int, headers.get("Range", "bytes=0-999999").removeprefix("bytes=").split("-"))
        return 206, {"Content-Range": f"bytes {first}-{last}/{len(content)}"}, content[first : last + 1]

    server = faulty_server(answer)
    environment = {"HF_ENDPOINT": server.url, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_TELEMETRY": "1"}
    run = partial(subprocess.run, env=os.environ | environment, capture_output=True, check=True)
    yield lambda address: json.loads(run([sys.executable, "-c", READ, address]).stdout)
    server.stop()


def test_rows_of_a_data_set(read):
    assert read("hf://datasets/ada/rows/a.parquet") == ROWS


@pytest.mark.parametrize("address", ["hf://datasets/ada/rows/b.parquet", "hf://datasets/ada/none/a.parquet"])
def test_what_is_not_there_is_named(read, address):
    assert address in read(address)
