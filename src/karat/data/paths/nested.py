"""Values inside objects and lists as columns of their own, by path: `metadata.gold`, `choices[0].text`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_list, is_text, keep_nulls, plain_lists, whole_offsets
from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError
from karat.data.json.members import unquote
from karat.data.json.raw import extract_items
from karat.data.paths.json_text import STEP, read_json
from karat.data.source import RAW, Source

_AS_TEXT = "::text"
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


def find_nested(source: Source, paths: Iterable[str]) -> dict[str, pa.DataType]:
    """The type of the values at each path that leads into one of the source's columns; `RAW` in JSON text."""
    return {path: kind for path in paths if (kind := _find_type(source, path)) is not None}


def add_nested(source: Source, types: Mapping[str, pa.DataType], *, keep_json: bool = True) -> Source:
    """The source with a further column for each of these paths, found by `find_nested`."""
    kinds = {path: kind if keep_json or kind != RAW else pa.string() for path, kind in types.items()}
    if not types:
        return source

    def extend(batch: pa.RecordBatch) -> pa.RecordBatch:
        added = []
        for path, kind in kinds.items():
            column = _read_path(batch, path)
            added.append(unquote(column.storage).cast(kind) if column.type == RAW != kind else column.cast(kind))
        schema = pa.schema([*batch.schema, *kinds.items()])
        return pa.RecordBatch.from_arrays([*batch.columns, *added], schema=schema)

    def read(text: frozenset[str]) -> Iterator[pa.RecordBatch]:
        return map(extend, source.read(text - types.keys()))

    def read_numbered(text: frozenset[str]) -> Iterator[tuple[Array, pa.RecordBatch]]:
        return ((numbers, extend(batch)) for numbers, batch in source.numbered_batches(text - types.keys()))

    added = replace(source, schema=pa.schema([*source.schema, *kinds.items()]), read=read, numbered=read_numbered)
    if "first" in vars(source):  # its rows need not be read again
        vars(added)["first"] = extend(source.first)
    return added


def check_paths(source: Source, paths: Iterable[str]) -> None:
    """Raise `ColumnError` for a path into a column of the source that leads nowhere in any row."""
    for path in paths:
        for name in source.schema.names if path not in source.schema.names else ():
            if _rest(path, name):
                kind = source.schema.field(name).type
                hint = f"; an item of a list is {name}[0], all are {name}[*]" if is_list(kind) else ""
                held = "JSON" if kind == RAW else kind
                raise ColumnError(f"{source.name}: {path!r} leads nowhere in column {name!r}, which holds {held}{hint}")


def _find_type(source: Source, path: str) -> pa.DataType | None:
    """The type of the values at a path; None where no column can have it, or where it is in JSON text of no row."""
    if path in source.schema.names:
        return None
    empty = pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in source.schema.types], schema=source.schema)
    if (inside := _find_path(empty, path)) is None:
        return None
    each = _find_path(empty, path.replace("[*]", "[0]"))  # of the items of Arrow's lists
    if each is None or each.type != RAW or _has_values(source.first, path):
        return inside.type
    return inside.type if any(_has_values(batch, path) for batch in source.batches()) else None


def _has_values(batch: pa.RecordBatch, path: str) -> bool:
    """Whether JSON text has a value at a path in any row, or in any item that a list of the path has."""
    found = _read_path(batch, path)
    if found.type == RAW and "[*]" in path and not path.endswith("[*]"):
        nowhere = pc.match_substring_regex(found.storage, r"^\[(null(, null)*)?\]$")
        return bool(pc.any(pc.invert(nowhere)).as_py())
    if is_list(found.type):
        found = plain_lists(found).flatten()
        return bool(found.null_count < len(found))
    return bool(found.null_count < len(batch))


def _read_path(batch: pa.RecordBatch, path: str) -> pa.Array:
    """The values at a path that one of the columns can have."""
    return pa.nulls(len(batch)) if (inside := _find_path(batch, path)) is None else inside


def _find_path(batch: pa.RecordBatch, path: str) -> pa.Array | None:
    """The values at a path into one of the columns; None if no column can have it."""
    if len(either := _EITHER.split(path)) > 1:
        return _fill([column for each in either if (column := _find_path(batch, each)) is not None])
    if path in batch.schema.names:
        return batch.column(path)
    holders = [(name, rest) for name in batch.schema.names if (rest := _rest(path, name))]
    inside = (_descend(batch.column(name), rest) for name, rest in sorted(holders, key=lambda each: -len(each[0])))
    return next((found for found in inside if found is not None), None)


def find_filling(source: Source, paths: Sequence[str]) -> list[str]:
    """The paths that lead to a value in rows in which those before lead nowhere, in any row of the source."""
    filling = set[str]()
    for batch in source.batches():
        left = np.ones(len(batch), bool)
        for path in paths:
            if left.any() and (column := _find_path(batch, path)) is not None:
                fills = left & np.asarray(column.is_valid())
                filling |= {path} if fills.any() else set()
                left &= ~fills
    return [path for path in paths if path in filling]


def _fill(columns: list[pa.Array]) -> pa.Array | None:
    """The first value of each row that is not null; as text where the columns have several types."""
    if len({column.type for column in columns}) > 1:
        columns = [unquote(each.storage) if each.type == RAW else each.cast(pa.string()) for each in columns]
    kind = columns[0].type if columns else None
    storage = [each.storage for each in columns] if kind == RAW else columns
    return pc.coalesce(*storage).cast(kind) if storage else None


def _rest(path: str, key: str) -> str | None:
    """What follows a key at the start of a path: empty at its end, None where the path starts with another key."""
    if not path.startswith(key) or (path[len(key) :][:1] not in ("", ".", "[") and path != f"{key}{_AS_TEXT}"):
        return None
    return path[len(key) :].removeprefix(".")


def _descend(column: pa.Array, path: str) -> pa.Array | None:
    """The values at a path inside a column of objects, lists, or JSON text; None if its type has no such place."""
    if not path:
        return column
    if path.endswith(_AS_TEXT):
        inside = _descend(column, path.removesuffix(_AS_TEXT))
        if inside is None or (pa.types.is_nested(inside.type) and inside.type != RAW):
            return None
        return unquote(inside.storage) if inside.type == RAW else inside.cast(pa.string())
    if column.type == RAW or is_text(column.type):
        texts = column.storage if column.type == RAW else column.cast(pa.string())
        return read_json(texts, path, is_json=column.type == RAW).cast(RAW)
    if pa.types.is_struct(column.type):
        fields = ((at, _rest(path, field.name)) for at, field in enumerate(column.type))
        inside = (_descend(pc.struct_field(column, [at]), rest) for at, rest in fields if rest is not None)
        return next((found for found in inside if found is not None), None)
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
    texts = unquote(keys.storage) if keys.type == RAW else keys.cast(pa.string())
    found = np.flatnonzero(np.asarray(pc.fill_null(pc.equal(texts, step["value"]), False)))
    after = np.searchsorted(found, bounds[:-1])
    return np.append(found, len(texts))[after]


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
