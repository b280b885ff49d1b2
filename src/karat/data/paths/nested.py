"""Values inside objects and lists as columns of their own, by path: `metadata.gold`, `choices[0].text`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_list, is_text, keep_nulls, plain_lists, whole_offsets
from karat.core.columns.json_text import AS_TEXT, RAW, STEP, after_key
from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError
from karat.data.json.members import to_texts, unquote
from karat.data.json.raw import extract_items
from karat.data.json.values import (
    as_json,
    read_values,
    spell_field,
    to_json_text,
    value_schema,
    value_type,
)
from karat.data.paths.json_text import read_json
from karat.data.source import Source

_EITHER = re.compile(r"\|(?![^\[]*\])")


def extract_nested(source: Source, paths: Iterable[str], *, keep_json: bool = True) -> Source:
    """The source with a further column for each path that leads into one of its columns.

    A path is keys joined by dots; a key may itself contain dots. `[0]` is the first item of a list, `[-1]` the last,
    `[role=user]` the first in which a key has this value, `[*]` the list of what the rest of the path finds in each
    item; two `[*]` in a path make one flat list. `a|b` is `b` in rows in which `a` leads nowhere. `::text` at the end
    of a path keeps what is there as one text.
    Objects and lists are Arrow's or JSON text. Values in JSON text come as `RAW` with their spelling, or as plain text
    without `keep_json`. A path that leads nowhere adds no column; where it leads nowhere in a row, that is null.

    >>> from karat.data.formats.frames import open_frame
    >>> rows = [{"meta": {"gold": "Paris"}, "passages": [{"text": "a"}, {"text": "b"}]}, {"meta": None}]
    >>> paths = ["meta.gold", "passages[*].text", "passages[0].text"]
    >>> [batch.select(paths).to_pylist()[0] for batch in extract_nested(open_frame(rows), paths).batches()]
    [{'meta.gold': 'Paris', 'passages[*].text': ['a', 'b'], 'passages[0].text': 'a'}]
    """
    return add_nested(source, find_nested(source, paths), keep_json=keep_json)


def find_nested(source: Source, paths: Iterable[str]) -> dict[str, pa.Field]:
    """The field of the values at each path that leads into one of the source's columns; `RAW` in JSON text."""
    return {path: field for path in paths if (field := _find_field(source, path)) is not None}


def add_nested(source: Source, nested: Mapping[str, pa.Field], *, keep_json: bool = True) -> Source:
    """The source with a further column for each of these paths, found by `find_nested`."""
    if not nested:
        return source
    fields = [*nested.values()] if keep_json else [_plain(field) for field in nested.values()]

    def extend(batch: pa.RecordBatch) -> pa.RecordBatch:
        read_values_of = cache(partial(_read_column, batch, source.schema))
        added = [_read_field(batch, source.schema.names, read_values_of, field) for field in fields]
        return pa.RecordBatch.from_arrays([*batch.columns, *added], schema=pa.schema([*batch.schema, *fields]))

    def read() -> Iterator[pa.RecordBatch]:
        return map(extend, source.read())

    def read_numbered() -> Iterator[tuple[Array, pa.RecordBatch]]:
        return ((numbers, extend(batch)) for numbers, batch in source.numbered_batches())

    added = replace(source, schema=pa.schema([*source.schema, *fields]), read=read, numbered=read_numbered)
    if "first" in vars(source):  # its rows need not be read again
        vars(added)["first"] = extend(source.first)
    return added


def _plain(field: pa.Field) -> pa.Field:
    """The field with values in place of JSON text, or with text."""
    kind = value_type(field)
    return pa.field(field.name, pa.string() if kind == RAW else kind)


def _read_field(
    batch: pa.RecordBatch, names: Sequence[str], read_values_of: Callable[[str], pa.Array], field: pa.Field
) -> pa.Array:
    """The column at a path, as it is spelled where it is JSON text."""
    spelled = field.type == RAW or "|" in field.name or field.name.endswith(AS_TEXT)
    column = _find_path(field.name, names, batch.column if spelled else read_values_of)
    if column is None:
        return pa.nulls(len(batch), field.type)
    if field.type == RAW:
        return to_json_text(column)
    if column.type == RAW:
        is_plain = is_text(field.type)
        column = to_texts(column) if is_plain else read_values(column, as_json(field.name, field.type))
    return column.cast(field.type)


def _read_column(batch: pa.RecordBatch, fields: pa.Schema, name: str) -> pa.Array:
    return read_values(batch.column(name), fields.field(name))


def check_paths(source: Source, paths: Iterable[str]) -> None:
    """Raise `ColumnError` for a path into a column of the source that leads nowhere in any row."""
    for path in paths:
        for name in source.schema.names if path not in source.schema.names else ():
            if after_key(path, name):
                kind = value_type(source.schema.field(name))
                hint = f"; an item of a list is {name}[0], all are {name}[*]" if is_list(kind) else ""
                held = "JSON" if kind == RAW else kind
                raise ColumnError(f"{source.name}: {path!r} leads nowhere in column {name!r}, which holds {held}{hint}")


def _find_field(source: Source, path: str) -> pa.Field | None:
    """The field of the values at a path; None where no column can have it, or where no row's JSON contains it."""
    if path in source.schema.names:
        return None
    names, values = source.schema.names, value_schema(source.schema)
    spelled, empty = ({each.name: pa.nulls(0, each.type) for each in schema} for schema in (source.schema, values))
    if (inside := _find_path(path, names, empty.__getitem__)) is None:
        return None
    each = _find_path(path.replace("[*]", "[0]"), names, empty.__getitem__)  # of the items of Arrow's lists
    in_text = each is not None and each.type == RAW
    if in_text and not any(_has_values(batch, path) for batch in chain([source.first], source.batches())):
        return None
    as_spelled = _find_path(path, names, spelled.__getitem__)
    is_spelled = as_spelled is not None and as_spelled.type == RAW
    return spell_field(path, inside.type) if is_spelled else pa.field(path, inside.type)


