"""Databases are used again, and what a connection did is not seen by the next."""

import os
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

from karat.data.storage import duckdb as storage


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """Starts without open databases; the settings of those that are opened."""
    seen, open_database = [], storage._open
    monkeypatch.setattr(storage, "_open", lambda **settings: seen.append(settings) or open_database(**settings))
    storage._IDLE.clear()
    return seen


def test_a_database_is_used_again_without_what_was_set_and_registered(opened):
    first = storage.connect(40_000)
    first.register("rows", pa.table({"x": [1]}))
    wide = first.execute("SELECT current_setting('memory_limit')").fetchone()
    first.close()
    del first
    second = storage.connect()
    assert len(opened) == 1
    assert second.execute("SELECT current_setting('memory_limit')").fetchone() != wide
    with pytest.raises(duckdb.CatalogException):
        second.execute("FROM rows")


def test_connections_that_are_open_at_once_and_other_settings_have_databases_of_their_own(opened, monkeypatch):
    first, second = storage.connect(), storage.connect()
    offline = storage.connect(enable_external_access="false")
    assert len(opened) == 3
    del first, second, offline
    with pytest.raises(duckdb.PermissionException):
        storage.connect(enable_external_access="false").execute("FROM read_csv('x.csv')")
    monkeypatch.setenv("KARAT_THREADS", "1")
    assert storage.connect().execute("SELECT current_setting('threads')").fetchone() == (1,)
    assert len(opened) == 4


def test_a_database_whose_options_are_locked_is_not_used_again(opened):
    alone = storage.connect_alone(memory_limit="100MB")
    alone.execute("SET enable_external_access = false; SET lock_configuration = true")
    assert alone.execute("SELECT current_setting('memory_limit')").fetchone() == ("95.3 MiB",)
    del alone
    assert storage.connect().execute("SELECT current_setting('enable_external_access')").fetchone() == (True,)
    assert len(opened) == 2


def test_a_database_that_answers_nothing_any_more_is_replaced(opened, monkeypatch):
    storage.connect()
    prepare = storage._prepare

    def fail_once(connection):
        monkeypatch.setattr(storage, "_prepare", prepare)
        raise duckdb.FatalException("the database has been invalidated")

    monkeypatch.setattr(storage, "_prepare", fail_once)
    assert storage.connect().execute("SELECT 1").fetchone() == (1,)
    assert len(opened) == 2


FORK = """
import os, sys
from karat.data.storage.duckdb import connect

count = lambda: connect().execute("SELECT count(*) FROM range(3_000_000)").fetchone()
assert count() == (3_000_000,)
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert count() == (3_000_000,)
sys.exit(7)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_opens_its_own_and_ends():
    assert subprocess.run([sys.executable, "-c", FORK], timeout=60, check=False).returncode == 7
