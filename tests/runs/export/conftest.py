"""Two runs, a bundle of them, and what forges the files of a run, with all checksums made anew."""

import json
import shutil
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.data.storage.checksums import sum_file
from karat.runs.store.manifest import read_manifest, write_json, write_manifest

N = 24
TABLE = {
    "id": [f"q{row}" for row in range(N)],
    "topic": [f"t{row % 2}" for row in range(N)],
    "prediction": [None if row == 5 else f"word{row % 4} of {row}" for row in range(N)],
    "gold": [[f"word{row % 5}", f"of {row}"] for row in range(N)],
}
OTHER = {**TABLE, "prediction": [f"word{row % 5}" for row in range(N)]}


def wrong(verified):
    """What does not agree: the run, what of it, the kind and the state."""
    return [(each.run, each.of, each.kind, each.state) for each in verified.checks if each.state != "equal"]


def remake(folder):
    """Let a forged run have the checksums of its files, as who forges one would."""
    manifest = read_manifest(folder)
    manifest.files.update({name: sum_file(folder / name) for name in manifest.files})
    write_manifest(manifest, folder)


def change_json(path, change):
    content = json.loads(path.read_text())
    change(content)
    write_json(path, content)
    return content


def change_rows(path, column, change):
    table = pq.read_table(path)
    values = table.column(column).to_pylist()
    change(values)
    at = table.schema.names.index(column)
    pq.write_table(
        table.set_column(at, table.schema.field(at), pa.chunked_array([pa.array(values, table.schema.field(at).type)])),
        path,
    )


@pytest.fixture
def forging():
    """The tables of the runs, and the functions above."""
    return SimpleNamespace(
        table=TABLE, other=OTHER, wrong=wrong, remake=remake, change_json=change_json, change_rows=change_rows
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with two runs, and a bundle of them."""
    folder = tmp_path_factory.mktemp("bundles")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KARAT_RUNS", str(folder / "runs"))
        for name, table in {"a": TABLE, "b": OTHER}.items():
            karat.score(table, ["token_f1", "bleu"], run=name, by="topic")
        karat.bundle("a", "b", output=folder / "both.zip")
    return folder


@pytest.fixture
def place(kept, tmp_path, monkeypatch):
    """The same for a test that changes it."""
    shutil.copytree(kept / "runs", tmp_path / "runs")
    shutil.copy(kept / "both.zip", tmp_path)
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
