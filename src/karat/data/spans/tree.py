"""Columns as one tree of values by path, whether nested in structs, JSON text, Python's `repr`, or dotted names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_text
from karat.core.columns.json_text import RAW, after_key
from karat.data.json.members import extract_paths
from karat.data.json.raw import from_python
from karat.data.storage.duckdb import literal

Part = tuple[str, pa.Array]


@dataclass(frozen=True)
class ListItems:
    """The items of lists: a tree of them, the row of each item, and for each row whether it has a list."""

    tree: Tree
    row: np.ndarray
    present: np.ndarray


@dataclass(frozen=True)
class Tree:
    """Columns by path. For each invalid cell, `unreadable` gets 1 if it looks like a list or an object, else 0."""

    parts: tuple[Part, ...]
    rows: int
    connection: duckdb.DuckDBPyConnection
    unreadable: list[int]

    def unfold(self, paths: Iterable[str], lists: Iterable[str] = ()) -> Tree:
        """The tree with JSON text decoded where one of these paths, of values or of lists, leads into it."""
        parts: list[Part] = []
        for prefix, column in self.parts:
            below = [rest for path in paths if (rest := _below(prefix, path))]
            within = [rest for path in lists if (rest := _below(prefix, path))]
            if _is_text(column) and (below or within):
                parts.extend(self._decode(prefix, self._to_json(column), below + within, within))
            else:
                parts.append((prefix, column))
        return replace(self, parts=tuple(parts))

    def get(self, paths: Sequence[str]) -> pa.Array:
        """For each row the text at the first path that has a value; values that are not text come as JSON text."""
        values = [self._cell_text(column) for path in paths for column in self._at(path)]
        return pc.coalesce(*values) if values else pa.nulls(self.rows, pa.string())

    def items(self, path: str, inner: Sequence[str]) -> Iterator[ListItems]:
        """The lists at a path, in each form that they have; `inner` are the paths within an item, empty for text."""
        for column in self._at(path):
            if _is_text(column):
                if column.type == RAW and pc.any(pc.starts_with(column.storage, '"')).as_py():
                    column = self._cell_text(column)  # noqa: PLW2901
                column = self._from_json(self._to_json(column), [_shape(inner) if inner else "VARCHAR"])  # noqa: PLW2901
            if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
                row = pc.list_parent_indices(column).to_numpy()
                inside = replace(self, parts=(("", pc.list_flatten(column)),), rows=len(row))
                yield ListItems(inside, row, column.is_valid().to_numpy(zero_copy_only=False))
        if numbered := list(self._numbered(path)):
            yield self._gather(numbered)

    def _at(self, path: str) -> Iterator[pa.Array]:
        for prefix, column in self.parts:
            if (rest := _below(prefix, path)) is not None:
                yield from (each for each in _columns_at(column, rest) if each.null_count < len(each))

    def _numbered(self, path: str) -> Iterator[tuple[int, str, pa.Array]]:
        """The columns at `path.NUMBER.rest`, as (number, rest, column)."""
        pattern = re.compile(rf"{re.escape(path)}\.(\d+)(?:\.(.+))?")
        for prefix, column in self.parts:
            for name, leaf in _leaves(prefix, column, path):
                if match := pattern.fullmatch(name):
                    yield int(match[1]), match[2] or "", leaf

    def _gather(self, numbered: list[tuple[int, str, pa.Array]]) -> ListItems:
        most = 1 + max(number for number, _, _ in numbered)
        has = np.zeros((self.rows, most), bool)
        for number, _, column in numbered:
            has[:, number] |= column.is_valid().to_numpy(zero_copy_only=False)
        row, place = np.nonzero(has)
        flat = pa.array(place * self.rows + row)
        parts = []
        for rest in dict.fromkeys(rest for _, rest, _ in numbered):
            of = {number: self._cell_text(column) for number, other, column in numbered if other == rest}
            nothing = pa.nulls(self.rows, pa.string())
            each = pa.concat_arrays([of.get(number, nothing) for number in range(most)])
            parts.append((rest, each.take(flat)))
        return ListItems(replace(self, parts=tuple(parts), rows=len(row)), row, np.asarray(has.any(axis=1)))

    def _cell_text(self, column: pa.Array) -> pa.Array:
        if column.type == RAW:
            return self.select("cell ->> '$'", column.storage)
        if pa.types.is_nested(column.type):
            return self.select("to_json(cell)::VARCHAR", column)
        return column.cast(pa.string())

    def _decode(self, prefix: str, column: pa.Array, paths: Sequence[str], lists: Sequence[str]) -> Iterator[Part]:
        """The values at the paths in JSON text, nested or under dotted names."""
        numbered = []
        if lists:  # messages and documents may be numbered, and only the cells have the keys
            keys = self.select("CASE WHEN contains(cell, '.0.') THEN json_keys(cell) END", column)
            pattern = re.compile(rf"(?:{'|'.join(map(re.escape, lists))})\.\d+\..+")
            numbered = [key for key in pc.list_flatten(keys).unique().to_pylist() if pattern.fullmatch(key)]
        wanted = list(dict.fromkeys([*paths, *numbered]))
        extracted = extract_paths(column, wanted)
        if extracted is None:
            yield prefix, self._from_json(column, _shape(wanted))
            return
        for path, values in extracted.items():
            yield f"{prefix}.{path}" if prefix else path, values.cast(RAW)

    def _from_json(self, column: pa.Array, shape: Any) -> pa.Array:
        return self.select(f"from_json(cell, {literal(json.dumps(shape))})", column)

    def _to_json(self, column: pa.Array) -> pa.Array:
        """JSON text. Other text becomes JSON if it is the `repr` of a Python list or dict, else null."""
        if column.type == RAW:
            return column.storage
        column = column.cast(pa.string())
        valid = self.select("coalesce(json_valid(cell), true)", column).to_numpy(zero_copy_only=False)
        if valid.all():
            return column
        cells = column.to_pylist()
        for row in np.flatnonzero(~valid):
            looks_nested = cells[row].lstrip()[:1] in ("[", "{")
            cells[row] = from_python(cells[row]) if looks_nested else None
            self.unreadable.append(looks_nested and cells[row] is None)
        return pa.array(cells, pa.string())

    def select(self, sql: str, column: pa.Array) -> pa.Array:
        """The values of an SQL expression of `cell`, for each cell of a column."""
        cursor = self.connection.cursor()
        cursor.register("cells", pa.table({"cell": column}))
        result = cursor.sql(f"SELECT {sql} FROM cells").to_arrow_table().column(0).combine_chunks()  # noqa: S608
        cursor.close()
        return result


def _below(prefix: str, path: str) -> str | None:
    """The rest of a path after a prefix; None if the path does not start with it.

    >>> _below("attributes.llm", "attributes.llm.input_messages"), _below("a", "a"), _below("a", "ab")
    ('input_messages', '', None)
    """
    return after_key(path, prefix) if prefix else path


def _is_text(column: pa.Array) -> bool:
    return column.type == RAW or is_text(column.type)


def _columns_at(column: pa.Array, path: str) -> Iterator[pa.Array]:
    """The columns at a path inside a column, by nested fields and by fields with dots in their names."""
    if not path:
        yield column
    elif pa.types.is_struct(column.type):
        for at, field in enumerate(column.type):
            if field.name and (rest := _below(field.name, path)) is not None:
                yield from _columns_at(pc.struct_field(column, [at]), rest)


def _leaves(name: str, column: pa.Array, path: str) -> Iterator[Part]:
    """The columns inside a column that lie below a path, with their full names."""
    if pa.types.is_struct(column.type) and (_below(name, path) is not None or _below(path, name) is not None):
        for at, field in enumerate(column.type):
            inner = f"{name}.{field.name}" if name else field.name
            yield from _leaves(inner, pc.struct_field(column, [at]), path)
    elif _below(path, name) and column.null_count < len(column):
        yield name, column


def _shape(paths: Iterable[str]) -> dict[str, Any]:
    """The structure of an object that has the paths as nested keys, or as keys with dots.

    >>> _shape(["input.value"])
    {'input': {'value': 'VARCHAR'}, 'input.value': 'VARCHAR'}
    """
    shape: dict[str, Any] = {}
    for path in paths:
        *outer, last = path.split(".")
        inner: Any = shape
        for key in outer:
            inner = inner.setdefault(key, {})
            if inner == "VARCHAR":  # a whole list; its items have keys with dots
                break
        else:
            inner[last] = "VARCHAR"
        shape[path] = "VARCHAR"
    return shape
