"""A condition that makes an arbitrarily large value from a number is refused before it runs."""

from __future__ import annotations

import itertools
from threading import Timer

import duckdb
import pytest

from karat.core.errors import DataError
from karat.data.filter import LARGEST, names_in
from karat.data.open import open_source

TOO_LARGE = [
    "repeat('x', 2000000000) = ''",
    "REPEAT('x', 1000001) = ''",
    "a.repeat(2000000000) = ''",
    "main.repeat(a, 2000000000) = ''",
    "repeat('x', '2000000000') = ''",
    "repeat(['x'], 2000000000) = []",
    "repeat(repeat('x', 100000), 100000) = ''",
    "repeat(a || repeat('x', 100000), 100000) = ''",
    "lpad(rpad(a, 10000, 'x'), 10000, 'x') = ''",
    "replace(repeat('x', 100000), 'x', repeat('y', 100000)) = ''",
    "array_to_string(range(1000000), 'a text between') = ''",
    "len(list_transform(range(1000000), lambda x: repeat('x', 1000000))) > 0",
    "len([repeat('x', 1000000) for y in range(1000000)]) > 0",
    "levenshtein(repeat('ab', 300000), repeat('ba', 300000)) > 0",
    "len(generate_series(1, 1000000000)) > 1",
    "len(range(-1000000000, -1)) > 1",
    "len(list_resize([1], 1000000000)) > 1",
    "CASE WHEN a = 'x' THEN repeat('x', 100000000) END = ''",
    "printf('%1000000000d', 1) = ''",
    "hex(" * 30 + "a" + ")" * 30 + " = ''",
    "url_encode(" * 30 + "a" + ")" * 30 + " = ''",
    "CAST(CAST(" * 10 + "a" + " AS BLOB) AS VARCHAR)" * 10 + " = ''",
    "list_transform(" * 30 + "['x']" + ", lambda x: x || x)" * 30 + " = []",
    "replace(" * 30 + "'x'" + ", 'x', 'xx')" * 30 + " = ''",
]
UNKNOWN = [
    "repeat('x', length(a)) = ''",
    "repeat('x', 1e9) = ''",
    "repeat('x', 1000 * 1000 * 1000) = ''",
    "lpad(a, n, 'x') = ''",
    "len(range(n)) > 0",
    "len(n.range(1000000)) > 0",
    "printf(a, 1) = ''",
    "format('{:{}}', 1, 1000000000) = ''",
    "printf('%*d', 1000000000, 1) = ''",
    "list_reduce([1, 2, 3], lambda x, y: x || x) = ''",
    "list_reduce(l, lambda x, y: replace(x, 'a', 'aa')) = ''",
    "sleep_ms(1000000000) IS NULL",
]
FINE = [
    "a = 'x' AND n > 3 OR a LIKE '%x%'",
    "lpad(a, 10, '0') = '0000000001' AND rpad(b, 1000000, '0') = a AND repeat('x', 1000000) = b",
    "levenshtein(a, b) < 3",
    "len([x for x in l if x > 2]) > 1",
    "list_reduce(l, lambda x, y: x + y) > 3",
    "len(range(5)) = 5",
    "printf('%05d', n) = '00001'",
    "replace(replace(replace(replace(a, 'x', 'y'), 'y', 'zz'), 'ä', 'ae'), '.', '') = 'z'",
    "json_extract_string(a, '$.x') = '1' AND b->>'$.y' = '2' AND a->'$.z' IS NULL",
    "regexp_replace(lower(trim(a)), '[^a-z]+', ' ', 'g') = lower(trim(b))",
    "date_part('year', a::TIMESTAMP) > 2000 AND coalesce(a, b) IS NOT NULL",
    "md5(a) < '8' AND hex(a) = '61' AND to_json(l) = '[]'",
]


@pytest.mark.parametrize("where", TOO_LARGE)
def test_what_is_too_large_is_refused(where):
    with pytest.raises(DataError, match=f"more than {LARGEST:,} times as large as the data; write smaller numbers"):
        names_in(where)


@pytest.mark.parametrize("where", UNKNOWN)
def test_what_may_have_any_size_is_refused(where):
    with pytest.raises(
        DataError, match=r"write the number itself|constant text|name each value once|leave sleep_ms out"
    ):
        names_in(where)


@pytest.mark.parametrize("where", FINE)
def test_usual_conditions_are_taken(where):
    names_in(where)


def test_the_refusal_comes_before_the_rows_are_read():
    with pytest.raises(DataError, match=r"^the condition .* may make values more than 1,000,000 times"):
        open_source([{"a": "1"}], where="repeat(a, 2000000000) = ''")


def test_every_function_of_duckdb_that_enlarges_by_a_number_is_known():
    """Each is called with a large number at every place; one whose value then is large is refused in a condition."""
    connection, large = duckdb.connect(config={"enable_external_access": "false"}), set()
    listed = connection.execute(
        "SELECT DISTINCT function_name, len(parameters) + more FROM duckdb_functions(), range(3) AS t(more)"
        " WHERE function_type IN ('scalar', 'macro') AND (more = 0 OR varargs IS NOT NULL)"
    ).fetchall()
    for name, count in listed:
        if not name.isidentifier() or "sleep" in name or not 0 < count <= 4:
            continue
        for arguments in itertools.product(("'ab'", "2500000", "['ab']"), repeat=count):
            call = f"{name}({', '.join(arguments)})"
            if "2500000" not in arguments:
                continue
            timer = Timer(10, connection.interrupt)
            timer.start()
            try:
                (length,) = connection.execute(f"SELECT length(CAST({call} AS VARCHAR))").fetchone()
            except duckdb.Error:
                continue
            finally:
                timer.cancel()
            if (length or 0) > LARGEST:
                large.add(name)
                with pytest.raises(DataError, match="write"):
                    names_in(f"{call} IS NULL")
    assert large >= {"repeat", "lpad", "rpad", "range", "generate_series", "list_resize"}
