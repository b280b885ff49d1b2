"""What is too deep, too long or too large: an error with the file, the place and the remedy, without Python's names."""

from __future__ import annotations

import errno
import json
import re

import pyarrow as pa
import pytest
from click.testing import CliRunner

import karat
from karat.cli.main import main
from karat.core import atomic
from karat.data.open import open_source
from karat.data.storage import files
from karat.data.write import write

DEEP, DIGITS = "[" * 5000 + "]" * 5000, "9" * 6000
ROW = '{"prediction": "a", "gold": "a"}'
INSIDE = [
    ("rows.jsonl", f"{ROW}\n{{%s}}\n", "line 2"),
    ("rows.json", f"[{ROW}, {{%s}}]", ""),
    ("promptfoo.json", '{"results": {"results": [{%s}]}}', ""),
    ("inspect.json", '{"eval": {"task": "t"},\n"samples": [{%s}]}', "line 2"),
    ("answers.json", '{"q1": {%s}}', ""),
]


@pytest.mark.parametrize(("name", "content", "place"), INSIDE)
def test_what_is_nested_too_deeply_is_said_with_its_place(tmp_path, name, content, place):
    path = tmp_path / name
    path.write_text(content % f'"prediction": "a", "gold": {DEEP}')
    with pytest.raises(karat.errors.DataError, match=rf"{name}.*nested more than 128 deep at .*character \d+") as error:
        karat.score(path, "exact_match")
    assert place in str(error.value)
    assert not re.search("ecursion", str(error.value))


@pytest.mark.parametrize(("name", "content", "place"), INSIDE[2:])
def test_a_number_of_too_many_digits_is_said_with_its_place(tmp_path, name, content, place):
    path = tmp_path / name
    path.write_text(content % f'"prediction": "a", "gold": {DIGITS}')
    with pytest.raises(karat.errors.DataError, match=rf"{name}.*more than 4,300 digits.* at .*character \d+") as error:
        karat.score(path, "exact_match")
    assert place in str(error.value)
    assert "set_int" not in str(error.value)


@pytest.mark.parametrize("value", [DEEP, DIGITS])
@pytest.mark.parametrize("metric", ["exact_match", "json_match", "numeric_match", "column(gold)"])
@pytest.mark.parametrize("form", ["jsonl", "csv", "openai"])
def test_no_message_speaks_of_pythons_limits(tmp_path, value, metric, form):
    path = tmp_path / f"rows.{'csv' if form == 'csv' else 'jsonl'}"
    event = f'{{"sample_id": "1", "type": "match", "data": {{"expected": {value}}}}}'
    path.write_text(
        {
            "jsonl": f'{{"prediction": "1", "gold": {value}}}\n' * 2,
            "csv": f"prediction,gold\n1,{value}\n",
            "openai": f'{{"spec": {{"completion_fns": ["x"]}}}}\n{event}\n',
        }[form]
    )
    done = CliRunner().invoke(main, ["score", str(path), "-m", metric])
    assert done.exception is None or isinstance(done.exception, SystemExit)  # a traceback is neither
    assert not re.search("set_int|ecursion", done.output)
    assert done.exit_code in (0, 1)


def test_a_manifest_of_300_mb_is_refused_before_it_is_read(tmp_path, monkeypatch, python):
    monkeypatch.chdir(tmp_path)
    karat.score([json.loads(ROW)], "exact_match", run="large")
    manifest = tmp_path / "karat-runs" / "large" / "manifest.json"
    with manifest.open("r+b") as file:
        file.truncate(300 << 20)
    done = python.run("-m", "karat", "runs", "show", "large")
    assert done.returncode == 1
    assert "manifest.json has 300 MB, more than the 256 MB that karat reads" in done.stderr


@pytest.mark.parametrize("name", ["r" * 300, "ü" * 150])
def test_a_run_name_that_no_disk_takes_is_refused_before_anything_is_scored(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(karat.errors.SpecError, match=r"a name of 300 bytes; expected at most 200"):
        karat.score(tmp_path / "missing.jsonl", "exact_match", run=name)
    karat.score([json.loads(ROW)], "exact_match", run="r" * 200)


def no_room(*_, **__):
    raise OSError(errno.ENOSPC, "Error writing bytes to file")


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_full_disk_names_the_output_and_the_remedy(tmp_path, form):
    def rows():
        yield pa.record_batch({"a": ["x"]})
        no_room()

    path = tmp_path / f"out.{form}"
    with pytest.raises(OSError, match=r"the disk is full: free some room there.*out\.") as error:
        write(rows(), pa.schema([("a", pa.string())]), path)
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(path))
    assert not path.exists()


def test_a_full_disk_for_temporary_files_names_the_folder_to_set(tmp_path, monkeypatch):
    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.string())]), iter([pa.record_batch({"a": ["x"]})]))
    monkeypatch.setattr(pa.ipc, "new_stream", no_room)
    with pytest.raises(OSError, match="the disk is full: set TMPDIR to a folder with more room"):
        open_source(reader)
    with pytest.raises(OSError, match="the disk is full: set TMPDIR"), files.TemporaryFile().writing():
        no_room()


def test_other_errors_of_the_disk_stay_as_they_are(tmp_path):
    with pytest.raises(PermissionError), atomic.replacing(tmp_path / "a"):
        raise PermissionError(errno.EACCES, "denied", "other")
    with pytest.raises(OSError, match="other"), atomic.replacing(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device", "other")
