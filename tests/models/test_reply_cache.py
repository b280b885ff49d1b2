"""Replies on disk: kept at once, shared by processes, and clear about a file it cannot use."""

import json
import os
import sqlite3
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from karat.core.errors import DataError
from karat.models.reply_cache import ReplyCache
from karat.models.request import Reply


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.sqlite"


def test_a_reply_comes_back_as_it_was_but_for_being_cached(path):
    reply = Reply(
        '{"naïve": "😀"}', input_tokens=3, output_tokens=5, cost=0.25, model="m", seconds=1.5, problem="cut off"
    )
    with ReplyCache(path) as store:
        store.put("key", reply)
    with ReplyCache(path) as store:
        kept = store.get("key")
        assert store.get("other") is None
    assert kept == Reply(**{**vars(reply), "cached": True})


def test_the_first_reply_stays(path):
    with ReplyCache(path) as one, ReplyCache(path) as other:
        one.put("key", Reply("first"))
        assert other.put("key", Reply("second")).text == "first"
        assert one.get("key").text == "first"


def test_only_json_is_in_the_file(path):
    with ReplyCache(path) as store:
        store.put("key", Reply("yes"))
    with sqlite3.connect(path) as db:
        ((text,),) = db.execute("SELECT reply FROM replies").fetchall()
    db.close()
    assert json.loads(text)["text"] == "yes"


def test_no_one_else_reads_replies(tmp_path):
    before = os.umask(0o022)
    try:
        with ReplyCache(tmp_path / "karat" / "replies.sqlite") as store:
            store.put("key", Reply("yes"))
            files = sorted((tmp_path / "karat").iterdir())
            assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * len(files)
            assert len(files) == 3  # with the log of SQLite and its index
        assert stat.S_IMODE((tmp_path / "karat").stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_attempts_of_a_run_are_counted_at_their_estimate_until_they_end(path):
    with ReplyCache(path) as store:
        answered, failed, _ = (store.begin_attempt("run", 0.5) for _ in range(3))
        store.begin_attempt("other run", 9.0)
        store.put("key", Reply("yes", input_tokens=1, output_tokens=2), answered, 0.125)
        store.end_attempt(failed, 0.0)
    with ReplyCache(path) as store:
        assert store.spent("run") == (3, 0.625)
        assert store.spent("unknown run") == (0, 0.0)
        store.forget_run("run")
        assert store.spent("run") == (0, 0.0)
        assert store.spent("other run") == (1, 9.0)
        assert store.get("key").text == "yes"


def test_a_file_that_is_no_store_says_so(path):
    path.write_bytes(b"not a database at all " * 100)
    with pytest.raises(DataError, match=r"replies\.sqlite.*not a database.*KARAT_CACHE"):
        ReplyCache(path)
    assert path.read_bytes().startswith(b"not a database")


def test_a_damaged_page_says_so_when_it_is_read(path):
    with ReplyCache(path) as store:
        for number in range(2000):
            store.put(f"key{number}", Reply("x" * 100))
    raw = bytearray(path.read_bytes())
    raw[4096 * 2 :] = b"\xff" * (len(raw) - 4096 * 2)
    path.write_bytes(raw)
    with pytest.raises(DataError, match="malformed"), ReplyCache(path) as store:  # noqa: PT012
        for number in range(2000):
            store.get(f"key{number}")


def test_a_newer_file_is_left_alone(path):
    ReplyCache(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {ReplyCache.version + 1}")
    db.close()
    with pytest.raises(DataError, match="newer karat"):
        ReplyCache(path)


def test_a_place_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="KARAT_CACHE"):
        ReplyCache(tmp_path / "file" / "replies.sqlite")


def test_where_the_file_is(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KARAT_CACHE", raising=False)
    with ReplyCache() as store:
        assert store.path == str(tmp_path / "karat" / "replies.sqlite")
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "mine.sqlite"))
    ReplyCache().close()
    assert (tmp_path / "mine.sqlite").exists()


def test_threads_share_a_store(path):
    with ReplyCache(path) as store, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.put(f"{number % 100}", Reply(str(number % 100))), range(800)))
        assert all(store.get(str(number)).text == str(number) for number in range(100))


WRITER = """
import sys
from karat.models.request import Reply
from karat.models.reply_cache import ReplyCache
with ReplyCache(sys.argv[1]) as store:
    for number in range(300):
        attempt = store.begin_attempt("run", 1.0)
        print(store.put(str(number), Reply(sys.argv[2]), attempt, 0.5).text)
"""


def test_two_processes_write_one_file_and_agree(path, python):
    both = [python("-c", WRITER, path, name, stdout=subprocess.PIPE, text=True) for name in ("one", "other")]
    said = [process.communicate(timeout=60)[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0] == said[1]
    assert len(said[0]) == 300
    with ReplyCache(path) as store:
        assert store.spent("run") == (600, 300.0)


def test_a_flipped_bit_never_gives_another_reply(path):
    replies = {
        f"key {number}": Reply(f"{number} is prime", cost=number / 8, output_tokens=number) for number in range(20)
    }
    with ReplyCache(path) as store:
        for key, reply in replies.items():
            store.put(key, reply)
    whole, random, given = path.read_bytes(), Random(0), 0  # noqa: S311
    content = [at for at in range(len(whole)) if whole[at]]  # most of a page is zeros
    for at in random.sample(content, 300):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << random.randrange(8)]) + whole[at + 1 :])
        with suppress(DataError):
            with ReplyCache(path) as store:
                found = [(store.get(key), reply) for key, reply in replies.items()]
            given += 1
            assert all(cached in (None, replace(reply, cached=True)) for cached, reply in found), at
    assert given < 200


def test_a_reply_of_a_file_without_checksums_is_read(path):
    with ReplyCache(path) as store:
        store.put("key", Reply("yes"))
        with store.transaction() as db:
            db.execute("UPDATE replies SET reply = json_remove(reply, '$.crc32')")
        assert store.get("key").text == "yes"
