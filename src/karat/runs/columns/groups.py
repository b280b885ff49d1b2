"""Groups and clusters of rows, by the values of a column."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_bytes, is_text
from karat.core.columns.hashes.texts import hash_texts, mix
from karat.core.columns.json_text import RAW
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import spell_times
from karat.core.errors import ColumnError, DataError, did_you_mean
from karat.data.json.members import unquote
from karat.data.source import Source

MAX_GROUPS = 1_000  # values of a column of groups; a column with more holds ids


def check_group_column(schema: pa.Schema, name: str, where: str) -> None:
    """Raise `ColumnError` where a column of groups or clusters does not exist or is nested."""
    if name not in schema.names:
        raise ColumnError(f"{where}: there is no column {name!r}{did_you_mean(name, schema.names)}")
    if pa.types.is_nested(kind := schema.field(name).type) or is_bytes(kind):
        hint = "; decode the bytes to text" if is_bytes(kind) else ""
        raise ColumnError(f"{where}: column {name!r} holds {kind}; values such as text or numbers make groups{hint}")


def cluster_keys(column: pa.Array, numbers: Array | None = None) -> Array:
    """A 64-bit key for each row's cluster, shape (rows,): equal for equal values, in any batch.

    A row whose value is null or an empty text is a cluster of its own; `numbers` are the rows' numbers in their table,
    by default from 0.
    """
    if is_text(column.type) or pa.types.is_integer(column.type):
        texts = column.cast(pa.large_string())
        keys = hash_texts(texts.fill_null("") if texts.null_count else texts)
        alone = np.flatnonzero(np.asarray(pc.binary_length(texts).fill_null(0)) == 0)
    else:
        codes, labels = _encode(column)
        keys = hash_texts(pa.array(labels, pa.large_string()))[codes]
        alone = np.flatnonzero(column.is_null())
    if len(alone):
        keys[alone] = mix(alone.astype(np.uint64) if numbers is None else numbers[alone])
    return keys


def read_strata(rows: Source, name: str | None) -> Array | None:
    """The number of each row's stratum by the values of a column, shape (rows,); None without a column.

    Raises `ColumnError` as `check_group_column` does.
    """
    if name is None:
        return None
    check_group_column(rows.schema, name, rows.name)
    column = pa.chunked_array([batch.column(name) for batch in rows.batches([name])], rows.schema.field(name).type)
    strata: Array = cluster_keys(column.combine_chunks()).astype(np.int64)
    return strata


def group_rows(column: pa.Array, seen: set[str], name: str) -> dict[str, Array]:
    """The row numbers of each group in a batch, by label, in the order in which groups first occur.

    `seen` collects the labels of all batches; `DataError` where they are too many for groups.
    """
    codes, labels = encode_groups(column, seen, name)
    sizes = np.bincount(codes, minlength=len(labels))
    parts = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    return {label: part for label, part in zip(labels, parts, strict=True) if len(part)} if labels else {}


def encode_groups(column: pa.Array, seen: set[str], name: str) -> tuple[Array, list[str]]:
    """Each row's code, shape (rows,), and the label of each code; `seen` and what is raised as in `group_rows`."""
    codes, labels = _encode(column)
    collect_groups(labels, seen, name)
    return codes, labels


def collect_groups(labels: Iterable[str], seen: set[str], name: str) -> None:
    """Add labels of groups to those seen; `DataError` where they are too many for groups."""
    seen.update(labels)
    if len(seen) > MAX_GROUPS:
        problem = f"column {name!r} has more than {MAX_GROUPS:,} values: too many to be groups"
        instead = f"-o FILE (output=) writes each row's score, --cluster {name} (cluster=) gives intervals by it"
        raise DataError(f"{problem}; {instead}")


def _encode(column: pa.Array) -> tuple[Array, list[str]]:
    """Each row's code, shape (rows,), and the label of each code."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_nested(column.type):
        raise ColumnError(f"expected values that make groups or clusters, found {column.type}")
    if column.type == RAW:
        column = unquote(column.storage)
    if pa.types.is_float16(column.type):  # of which pyarrow before 26 makes no dictionaries
        column = column.cast(pa.float32())
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    values = spell_times(encoded.dictionary) if pa.types.is_temporal(column.type) else encoded.dictionary
    return np.asarray(encoded.indices), list(map(_label, values.to_pylist()))


def _label(value: object) -> str:
    """The label of a group in tables and JSON; a text that is spelled like the label of null gets further quotes."""
    if value is None:
        return "(null)"
    if isinstance(value, str) and value.strip("'") == "(null)":
        return f"'{value}'"
    return str(value).lower() if isinstance(value, bool) else str(value)