def _has_values(batch: pa.RecordBatch, path: str) -> bool:
    """Whether JSON text has a value at a path in any row, or in any item that a list of the path has."""
    column = _find_path(path, batch.schema.names, batch.column)
    if column is None:
        return False
    if column.type == RAW and "[*]" in path and not path.endswith("[*]"):
        nowhere = pc.match_substring_regex(column.storage, r"^\[(null(, null)*)?\]$")
        return bool(pc.any(pc.invert(nowhere)).as_py())
    if is_list(column.type):
        column = plain_lists(column).flatten()
        return bool(column.null_count < len(column))
    return bool(column.null_count < len(batch))


def _find_path(path: str, names: Sequence[str], read: Callable[[str], pa.Array]) -> pa.Array | None:
    """The values at a path into one of the columns, which `read` gives by name; None if no column can have it."""
    if len(either := _EITHER.split(path)) > 1:
        return _fill([column for each in either if (column := _find_path(each, names, read)) is not None])
    if path in names:
        return read(path)
    holders = [(name, rest) for name in names if (rest := after_key(path, name))]
    inside = (_descend(read(name), rest) for name, rest in sorted(holders, key=lambda each: -len(each[0])))
    return next((present for present in inside if present is not None), None)


def find_filling(source: Source, paths: Sequence[str]) -> list[str]:
    """The paths that lead to a value in rows in which those before lead nowhere, in any row of the source."""
    filling = set[str]()
    for batch in source.batches():
        left = np.ones(len(batch), bool)
        read = cache(partial(_read_column, batch, source.schema))
        for path in paths:
            if left.any() and (column := _find_path(path, source.schema.names, read)) is not None:
                fills = left & np.asarray(column.is_valid())
                filling |= {path} if fills.any() else set()
                left &= ~fills
    return [path for path in paths if path in filling]


def _fill(columns: list[pa.Array]) -> pa.Array | None:
    """The first value of each row that is not null; as text where the columns have several types."""
    if len({column.type for column in columns}) > 1:
        columns = list(map(to_texts, columns))
    kind = columns[0].type if columns else None
    storage = [each.storage for each in columns] if kind == RAW else columns
    return pc.coalesce(*storage).cast(kind) if storage else None


def _descend(column: pa.Array, path: str) -> pa.Array | None:
    """The values at a path inside a column of objects, lists, or JSON text; None if its type has no such place."""
    if not path:
        return column
    if path.endswith(AS_TEXT):
        inside = _descend(column, path.removesuffix(AS_TEXT))
        if inside is None or (pa.types.is_nested(inside.type) and inside.type != RAW):
            return None
        return to_texts(inside)
    if column.type == RAW or is_text(column.type):
        texts = column.storage if column.type == RAW else column.cast(pa.string())
        return read_json(texts, path, is_json=column.type == RAW).cast(RAW)
    if pa.types.is_struct(column.type):
        fields = ((at, after_key(path, field.name)) for at, field in enumerate(column.type))
        inside = (_descend(pc.struct_field(column, [at]), rest) for at, rest in fields if rest is not None)
        return next((inner for inner in inside if inner is not None), None)
    if is_list(column.type) and (step := STEP.match(path)):
        lists, below = plain_lists(column), path[step.end() :]
        bounds = np.asarray(whole_offsets(lists))
        if step["all"]:
            values = _descend(lists.values, below)
            return None if values is None else keep_nulls(_lists(bounds, values, below), column)
        chosen = _choose(lists, bounds, step)
        if chosen is None:
            return None
        there = (bounds[:-1] <= chosen) & (chosen < bounds[1:]) & np.asarray(lists.is_valid())
        return _descend(lists.values.take(pa.array(chosen, mask=~there)), below)
    return None


def _choose(lists: pa.Array, bounds: Array, step: re.Match[str]) -> Array | None:
    """Which of the values of lists a step leads to, shape (rows,); None if the items have no such key."""
    if step["number"]:
        return int(step["number"]) + bounds[int(step["number"]) < 0 :][: len(lists)].astype(np.int64)
    keys = _descend(lists.values, step["key"])
    if keys is None or pa.types.is_nested(keys.type):
        return None
    matches = np.flatnonzero(np.asarray(pc.fill_null(pc.equal(to_texts(keys), step["value"]), False)))
    after = np.searchsorted(matches, bounds[:-1])
    return np.append(matches, len(keys))[after]


def _lists(bounds: Array, values: pa.Array, path: str) -> pa.Array:
    """Lists of values with these bounds; one flat list where the path that led to the values holds `[*]` too."""
    json_text = values.type == RAW
    if "[*]" in path:
        inner = _parse_lists(values.storage) if json_text else plain_lists(values)
        bounds, values = np.asarray(whole_offsets(inner))[bounds], inner.values
    elif json_text:
        values = values.storage
    if json_text:
        values = unquote(values)
    return pa.LargeListArray.from_arrays(pa.array(bounds, pa.int64()), values)


def _parse_lists(texts: pa.Array) -> pa.Array:
    """Lists that are JSON text as Arrow's, of items that are JSON text."""
    cells = [None if text is None else list(extract_items(text)) for text in texts.to_pylist()]
    return pa.array(cells, pa.large_list(pa.string()))
