"""Lists in cells of text, as JSON or Python's `repr` writes them: which columns hold lists, and which cells contradict.

A column of references (or contexts) is a column of lists where each of its first texts is a list of texts. Any other
is a column of texts: what looks like a list there may be a text, if it is seldom; karat warns of it. Where more than a
tenth of the texts are lists, one or the other reading is wrong, which is an error. A list of numbers alone is a text:
`[1, 2]` may be a point or an interval.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import from_numpy, is_text, plain_lists
from karat.core.columns.json_text import AS_TEXT, ITEMS
from karat.core.columns.kinds import Array
from karat.core.columns.python_values import to_python
from karat.core.errors import RowError
from karat.data.json.raw import from_python
from karat.data.source import Source

_SELDOM, _FEW = 0.1, 10
"""The share of lists among texts that may be texts, and how few lists in later rows may be."""
_QUOTED = re.compile(r"""\s*\[\s*["'].*["']\s*\]\s*""", re.DOTALL)
_JSON = r"""(?s)^\s*(?:\[.*["'\[{].*\]|\{\s*".*\})\s*$"""
"""What a JSON object looks like, or a list that holds more than numbers, also as Python's `repr`."""
_MAY_START = np.zeros(256, bool)
_MAY_START[[*b"[{ \t\n\r\f\v"]] = True


def find_listed(source: Source, columns: Mapping[str, str]) -> dict[str, str]:
    """The path `COLUMN[*]` for each role whose column is text, and each text in its first rows a list of texts.

    >>> from karat.data.formats.frames import open_frame
    >>> frame = open_frame({"gold": ["['Paris', 'Paname']", '["Bern"]'], "point": ["[1, 2]", "[3, 4]"]})
    >>> find_listed(frame, {"reference": "gold", "contexts": "point"})
    {'reference': 'gold[*]'}
    """
    opened = {name: (file, column) for _, file, names in source.files for column, name in names.items()}
    paths = dict[str, str]()
    for role, name in columns.items():
        if not name.endswith(AS_TEXT) and is_text(source.schema.field(name).type):
            file, column = opened.get(name, (source, name))  # the source itself has the columns from paths
            texts = [text for text in to_python(file.first.column(column)) if text]
            if texts and all(_is_texts(_read(text)) for text in texts):
                paths[role] = f"{name}{ITEMS}"
    return paths


def read_references(column: pa.Array, batch: pa.RecordBatch, name: str, label: str, numbers: Array) -> pa.Array:
    """References at the column or path `name` of a batch; beside lists read from text, a text is one reference.

    Raises `RowError` where many texts of a column are lists. `label` is its name in messages, `numbers` are the rows',
    from 0.
    """
    base = name.partition(ITEMS)[0]
    texts = batch.column(base) if base in batch.schema.names else column
    if name.endswith(AS_TEXT):
        return column
    if is_text(column.type):
        at, problem = _find_contradiction(column, least=1 if numbers[:1].sum() == 0 else _FEW), "a list among texts"
    elif name.endswith(ITEMS) and is_text(texts.type):
        column, at = _add_single(column, texts)
        problem = "a list as NumPy writes it, whose items cannot be told apart; write it as JSON"
    else:
        return column
    if at is None:
        return column
    raise RowError(f"{label}, row {numbers[at] + 1}: {problem}: {texts[at].as_py():.80}. Say which: {_explain(base)}")


def describe_lists(column: pa.Array, role: str, name: str, *, first: bool) -> str | None:
    """The warning about a column of texts of which one is a JSON list or object; None where none is.

    A reference may be a list as Python's `repr` too. Lists of numbers may be intervals or points: they count where each
    of the first 100 texts of the `first` batch is a list.
    """
    texts = column.slice(0, 100).drop_null().to_pylist() if first else []
    listed = bool(texts) and all(text.startswith("[") and text.endswith("]") for text in texts)
    like = (column[at].as_py() for at in _json_like(column)[:1000])
    example = next((text for text in like if _is_json(text) or (role == "reference" and _is_list_of_texts(text))), "")
    if not (listed or example):
        return None
    shown = f", such as {example.strip():.60}" if example else ""
    if example and example.lstrip()[0] == "{":
        problem, remedy = "objects", f"--map {role}={name}.KEY selects a part of an object"
    else:
        problem, remedy = "lists", _explain(name) if role == "reference" else "JSON Lines and Parquet hold lists"
    return f"looks like JSON {problem} but is text{shown}, and each is scored as one; {remedy}"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _explain(name: str) -> str:
    """What to type for a column of references whose cells may be lists."""
    return (
        f"--map reference={name}{ITEMS} reads several references from a list, "
        f"--map reference={name}{AS_TEXT} reads each cell as one text"
    )


def _find_contradiction(column: pa.Array, least: int) -> int | None:
    """The place of the first list of texts, where there are `least` and more than a tenth of the texts; else None.

    >>> _find_contradiction(pa.array(["Paris", "[Music]", "[0, 1)", "[1, 2]", "['a','b']"]), 1)
    >>> _find_contradiction(pa.array(["Paris", "['Paris', 'Paname']"]), 1)
    1
    """
    places = [at for at in _json_like(column) if _is_list_of_texts(column[at].as_py())]
    texts = pc.sum(pc.greater(pc.binary_length(column), 0)).as_py() if places else 0
    return places[0] if len(places) >= least and len(places) > _SELDOM * texts else None


def _add_single(lists: pa.Array, texts: pa.Array) -> tuple[pa.Array, int | None]:
    """Lists read from texts, where a text that is not a list is a list of its own; and the place of a text that is
    neither, such as NumPy's spelling `['a' 'b']`, whose items cannot be told apart.

    >>> _add_single(pa.array([["a"], None, None]), pa.array(['["a"]', "b", ""]))[0].to_pylist()
    [['a'], ['b'], None]
    """
    missing = pc.and_(pc.is_null(lists), pc.greater(pc.fill_null(pc.utf8_length(texts), 0), 0))
    places = np.flatnonzero(missing)
    if not len(places):
        return lists, None
    cells = plain_lists(lists).to_pylist()
    for at in places.tolist():
        cells[at] = [texts[at].as_py()]
        if _QUOTED.fullmatch(cells[at][0]) and _read(cells[at][0]) is None:
            return lists, at
    return pa.array(cells, pa.large_list(pa.string())), None


def _json_like(column: pa.Array) -> list[int]:
    """The places of texts that look like JSON or a list of Python; their first byte alone leaves out most others."""
    texts = column.cast(pa.large_string())
    _, offsets, content = texts.buffers()
    if not len(texts) or content is None or not content.size:
        return []
    starts = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
    first: Array = np.frombuffer(content, np.uint8)[np.minimum(starts[:-1], content.size - 1)]
    places = np.flatnonzero(_MAY_START[first] & (starts[1:] > starts[:-1]) & np.asarray(texts.is_valid()))
    alike = pc.match_substring_regex(texts.take(from_numpy(places)), _JSON)
    return list(places[np.asarray(alike)].tolist())


def _read(text: str) -> Any:
    """The list that a text is, None for other texts."""
    if not text.lstrip().startswith("["):
        return None
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    written = from_python(text.strip())
    return None if written is None else json.loads(written)


def _is_texts(value: Any) -> bool:
    """Whether a value is a list of texts; of none too, and some may be null."""
    return isinstance(value, list) and all(each is None or isinstance(each, str) for each in value)


def _is_list_of_texts(text: str) -> bool:
    """Whether a text is a list that holds texts, spelled as JSON or as Python's `repr` spells it.

    >>> [_is_list_of_texts(text) for text in ("['a', 'b']", '["a","b"]', "['a','b']", "[1, 2]", "[Music]")]
    [True, True, False, False, False]
    """
    value = _read(text := text.strip()) if text.strip().startswith("[") else None
    if not isinstance(value, list) or not any(isinstance(each, str) for each in _leaves(value)):
        return False
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return True
    return repr(literal_eval(text)) == text


def _leaves(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list):
            yield from _leaves(value)
        else:
            yield value
