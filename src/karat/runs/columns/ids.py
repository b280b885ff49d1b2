"""Ids of rows: which column tells the rows of a table apart, and numbers for rows that have no order.

One rule for labels and for systems finds the column where nobody has named it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.hashes.texts import hash_texts
from karat.core.columns.ids import ROW_IDS
from karat.core.columns.kinds import Array
from karat.core.errors import ColumnError, JoinError, RowError, SpecError, did_you_mean
from karat.data.json.raw import spell_ids
from karat.data.retrieval.long_table import find_query_column
from karat.data.roles import matches_role, singular
from karat.runs.columns.score_columns import Readable

_INDEX = re.compile(
    r"|index|level_\d+|__index_level_\d+__|Unnamed: ?\d+(\.\d+|_level_\d+)?|row_?names?|\.\.\.\d+", re.IGNORECASE
)
SAMPLE = 1 << 14  # keys that are kept to find ids that occur twice
TASK_IDS = ("task_id", "problem_id", "prompt_id", "item_id", "instance_id", "doc_id")
"""Ids of questions in files of samples, beside ids of rows, which may repeat too."""
_NO_QUESTIONS = ("topic", "topic_id")  # ids of queries, and names of columns of groups


def id_columns(schema: pa.Schema, mapping: Mapping[str, str], joined: str = "") -> list[str | None]:
    """The column that each rule finds, the most reliable rule first; None where it finds none.

    The rules: the id by which rows were joined with their gold (`joined`, LEFT=RIGHT), each name of an id, the id of a
    query, the question. `mapping` has the columns of roles that are known.

    >>> names = pa.schema([(name, pa.string()) for name in ("question", "topic", "uid")])
    >>> [name for name in id_columns(names, {}) if name]
    ['uid', 'topic', 'question']
    """
    left, _, right = joined.partition("=")
    known = [next((name for name in (right, left) if name and name in schema.names), None)]
    known += [next((name for name in schema.names if singular(name) == each), None) for each in ROW_IDS]
    return [*known, find_query_column(schema), find_question(schema, mapping)]


def is_index_name(name: str) -> bool:
    """Whether a column has the name that data frames give to an index, or none: it says where a row stood in a frame.

    >>> [is_index_name(name) for name in ("", "Unnamed: 0", "index", "__index_level_0__", "...1", "id")]
    [True, True, True, True, True, False]
    """
    return _INDEX.fullmatch(name.strip()) is not None


def show_column(name: str) -> str:
    """A column's name for messages, also where it has none.

    >>> show_column("id"), show_column("")
    ('id', 'the column without a name')
    """
    return name if name.strip() else "the column without a name"


def item_columns(schema: pa.Schema, mapping: Mapping[str, str], joined: str = "") -> list[str]:
    """The columns whose value may be shared by rows of one question, the most reliable first; as in `id_columns`.

    The row of an experiment, the known ids but for topics, which are groups of questions, ids of tasks, the question.

    >>> names = pa.schema([(name, pa.string()) for name in ("question", "topic", "task_id", "uid")])
    >>> item_columns(names, {})
    ['uid', 'task_id', 'question']
    """
    names = schema.names
    *ids, question = id_columns(schema, mapping, joined)
    known = [name for name in ids if name and singular(name) not in _NO_QUESTIONS]
    row = ["row"] if {"row", "repetition"}.issubset(names) else []  # of an experiment
    columns = [*row, *known, *(name for name in names if singular(name) in TASK_IDS), question]
    return list(dict.fromkeys(filter(None, columns)))


def find_question(schema: pa.Schema, mapping: Mapping[str, str]) -> str | None:
    """The column of the questions, where there is one."""
    if "question" in mapping:
        return mapping["question"]
    names = [name for name in schema.names if matches_role("question", name)]
    return "question" if "question" in names else names[0] if len(names) == 1 else None


def find_id(rows: Readable, mapping: Mapping[str, str] = MappingProxyType({}), joined: str = "") -> str:
    """The first of the columns above with a unique value in every row, else the first; `SpecError` where none is."""
    ids = list(dict.fromkeys(filter(None, id_columns(rows.schema, mapping, joined))))
    if not ids:
        problem = f"no column of {rows.name} has the name of an id; its columns are {', '.join(rows.schema.names)}"
        raise SpecError(f"say which column tells the rows apart, --on COLUMN (in Python, on=): {problem}")
    return next((name for name in ids if len(ids) == 1 or _is_unique(rows, name)), ids[0])


def read_ids(rows: Readable, on: str) -> pa.Array:
    """The ids of all rows as text; `ColumnError` where there is no such column."""
    if on not in rows.schema.names:
        raise ColumnError(f"{rows.name}: there is no column {on!r}{did_you_mean(on, rows.schema.names)}")
    where, parts, first = f"{rows.name}: column {on!r}", [pa.array([], pa.large_string())], 1
    for batch in rows.batches([on]):
        parts.append(spell_ids(batch.column(on), where, first))
        first += len(batch)
    return pa.concat_arrays(parts)


def _is_unique(rows: Readable, name: str) -> bool:
    try:
        ids = read_ids(rows, name)
    except (ColumnError, RowError):  # it holds lists or objects
        return False
    return not ids.null_count and pc.count_distinct(ids).as_py() == len(ids)


def hash_ids(rows: pa.RecordBatch, column: str, name: str) -> Array:
    """Numbers of rows that have no order: the hashes of their ids. Raises `JoinError` for an id that is null."""
    where = f"{name}: column {column!r} (id)"
    ids = spell_ids(rows.column(column), where)
    if ids.null_count:
        raise JoinError(f"{where} is null or empty in {ids.null_count} of {len(ids)} rows; every row needs an id")
    return hash_texts(ids)


@dataclass
class KeySample:
    """The smallest keys of all rows: among them each id that occurs twice is found.

    Of up to 16,384 rows these are all; of more, they are a sample of ids, with every row of each, whatever the parts.
    """

    name: str
    keys: Array = field(default_factory=lambda: np.empty(0, "<u8"))

    def add(self, keys: Array) -> None:
        """Add the keys of other rows; `JoinError` where two rows have one."""
        smallest = np.sort(np.concatenate([self.keys, keys]))[: SAMPLE + 1]
        if twice := int(np.count_nonzero(smallest[1:] == smallest[:-1])):
            raise JoinError(
                f"column {self.name!r} (id) repeats its values: {twice} of {len(smallest)} rows that were compared have"
                " the id of another; name a column with a value of its own in every row"
            )
        self.keys = smallest[:SAMPLE]
