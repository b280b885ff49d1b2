"""A file is there whole or not at all; what must be on the disk before a rename and after it."""

import os
from pathlib import Path

import pytest

from karat.core import atomic
from karat.core.atomic import replacing, sync, write_text


@pytest.fixture
def events(monkeypatch, tmp_path):
    """What is synced, as a file's text or as the names in a folder, and each rename, in order."""
    found = []

    def fsync(handle, stat=os.fstat):
        (path,) = (each for each in (tmp_path, *tmp_path.iterdir()) if os.path.samestat(each.stat(), stat(handle)))
        found.append([each.name for each in path.iterdir()] if path.is_dir() else path.read_text())

    def replace(path, target, really=Path.replace):
        found.append("renamed")
        return really(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    return found


def test_the_content_is_on_the_disk_before_the_rename_and_the_name_after_it(events, tmp_path):
    write_text(tmp_path / "a", "whole")
    assert events == ["whole", "renamed", *([["a"]] if os.name != "nt" else [])]


def test_nothing_waits_for_the_disk_where_a_loss_does_no_harm(events, tmp_path):
    with replacing(tmp_path / "a", durable=False) as temporary:
        temporary.write_text("whole")
    assert events == ["renamed"]


def test_after_an_error_the_file_is_as_it_was(tmp_path):
    write_text(tmp_path / "a", "old")

    def fail():
        with replacing(tmp_path / "a") as temporary:
            temporary.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a", "old")]


def test_two_that_write_one_file_do_not_mix(tmp_path):
    with replacing(tmp_path / "a") as first, replacing(tmp_path / "a") as second:
        first.write_text("first")
        second.write_text("second")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a", "first")]


def test_windows_opens_no_folder(events, tmp_path, monkeypatch):
    file = tmp_path / "a"
    file.write_text("whole")
    with monkeypatch.context() as patch:
        patch.setattr("karat.core.atomic.os.name", "nt")
        sync(tmp_path)
        assert events == []
    sync(file)
    assert events == ["whole"]


def test_a_file_is_synced_while_it_is_written(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(atomic, "sync", lambda path: synced.append(path.read_bytes()))
    with (tmp_path / "a").open("wb", buffering=0) as file, atomic.syncing(tmp_path / "a") as start:
        file.write(b"one")
        start()
        while not synced:
            pass
        file.write(b"two")
    assert synced == [b"one"]


def test_an_error_of_the_disk_while_a_file_is_written_is_raised(tmp_path, monkeypatch):
    def fail(path):
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(atomic, "sync", fail)
    with pytest.raises(OSError, match="Input/output"), atomic.syncing(tmp_path / "a") as start:
        start()
