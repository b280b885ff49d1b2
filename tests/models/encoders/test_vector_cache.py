"""Vectors kept on disk: each made once, shared by processes, never half there."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest

from karat.core.errors import DataError
from karat.models.encoders.encoder import EncoderOutput
from karat.models.encoders.vector_cache import VectorCache, vectors_path


class Maker:
    """Gives a text's length, NaN for what is called `nothing`; `long` was cut."""

    def __init__(self):
        self.blocks = []

    def __call__(self, texts):
        self.blocks.append(list(texts))
        rows = [[np.nan if text == "nothing" else len(text), 1] for text in texts]
        return EncoderOutput(np.array(rows, dtype=np.float32), np.array([text == "long" for text in texts]))


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "folder" / "vectors.sqlite")


def test_what_is_kept_is_not_made_again(path):
    make = Maker()
    for store in (VectorCache(path), VectorCache(path)):
        made = store.fetch("m", ["a", "long", "ccc"], make)
        assert made.rows.tolist() == [[1, 1], [4, 1], [3, 1]]
        assert made.truncated.tolist() == [False, True, False]
        store.close()
    assert len(make.blocks) == 1


def test_makers_and_pairs_are_told_apart(path):
    store, make = VectorCache(path), Maker()
    for maker in ("one", "two"):
        store.fetch(maker, ["a"], make)
    for pair in (("ab", "c"), ("a", "bc"), ("a\0b", "c")):
        store.fetch("one", [pair], lambda pairs: make([left for left, _ in pairs]))
    assert make.blocks == [["a"], ["a"], ["ab"], ["a"], ["a\0b"]]
    store.close()


def test_blocks_go_by_length_and_are_told(path):
    store, make, told = VectorCache(path), Maker(), []
    texts = ["x" * length for length in (5, 1, 4, 2, 3)]
    made = store.fetch("m", texts, make, block=2, on_done=told.append)
    assert [list(map(len, block)) for block in make.blocks] == [[5, 4], [3, 2], [1]]
    assert made.rows[:, 0].tolist() == [5, 1, 4, 2, 3]
    assert told == [0, 2, 2, 1]
    store.close()


def test_blocks_that_are_made_are_kept_when_a_later_one_fails(path):
    store, make = VectorCache(path), Maker()

    def fails_at_short_ones(texts):
        if len(texts[0]) == 1:
            raise KeyboardInterrupt
        return make(texts)

    with pytest.raises(KeyboardInterrupt):
        store.fetch("m", ["aaa", "bb", "c"], fails_at_short_ones, block=1)
    store.fetch("m", ["aaa", "bb", "c"], make)
    assert make.blocks == [["aaa"], ["bb"], ["c"]]
    store.close()


def test_what_is_no_vector_is_not_kept(path):
    store, make = VectorCache(path), Maker()
    for _ in range(2):
        made = store.fetch("m", ["nothing", "a"], make)
        assert np.isnan(made.rows[0, 0])
        assert made.rows[1, 0] == 1
    assert make.blocks == [["nothing", "a"], ["nothing"]]
    store.close()


def test_a_file_does_not_grow_beyond_its_bound(path):
    store, make = VectorCache(path, max_bytes=400_000), Maker()
    store.fetch("m", [f"{number:05}" for number in range(20_000)], make, block=500)
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    assert pages * 4096 < 600_000
    store.close()


def test_a_file_that_is_too_large_forgets_its_oldest_quarter(path):
    store, make = VectorCache(path), Maker()
    store.fetch("m", [f"{number:04}" for number in range(1000)], make, block=1000)
    store.close()
    smaller = VectorCache(path, max_bytes=10_000)
    kept = smaller.fetch("m", [f"{number:04}" for number in range(1000)], make, block=1000)
    assert len(make.blocks[1]) == 250
    assert (kept.rows[:, 0] == 4).all()
    smaller.close()


WRITER = """
import sys, numpy as np
from karat.models.encoders.encoder import EncoderOutput
from karat.models.encoders.vector_cache import VectorCache
make = lambda texts: EncoderOutput(np.array([[len(t), int(t)] for t in texts], np.float32), np.zeros(len(texts), bool))
store = VectorCache(sys.argv[1])
made = store.fetch("m", [str(n) for n in range(2000)], make, block=50)
assert made.rows[:, 1].tolist() == list(range(2000))
"""


def test_processes_share_a_file(path, python):
    both = [python("-c", WRITER, path) for _ in range(3)]
    assert [each.wait() for each in both] == [0, 0, 0]
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM vectors").fetchone() == (2000,)
    db.close()


def test_a_file_of_something_else_is_told(tmp_path):
    other = tmp_path / "other"
    other.write_text("no database at all, but long enough to be looked at" * 20)
    with pytest.raises(DataError, match=r"cache of vectors.*KARAT_VECTORS"):
        VectorCache(str(other))
    newer = tmp_path / "newer"
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(DataError, match="newer karat"):
        VectorCache(str(newer))


def test_where_vectors_are_kept_is_told_by_the_environment(monkeypatch):
    monkeypatch.setenv("KARAT_VECTORS", "off")
    assert vectors_path() == ""
    monkeypatch.setenv("KARAT_VECTORS", "here.sqlite")
    assert vectors_path() == "here.sqlite"
    monkeypatch.delenv("KARAT_VECTORS")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert vectors_path() == "/somewhere/karat/vectors.sqlite"


def test_a_flipped_bit_never_gives_another_vector(path):
    texts = ["x" * length for length in range(1, 60)]
    with VectorCache(path) as store:
        expected = store.fetch("m", texts, Maker()).rows
    file = Path(path)
    whole, random, given = file.read_bytes(), Random(0), 0  # noqa: S311
    content = [at for at in range(len(whole)) if whole[at]]  # most of a page is zeros
    for at in random.sample(content, 300):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << random.randrange(8)]) + whole[at + 1 :])
        with suppress(DataError):
            with VectorCache(path) as store:
                found = store.fetch("m", texts, Maker())
            given += 1
            assert (found.rows == expected).all()
            assert not found.truncated.any()
    assert given < 290  # flips of keys are most, and mean that they are not found
