"""Files by path or address are opened, listed and identified alike."""

import os

import pytest

from karat.core.errors import DataError
from karat.data.storage.remote_files import FileId, identify, list_files, open_file

KEYS = ("run/part-1.csv", "run/part-0.csv", "run/_SUCCESS", "mixed/a.json", "mixed/b.csv", "deep/d=1/a.csv")


@pytest.fixture
def lake(s3):
    for key in KEYS:
        s3.put(key, key.encode())
    return s3


@pytest.fixture
def folder(tmp_path):
    for key in KEYS:
        (tmp_path / key).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / key).write_text(key)
    return tmp_path


LISTED = [
    ("run/part-0.csv", ["run/part-0.csv"]),
    ("run/", ["run/part-0.csv", "run/part-1.csv"]),
    ("run/*.csv", ["run/part-0.csv", "run/part-1.csv"]),
    ("run/part-[!0].csv", ["run/part-1.csv"]),
    ("*/b.*", ["mixed/b.csv"]),
    ("**/?.csv", ["deep/d=1/a.csv", "mixed/b.csv"]),
    ("**/**/?.csv", ["deep/d=1/a.csv", "mixed/b.csv"]),
]
REFUSED = [
    ("run/*.json", "no file matches this pattern"),
    ("mixed/", r"expected data files of one format, found files that end in '\.csv', '\.json'; write .*mixed/\*\.json"),
    ("deep/", r"files in folders below \(d=1/a.csv\); write .*deep/\*\*/\*\.csv"),
    ("run/part-2.csv", "no such file; did you mean 'part-[01].csv'"),
]


@pytest.mark.parametrize(("pattern", "names"), LISTED)
def test_files_are_listed_by_pattern_and_folder_in_both_places(lake, folder, pattern, names):
    there, here = list_files(f"s3://lake/{pattern}"), list_files(f"{folder}/{pattern}")
    assert [file.path for file in there] == [f"s3://lake/{name}" for name in names]
    assert [file.path for file in here] == [f"{folder}/{name}" for name in names]
    assert [file.size for file in there] == [file.size for file in here] == [len(name) for name in names]
    assert open_file(there[0].path).read() == open_file(here[0].path).read() == names[0].encode()


@pytest.mark.parametrize(("pattern", "message"), REFUSED)
def test_what_cannot_be_listed_is_named_with_what_to_write(lake, folder, pattern, message):
    for place in ("s3://lake", folder):
        with pytest.raises(DataError, match=message):
            list_files(f"{place}/{pattern}")


def test_a_name_with_characters_of_patterns_is_one_file(s3):
    s3.put("a[1].csv")
    s3.put("a1.csv")
    assert [file.path for file in list_files("s3://lake/a[1].csv")] == ["s3://lake/a[1].csv"]


def test_an_identity_changes_with_the_content_alone(s3, tmp_path):
    s3.put("rows.csv", b"one")
    before = identify("s3://lake/rows.csv")
    s3.put("rows.csv", b"one")
    assert identify("s3://lake/rows.csv") == before
    s3.put("rows.csv", b"two")
    assert identify("s3://lake/rows.csv") != before
    path = tmp_path / "rows.csv"
    path.write_text("one")
    os.utime(path, ns=(0, 1))
    here = identify(path)
    os.utime(path, ns=(0, 2))
    assert identify(path) != here
    assert identify(os.path.relpath(path)).path == here.path


def test_a_file_that_was_replaced_has_another_identity_even_with_the_size_and_time_of_before(tmp_path):
    path, other = tmp_path / "rows.csv", tmp_path / "other.csv"
    path.write_text("one")
    before, time = identify(path), path.stat().st_mtime_ns
    while identify(path) == before:  # a file system may count time in steps of some milliseconds
        other.write_text("two")
        os.utime(other, ns=(time, time))
        other.replace(path)
        assert path.stat().st_mtime_ns == time
    assert path.stat().st_size == before.size


def test_of_a_web_address_too_without_its_signature(web):
    web.files["rows.csv"] = b"one"
    address = f"{web.url}/rows.csv?signature=abc"
    [file] = list_files(address)
    assert (file.path, file.name, file.size) == (address, f"{web.url}/rows.csv", 3)
    web.files["rows.csv"] = b"two"
    assert identify(address) == FileId(address, 3, identify(address).tag) != file
    with pytest.raises(DataError, match=rf"{web.url}/row.csv: no such file \(status 404\)"):
        list_files(f"{web.url}/row.csv?signature=abc")
