"""Work over the cores: in order, bounded, and in parts that are even."""

import threading
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core.context import change_context
from karat.core.errors import SpecError
from karat.core.parallel import FEW, even_part, map_ordered, threads


def test_the_number_of_threads_is_the_variable_but_at_most_16_for_each_core(monkeypatch):
    monkeypatch.delenv("KARAT_THREADS", raising=False)
    cores = threads()
    assert cores >= 1
    for given_, found in {"1": 1, "3": 3, "100000": 16 * cores, str(16 * cores): 16 * cores}.items():
        monkeypatch.setenv("KARAT_THREADS", given_)
        assert threads() == found
    for wrong in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv("KARAT_THREADS", wrong)
        with pytest.raises(SpecError, match=f"KARAT_THREADS='{wrong}': a whole number from 1 is expected"):
            threads()
    with change_context(threads=2):
        assert threads() == 2


@given(st.integers(1, 300_000), st.integers(1, 50_000), st.integers(1, 9))
def test_parts_are_at_most_so_large_and_every_thread_gets_as_many(rows, most, workers):
    with change_context(threads=workers):
        part = even_part(rows, most)
    assert 1 <= part <= most
    if rows > FEW and workers > 1:
        rounds = -(-rows // (workers * most))  # the fewest turns in which the threads can do the work
        assert rounds * workers * part >= rows  # no thread gets one turn more
        assert rounds * workers * (part - 1) < rows  # and no part is larger than that needs
    else:
        assert part == most


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_are_in_order_and_items_are_taken_as_they_are_needed(workers):
    taken = count()

    def items():
        for _ in range(1000):
            yield next(taken)

    with change_context(threads=workers):
        results = map_ordered(lambda item: (item, threading.current_thread().name), items())
        first = list(islice(results, 3))
        assert next(taken) <= 3 + 2 * workers + 1
        results.close()
    assert [item for item, _ in first] == [0, 1, 2]
    assert all(name.startswith("karat") == (workers > 1) for _, name in first)
    with change_context(threads=workers):
        assert list(map_ordered(str, range(50))) == [str(n) for n in range(50)]


def test_an_error_is_raised_in_its_place():
    with change_context(threads=3):
        results = map_ordered(lambda n: 1 // n, [2, 1, 0, 5])
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(ZeroDivisionError):
            next(results)
