"""Queries are scored by their rows; they cannot write, reach other files or run on; a reader sees why one is wrong."""

import contextlib
import sqlite3
from threading import Event

import duckdb
import pytest

import karat
from karat.core.metric.spec import parse
from karat.core.parallel import map_ordered
from karat.errors import SpecError
from karat.metrics import sql_match
from karat.metrics.answers.sql import databases
from karat.metrics.answers.sql.queries import is_ordered

TABLE = "CREATE TABLE item (name TEXT, price REAL, sold INTEGER)"
ROWS = "INSERT INTO item VALUES ('tea', 3.5, 10), ('rum', 9.25, 2), ('ale', 3.5, 2)"
FOREVER = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"


def make_sqlite(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(";".join(statements or (TABLE, ROWS)))
    return path


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """The same table in a database of each kind."""
    folder = tmp_path_factory.mktemp("shops")
    make_sqlite(folder / "shop.sqlite")
    with duckdb.connect(folder / "shop.duckdb") as database:
        database.execute(f"{TABLE}; {ROWS}")
    return folder


@pytest.fixture(params=["shop.sqlite", "shop.duckdb"])
def shop(request, shops):
    return shops / request.param


def examine(file, predicted, gold, **settings):
    """The score, the reason and the difference of one row."""
    metric = sql_match.using(file=str(file), **settings)
    row = karat.score([{"prediction": predicted, "reference": gold}], metric).table.to_pylist()[0]
    return row[metric.spec], row.get("reason"), row[f"{metric.spec}.difference"]


COMPARED = [
    ("SELECT price, name FROM item", "SELECT name, price FROM item ;", 1, None),
    ("SELECT name FROM item ORDER BY name", "SELECT name FROM item", 1, None),
    ("SELECT name FROM item", "SELECT name FROM item ORDER BY name", 0, "the rows are in another order"),
    ("SELECT sum(price) / 3 FROM item", "SELECT avg(price) FROM item", 1, None),
    ("SELECT price FROM item", "SELECT DISTINCT price FROM item", 0, "3 rows, 2 expected"),
    ("SELECT name FROM item WHERE sold > 99", "SELECT name FROM item WHERE price < 0", 1, None),
    ("SELECT name FROM item WHERE name = 'rum'", "SELECT 'tea'", 0, "the row ('rum') is not expected"),
    ("SELECT 3", "SELECT 3.0", 1, None),
    ("SELECT '3'", "SELECT 3", 0, "the row ('3') is not expected"),
    ("SELECT NULL", "SELECT 0", 0, "the row (None) is not expected"),
]


def test_rows_are_compared(shop):
    predicted, gold, scores, differences = map(list, zip(*COMPARED, strict=True))
    metric = sql_match.using(file=str(shop))
    table = karat.score({"prediction": predicted, "reference": gold}, metric).table
    assert table[metric.spec].to_pylist() == scores
    assert table[f"{metric.spec}.difference"].to_pylist() == differences


REFUSED = [
    "DELETE FROM item",
    "INSERT INTO item VALUES ('gin', 1, 1)",
    "CREATE TABLE other AS SELECT 1",
    "CREATE TEMP TABLE other AS SELECT 1",
    "ATTACH 'other.db' AS other",
    "PRAGMA database_list",
    "SELECT 1; DELETE FROM item",
    "SELECT load_extension('x')",
    "SELECT * FROM read_csv('shop.sqlite')",
    "SELECT * FROM sqlite_scan('shop.sqlite', 'item')",
    "SELECT name FROM pragma_function_list",
    "COPY item TO 'out.csv'",
    "VACUUM INTO 'copy.db'",
    "INSTALL httpfs",
    "SET memory_limit = '100GB'",
    "SELECT nmae FROM item",
    "SELECT ?",
    "",
    "I cannot answer that.",
]


def test_a_query_that_fails_or_may_not_run_scores_0_and_changes_nothing(shop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = shop.read_bytes(), sorted(shop.parent.iterdir())
    scores = sql_match.using(file=str(shop))([*REFUSED, "SELECT 1"], ["SELECT 1"] * (len(REFUSED) + 1)).to_pylist()
    assert scores == [0.0] * len(REFUSED) + [1.0]
    assert (shop.read_bytes(), sorted(shop.parent.iterdir())) == before
    assert not list(tmp_path.iterdir())


def test_a_reader_sees_why(shop):
    score, reason, difference = examine(shop, "SELECT nmae FROM item", "SELECT name FROM item")
    assert (score, reason) == (0, None)
    assert difference.startswith("the query fails: ")
    assert "nmae" in difference
    score, reason, difference = examine(shop, "SELECT name FROM item", "SELECT nmae FROM item")
    assert (score, difference) == (None, None)
    assert reason.startswith("the gold query fails: ")


def test_time_rows_and_size_are_bounded(shop, monkeypatch):
    assert examine(shop, FOREVER, "SELECT 1", seconds=0.2)[2] == "the query fails: it takes longer than 0.2 s"
    many = "SELECT a.name FROM item a, item b"
    assert examine(shop, many, "SELECT 1", most_rows=8)[2] == "the query fails: it returns more than 8 rows"
    assert examine(shop, "SELECT 1", many, most_rows=8)[1] == "the gold query fails: it returns more than 8 rows"
    monkeypatch.setattr(databases, "BYTES", 20)
    assert examine(shop, many, "SELECT 1")[2] == "the query fails: it returns more than 0 MB"


def test_a_connection_is_used_again_after_a_query_was_interrupted(shop):
    predicted = [FOREVER, "SELECT count(*) FROM item"]
    assert sql_match.using(file=str(shop), seconds=0.2)(predicted, ["SELECT 3"] * 2).to_pylist() == [0, 1]


def test_a_query_that_nobody_waits_for_ends(shop, monkeypatch):
    monkeypatch.setenv("KARAT_THREADS", "2")
    started, ended = Event(), []

    def work(item):
        if item == "fails":
            started.wait()
            raise ValueError(item)
        started.set()
        try:
            sql_match.using(file=str(shop), seconds=100)([FOREVER, "SELECT 1"], ["SELECT 1"] * 2)
        except InterruptedError:
            ended.append(item)

    with pytest.raises(ValueError, match="fails"):
        list(map_ordered(work, ["fails", "asks"]))
    assert ended == ["asks"]


def test_all_databases_of_a_folder_count(tmp_path, monkeypatch):
    for name, price in (("pets", 1), ("pets_2", 5)):
        (tmp_path / "pets").mkdir(exist_ok=True)
        make_sqlite(
            tmp_path / "pets" / f"{name}.sqlite", f"CREATE TABLE item AS SELECT 'dog' AS name, {price} AS price"
        )
    make_sqlite(tmp_path / "shop.sqlite")
    (tmp_path / "pets" / "schema.sql").write_text(TABLE)
    monkeypatch.setenv("KARAT_DATABASES", str(tmp_path))
    rows = [
        {"db_id": "pets", "prediction": "SELECT name FROM item WHERE price = 1", "reference": "SELECT name FROM item"},
        {"db_id": "pets", "prediction": "SELECT 'dog'", "reference": "SELECT name FROM item"},
        {"db_id": "shop", "prediction": "SELECT 3", "reference": "SELECT count(*) FROM item"},
        {"db_id": "shpo", "prediction": "SELECT 3", "reference": "SELECT 3"},
        {"db_id": "pets/schema.sql", "prediction": "SELECT 3", "reference": "SELECT 3"},
    ]
    table = karat.score(rows, "sql_match").table
    assert table["sql_match"].to_pylist() == [0, 1, 1, None, None]
    assert table["sql_match.difference"][0].as_py() == "0 rows, 1 expected (pets_2.sqlite)"
    assert "did you mean 'shop" in table["reason"][3].as_py()
    assert "is not a database of SQLite or DuckDB" in table["reason"][4].as_py()
    with pytest.raises(SpecError, match="there is no database"):
        sql_match.using(file="shpo")(["SELECT 1"], ["SELECT 1"])


def test_a_database_with_a_log_is_read_as_it_is(tmp_path):
    path = tmp_path / "log.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as writer:
        writer.executescript(f"PRAGMA journal_mode = wal; {TABLE}; {ROWS}")
        assert sql_match.using(file=str(path))(["SELECT count(*) FROM item"], ["SELECT 3"]).to_pylist() == [1.0]


def test_the_presets_of_spider_and_bird(tmp_path):
    file = str(make_sqlite(tmp_path / "shop.sqlite"))
    pairs = [
        ("SELECT DISTINCT price FROM item", "SELECT price FROM item", 1, 1),
        ("SELECT price, price FROM item", "SELECT DISTINCT price FROM item", 0, 0),
        ("SELECT sold, name FROM item", "SELECT name, sold FROM item", 1, 0),
        ("SELECT name FROM item", "SELECT name FROM item ORDER BY name", 0, 1),
        ("SELECT price FROM item WHERE sold > = 2", "SELECT price FROM item", 1, 0),
        ("SELECT 2", "SELECT count(*) FROM (SELECT * FROM item ORDER BY name LIMIT 2)", 1, 1),
        ("SELECT name FROM item ORDER BY 1", "SELECT name FROM item WHERE 1 IN (SELECT 1 ORDER BY 1)", 0, 1),
    ]  # fmt: skip
    predicted, gold, *expected = zip(*pairs, strict=True)
    for preset, scores in zip(("spider", "bird"), expected, strict=True):
        assert parse(f"preset:{preset}").using(file=file)(predicted, gold).to_pylist() == list(scores)


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("select a from t Order  By a", True),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER/* a */BY 1", True),
        ("WITH t AS (SELECT 1) SELECT * FROM t ORDER BY 1;", True),
        ("SELECT rank() OVER (ORDER BY a) FROM t", False),
        ("SELECT 'order by' FROM \"order by\" -- order by", False),
        ("SELECT a FROM [order by] WHERE b = 'it''s (' ORDER BY c", True),
    ],
)
def test_the_order_of_the_query_itself_counts(query, ordered):
    assert is_ordered(query) == ordered
