"""Compiled kernels beside their definitions in Python. The definitions are instrumented, and guide what is tried."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from targets import decode, split, write


def text_maps(data: bytes) -> None:
    """Normalisers and tokenisers, line by line."""
    from karat.text import columns
    from karat.text.normalise import NORMALIZERS
    from karat.text.tokenise import TOKENIZERS

    texts = decode(data).split("\n\n")
    maps: dict[str, Any] = {
        **NORMALIZERS,
        **{name: lambda text, by=by: " ".join(by(text)) for name, by in TOKENIZERS.items()},
    }
    for name, define in maps.items():
        if name not in columns.INTERPRETED:
            found = columns.map_texts(pa.array(texts), name, define) if name != "none" else pa.array(texts)
            assert found.to_pylist() == list(map(define, texts)), name


def text_pairs(data: bytes) -> None:
    """Whether texts are equal or contained, how many tokens they share, and by how many edits they differ."""
    from karat.metrics.text import edit_distance
    from karat.metrics.text import string_comparison as pairs

    _compare(pairs, ("equal", "overlap", "contains", "contains_text"), *_columns(data, 2))
    _compare(edit_distance, ("edits", "compare_spelling"), *_columns(data, 2))
    _compare(edit_distance, ("edits",), *_columns(data, 2), words=True)


def sequences(data: bytes) -> None:
    """N-grams and longest common subsequences."""
    from karat.metrics.text import bleu, rouge

    a, b = (pa.array([" ".join(text.split()) for text in column.to_pylist()]) for column in _columns(data, 2))
    _compare(bleu, ("longest_common",), a, b, functions=rouge)
    _compare(bleu, ("union_common",), *(pa.array([each.to_pylist()]) for each in (a, b)), functions=rouge)
    bounds = np.array([0, 0, len(b)][: 1 + len(a)] + [len(b)] * (len(a) - 2), np.int64)
    for order in (1, 4):
        _compare(bleu, ("match_ngrams",), a, b, bounds, order, shortest=order == 1)


def rankings(data: bytes) -> None:
    """Retrieved ids aligned with graded ones, and each metric of them: `a b c<TAB>a:2 c`."""
    from karat.core.columns.ids import read_graded, read_ids
    from karat.core.errors import KaratError
    from karat.metrics.retrieval import alignment
    from karat.metrics.retrieval.ranking import DEFINITIONS, Formula

    rows = [(found.split(), _grades(gold)) for found, gold in split(data, 2)]
    try:
        retrieved, relevant = read_ids([row for row, _ in rows]), read_graded([gold for _, gold in rows])
    except KaratError:
        return
    aligned = alignment.align(retrieved, relevant)
    defined = [alignment.align_row(row, list(gold.items())) for row, gold in rows]
    np.testing.assert_equal([(list(a), list(b)) for a, b in aligned.rows()], [(list(a), list(b)) for a, b in defined])
    for name in DEFINITIONS:
        for k in (None, 1, 3):
            formula = Formula(name, k, 1.0, 0.5)
            np.testing.assert_array_equal(formula.score(aligned).statistics, formula.define(aligned), name)


def assignments(data: bytes) -> None:
    """The pairs of an assignment; their sum is that of SciPy's."""
    from scipy.optimize import linear_sum_assignment

    from karat.metrics.answers import assignment

    numbers = np.frombuffer(data[1 : 1 + (len(data) - 1) // 2 * 2], np.int16)[:64] / 8.0 if data else np.empty(0)
    columns = data[0] % 9 + 1 if data else 1
    weights = numbers[: len(numbers) // columns * columns].reshape(-1, columns)
    found, expected = _both(assignment, "assign", weights)
    assert found == expected
    best = weights[linear_sum_assignment(weights, maximize=True)].sum()
    assert sum(weights[pair] for pair in found) == best


def exact_sums(data: bytes) -> None:
    """Sums of any numbers, in cells, beside those of fractions; blocks of keys."""
    from fractions import Fraction

    from karat.stats.sums import blocks, exact

    values = np.frombuffer(data[: len(data) // 8 * 8], np.float64)
    values = values[np.isfinite(values)]
    cells = np.arange(len(values), dtype=np.int64) % 3

    def add() -> exact.ExactSums:
        sums = exact.ExactSums(3)
        sums.add(cells[: len(values) // 2], values[: len(values) // 2])
        sums.add(cells[len(values) // 2 :], values[len(values) // 2 :])
        return sums

    found = add()
    with patch.object(exact, "COMPILED", False):
        expected = add()
    assert found.to_array()[0] == expected.to_array()[0]
    assert np.array_equal(found.to_array()[1], expected.to_array()[1])
    for cell in range(3):
        assert found.fraction(cell) == sum(map(Fraction, values[cells == cell].tolist()), Fraction(0))
    keys = values.view(np.uint64)
    one, other = _both(blocks, "blocks", keys, len(data))
    assert np.array_equal(one, other)


def json_members(data: bytes) -> None:
    """Members of JSON objects, line by line, and at paths."""
    from karat.data.json import members
    from karat.data.json.raw import extract_members

    texts, keys = decode(data).split("\n"), ["a", "b", "é"]
    try:
        rows: list[dict[str, str]] | None = [extract_members(text) for text in texts]
    except (ValueError, RecursionError):
        rows = None
    if rows is not None and all(row.keys() <= set(keys) for row in rows):
        found = members.extract_columns(pa.array(texts), keys, keys)
        expected = [[None if row.get(key) == "null" else row.get(key) for row in rows] for key in keys]
        assert [column.to_pylist() for column in found] == expected
    with suppress(ValueError, RecursionError):
        values = list(map(json.loads, texts))
        reached = members.extract_paths(pa.array(texts), ["a", "b.a", "é"])
        for path, column in (reached or {}).items():
            cells = [_lead(value, path.split(".")) for value in values]
            assert repr([None if cell is None else json.loads(cell) for cell in column.to_pylist()]) == repr(cells)


def plain_lines(data: bytes) -> None:
    """JSON Lines that the kernel reads hold what Python's parser finds in them, spelled as there."""
    from karat.core.columns.json_text import RAW
    from karat.data.json.lines import scan_lines
    from karat.data.json.raw import extract_members

    keys = ["a", "b", "n", "x", "t"]
    for wanted in ([], keys):
        if (lines := scan_lines(write("plain.jsonl", data), wanted)) is None:
            continue
        texts = data.decode("utf-8-sig").split("\n")
        rows = [extract_members(text) for text in texts if text.strip()]
        read = pa.Table.from_batches(lines.read(pa.schema([(key, RAW) for key in lines.keys]), 7)).to_pylist()
        assert read == [{key: None if row.get(key) == "null" else row.get(key) for key in lines.keys} for row in rows]
        assert all(json.loads(text) is not None or text == "null" for row in rows for text in row.values())


def haystack_documents(data: bytes) -> None:
    """Documents numbered by their content: retrieved, a tab, relevant, with bars between."""
    from haystack import Document

    from karat.adapters.haystack import kernel, ranking
    from karat.adapters.haystack.field import path_of, reader

    rows = split(data, 2)
    sides: Any = [
        [[Document(content=text or None) for text in row[side].split("|")] for row in rows] for side in (0, 1)
    ]
    number: Any
    for first in (False, True):
        written = []
        compiled = partial(kernel.number, sides[0], sides[1], path_of("content"), reader("content"))
        plain = partial(ranking.number, sides[0], sides[1], reader("content"))
        for number in (plain, compiled):
            found, wanted = (np.full(sum(map(len, side)), -7) for side in sides)
            number(found, wanted, first)
            written.append((found.tolist(), wanted.tolist()))
        assert written[0] == written[1]


def _both(module: Any, name: str, *arguments: Any, functions: Any = None, **settings: Any) -> tuple[Any, Any]:
    """What a function gives with the kernel, and by the definition."""
    function = getattr(functions or module, name)
    found = function(*arguments, **settings)
    with patch.object(module, "COMPILED", False):
        return found, function(*arguments, **settings)


def _compare(module: Any, names: Sequence[str], *arguments: Any, functions: Any = None, **settings: Any) -> None:
    for name in names:
        np.testing.assert_equal(*_both(module, name, *arguments, functions=functions, **settings), name)


def _columns(data: bytes, count: int) -> list[pa.Array]:
    return [pa.array(column) for column in zip(*split(data, count), strict=True)]


def _grades(text: str) -> dict[str, float]:
    """The ids in a text with their grades, 1 where none is there."""
    found = {}
    for part in text.split():
        name, _, grade = part.partition(":")
        with suppress(ValueError):
            found[name] = float(grade or 1)
    return found


def _lead(value: Any, keys: list[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
