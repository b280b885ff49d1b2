"""Rows in stores are read and written as rows in files are; what a store refuses or cuts short is an error in words."""

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core.errors import DataError, MissingExtra
from karat.data.open import open_source
from karat.data.storage.http_file import HttpFile, describe, open_http
from karat.data.storage.stores import azure_settings, explain_error, find_store
from karat.data.storage.whole_files import whole_file
from karat.data.write import write

ROWS = pa.table({"id": ["007", "1e3", "a"], "prediction": ["x", "null", "ü, \n"], "reference": ["x", "y", "z"]})
NAMES = ("a.jsonl", "a.json", "a.csv", "a.tsv", "a.parquet", "a.arrow", "a.jsonl.gz", "a.csv.zst", "a.parquet.gz")


def rows(source):
    return [row for batch in open_source(source).batches() for row in batch.to_pylist()]


def parquet(table, groups=1):
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=-(-len(table) // groups), compression="none")
    return file.getvalue()


@pytest.fixture
def no_pauses(monkeypatch):
    monkeypatch.setattr("karat.data.storage.http_file._PAUSES", (0, 0, 0, 0))


@pytest.mark.parametrize("name", NAMES)
def test_rows_go_to_a_store_and_come_back_in_every_format(s3, tmp_path, name):
    for place in (f"s3://lake/{name}", tmp_path / name):
        write(ROWS.to_batches(), ROWS.schema, place)
    assert rows(f"s3://lake/{name}") == rows(tmp_path / name) == ROWS.to_pylist()
    assert s3.client.get_object(Bucket="lake", Key=name)["Body"].read() == (tmp_path / name).read_bytes()


def test_a_run_of_trec_and_a_file_without_an_ending_are_known_by_their_content(s3):
    s3.put("bm25.run", b"q1 Q0 d7 1 12.5 bm25\n")
    s3.put("part-00000", parquet(ROWS))
    assert rows("s3://lake/bm25.run") == [{"query_id": "q1", "doc_id": "d7", "score": 12.5}]
    assert rows("s3://lake/part-00000") == ROWS.to_pylist()


def test_score_and_compare_read_and_write_addresses(s3):
    s3.put("log/part-0.parquet", parquet(ROWS[:2]))
    s3.put("log/part-1.parquet", parquet(ROWS[2:]))
    for name in ("before", "after"):
        words = ["score", "s3://lake/log/", "-m", "exact_match", "-o", f"s3://lake/scored/{name}.parquet"]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
        assert f"rows written to s3://lake/scored/{name}.parquet" in done.stdout
    assert [row["exact_match"] for row in rows("s3://lake/scored/after.parquet")] == [1, 0, 0]
    compared = karat.compare("s3://lake/scored/before.parquet", "s3://lake/scored/after.parquet", on="id")
    assert compared.n == 3
    result = karat.score("s3://lake/log/*.parquet", "exact_match", output="s3://lake/again.jsonl.gz")
    assert (result.output, result.table.num_rows) == ("s3://lake/again.jsonl.gz", 3)
    with pytest.raises(DataError, match=r"s3a://lake/log/x\.csv is an input file"):
        karat.score("s3://lake/log/*", "exact_match", output="s3a://lake/log/x.csv")


@pytest.mark.parametrize("place", ["s3", "web"])
def test_of_parquet_only_the_row_groups_that_are_read_are_fetched(request, monkeypatch, place):
    monkeypatch.setattr("karat.data.storage.batches.BATCH_ROWS", 10_000)
    table = pa.table({"id": pa.array(np.arange(100_000)), "prediction": [os.urandom(8).hex() for _ in range(100_000)]})
    server, content = request.getfixturevalue(place), parquet(table, groups=10)
    if place == "s3":
        server.put("big.parquet", content)
    else:
        server.files["big.parquet"] = content
    address = f"{server.url if place == 'web' else 's3://lake'}/big.parquet"
    assert rows(address)[-1]["id"] == 99_999
    server.requests.clear()
    source = open_source(address, limit=5)
    assert sum(batch.num_rows for batch in source.batches()) == 5
    ranges = [range_.removeprefix("bytes=").split("-") for _, _, range_ in server.requests if range_]
    assert sum(int(last) - int(first) + 1 for first, last in ranges) < 0.5 * len(content)
    assert all(range_ for method, _, range_ in server.requests if method == "GET")


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
@pytest.mark.parametrize("faults", [[500, "reset"], ["truncated"], ["slow"]], ids=str)
def test_faults_that_pass_are_not_noticed(s3, web, no_pauses, tmp_path, monkeypatch, name, faults):
    monkeypatch.setattr("karat.data.storage.http_file._TIMEOUT", 0.2)  # seconds, fewer than a slow answer takes
    write(ROWS.to_batches(), ROWS.schema, tmp_path / name)
    content = web.files[name] = (tmp_path / name).read_bytes()
    s3.put(name, content)
    for server, address in (s3, f"s3://lake/{name}"), (web, f"{web.url}/{name}"):
        for ranged in (True, False):
            web.ranged, server.faults, server.match = ranged, list(faults), name
            assert rows(address) == ROWS.to_pylist()
            assert not server.faults


@pytest.mark.parametrize("ranged", [True, False])
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_what_stays_truncated_or_out_of_reach_is_an_error(web, no_pauses, tmp_path, name, ranged):
    write(ROWS.to_batches(), ROWS.schema, tmp_path / name)
    web.files[name], web.ranged = (tmp_path / name).read_bytes(), ranged
    for fault, message in {
        "truncated": "truncated|IncompleteRead",
        503: r"status 503 Service Unavailable \(5 attempts\)",
        403: "access is denied .status 403 Forbidden.*; is its signature still valid",
        "silent": "does not tell how long it is" if not ranged else None,
    }.items():
        source = open_source(f"{web.url}/{name}?signature=abc") if name == "a.parquet" and ranged else None
        web.faults = [fault] * 99
        if message is not None:
            with pytest.raises(DataError, match=message) as raised:
                rows(source or f"{web.url}/{name}?signature=abc")
            assert str(raised.value).startswith(f"{web.url}/{name}: ")
        web.faults = []


def test_a_file_that_changes_while_it_is_read_is_an_error(web):
    web.files["a.csv"] = b"id,prediction\n"
    file = HttpFile(f"{web.url}/a.csv", describe(f"{web.url}/a.csv"))
    assert file.read(2) == b"id"
    web.files["a.csv"] = b"id,predicted!\n"
    with pytest.raises(DataError, match="the file has changed while it was read"):
        file.read(2)
    web.files["empty.csv"] = b""
    with open_http(f"{web.url}/empty.csv") as empty:
        assert empty.read() == b""
    with pytest.raises(DataError, match=r"empty\.csv is empty; expected rows"):
        open_source(f"{web.url}/empty.csv")


def test_errors_say_what_to_set_and_hold_no_secret(s3, monkeypatch):
    for status, message in {
        403: "access is denied .*; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        301: "; set AWS_REGION to the region of the bucket",
    }.items():
        s3.faults = [status] * 99
        with pytest.raises(DataError, match=message) as raised:
            open_source("s3://lake/a.csv")
        assert "an-access-key" not in str(raised.value)
    s3.faults = []
    with pytest.raises(DataError, match=r"s3://sea/a\.csv: there is no bucket 'sea'"):
        open_source("s3://sea/a.csv")
    with pytest.raises(DataError, match=r"s3://sea/a\.csv: there is no bucket 'sea'"):
        write(ROWS.to_batches(), ROWS.schema, "s3://sea/a.csv")
    with pytest.raises(DataError, match="must not hold a password") as raised:
        open_source("s3://key:hush@lake/a.csv")
    assert "hush" not in str(raised.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"the store cannot be reached .*; is AWS_ENDPOINT_URL right\?"):
        open_source("s3://lake/a.csv")


def test_an_output_appears_whole_or_not_at_all(s3, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def stopped():
        yield ROWS.to_batches()[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(stopped(), ROWS.schema, "s3://lake/out.parquet")
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    s3.match, s3.faults = "out", [403]
    with pytest.raises(DataError, match=r"access is denied .*; the file is kept in .*parquet") as raised:
        write(ROWS.to_batches(), ROWS.schema, "s3://lake/out.parquet")
    assert rows(Path(str(raised.value).rpartition(" ")[2])) == ROWS.to_pylist()
    for match in ("uploads", "partNumber"):  # of a file that is sent in several parts
        s3.match, s3.faults = match, [403] * 99
        with pytest.raises(DataError, match="access is denied"), whole_file("s3://lake/large") as temporary:
            temporary.write_bytes(bytes(11 << 20))
        s3.faults = []
    assert "Contents" not in s3.client.list_objects_v2(Bucket="lake")
    for address, message in {
        "https://host/a.csv": "can only be read",
        "s3://lake/a.xlsx": "expected a name that ends in",
    }.items():
        with pytest.raises(DataError, match=message):
            write(ROWS.to_batches(), ROWS.schema, address)


@pytest.mark.parametrize("in_parts", [False, True])
def test_a_run_that_was_copied_into_a_bucket_is_compared_and_shown(s3, tmp_path, monkeypatch, in_parts):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    pq.write_table(ROWS, tmp_path / "rows.parquet", row_group_size=1)
    monkeypatch.setattr("karat.runs.scoring.tasks.parts.TASK_ROWS", 2)
    monkeypatch.setattr("karat.runs.scoring.tasks.parts.LEAST_ROWS", 1)
    data = tmp_path / "rows.parquet" if in_parts else ROWS
    for name in ("a", "b"):
        karat.score(data, ["exact_match", "bleu"], run=name, engine="threads" if in_parts else None)
        for file in filter(Path.is_file, (tmp_path / name).rglob("*")):
            s3.put(f"runs/{file.relative_to(tmp_path)}", file.read_bytes())
    here, there = karat.compare("a", "b", on="id"), karat.compare("s3://lake/runs/a", "s3://lake/runs/b/", on="id")
    assert there.as_dict() == here.as_dict()
    shown = CliRunner().invoke(main, ["runs", "show", "s3://lake/runs/a", "--json"])
    assert shown.output == CliRunner().invoke(main, ["runs", "show", "a", "--json"]).output
    rows_shown = CliRunner().invoke(main, ["show", "s3://lake/runs/a", "--worst", "1"])
    assert rows_shown.output == CliRunner().invoke(main, ["show", "a", "--worst", "1"]).output
    with pytest.raises(DataError, match="s3://lake/runs/c: there is no run in this folder"):
        karat.runs.store.run.open_run("s3://lake/runs/c")


def test_a_run_and_its_messages_hold_no_signature(web, tmp_path, monkeypatch):
    monkeypatch.setenv("KARAT_RUNS", str(tmp_path))
    web.files["a.csv"] = b"prediction,reference\nx,x\n"
    run = karat.score(f"{web.url}/a.csv?X-Amz-Signature=abc", "exact_match", run="mine").run
    assert run.manifest.sources == {"data": f"{web.url}/a.csv"}


def test_stores_are_set_by_the_variables_of_their_own_tools(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("AZURE_", "AWS_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # no look-up of keys beyond this machine
    with pytest.raises(DataError, match="the storage account is not known; set AZURE_STORAGE_ACCOUNT with"):
        find_store("az://lake/a.csv")
    assert find_store("abfss://lake@mine.dfs.core.windows.net/b/a.csv")[1] == "lake/b/a.csv"
    connection = "AccountName=mine;AccountKey=a2V5==;BlobEndpoint=http://127.0.0.1:10000/mine"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
    assert azure_settings()["account_key"] == "a2V5=="
    assert azure_settings()["blob_storage_authority"] == "127.0.0.1:10000"
    store, path = find_store("az://lake/b/a.csv")
    assert (store.type_name, path) == ("abfs", "lake/b/a.csv")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:4443")
    store, path = find_store("gs://lake/a.csv")
    assert (store.type_name, path) == ("gcs", "lake/a.csv")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert find_store("s3://lake/a.csv")[0].region == "us-east-1"
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert find_store("s3://lake/a.csv")[0].region == "eu-central-1"


def test_without_its_package_the_hub_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"hf://… needs huggingface_hub: pip install 'karat\[hf\]'"):
        open_source("hf://datasets/mine/rows/a.parquet")


def test_googles_status_is_printed_once():
    details = "error_info={reason=, metadata={gcloud-cpp.retry.original-message=CURL error [7]=Could not connect}}"
    status = f"google::cloud::Status(UNAVAILABLE: Retry policy exhausted: CURL error [7]=Could not connect {details})"
    told = explain_error("gs://bucket/x.csv", OSError(status))
    expected = "the store cannot be reached (UNAVAILABLE: Retry policy exhausted: CURL error [7]=Could not connect)"
    assert told == f"gs://bucket/x.csv: {expected}"
