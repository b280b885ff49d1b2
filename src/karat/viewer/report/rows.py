"""The rows of a report: those that it holds, as the page is answered, with texts cut so that the file stays small."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from karat.viewer.report.chosen_rows import ChosenRows
from karat.viewer.rows.display import mark_text, read_cells, show_rows
from karat.viewer.rows.fields import Field
from karat.viewer.rows.filters import field_labels
from karat.viewer.rows.table import RowTable

SAMPLE = "random sample"
"""What tells the rows of the random sample from the others, beside the slices."""
_LIMITS = (4_000, 2_000, 1_000, 500)  # characters after which texts are cut: the first with which they fit
_ROOM = 400_000  # bytes of all texts, which is 200 to 300 kB when they are packed
_PLAIN = 200_000  # bytes of JSON that are not packed
_LONG = 80  # characters of a slice's name


def cut_name(name: str) -> str:
    """The name of a slice, cut where it is a long text."""
    return name if len(name) <= _LONG else f"{name[: _LONG - 1]}…"


def hold_rows(table: RowTable, choice: ChosenRows, by: str | None, *, numbered: bool) -> list[dict[str, Any]]:
    """The chosen rows; `numbered`: without their ids."""
    cells = read_cells(table, choice.rows, whole=True)
    shown = show_rows(table, choice.rows, whole=True, most=_limit(cells), ready=cells)
    labels = None if by is None else field_labels(table, Field("column", by))
    for row, each in zip(choice.rows.tolist(), shown, strict=True):
        each["groups"] = {}
        if labels is not None:
            label = labels[row].as_py()
            each["groups"][by] = label and cut_name(label)
            each["columns"] = {by: [mark_text(cut_name("(null)" if label is None else label))]}
        if len(choice.rows) < table.n:
            each["groups"][SAMPLE] = "yes" if row in choice.sampled else "no"
        if numbered:
            each["id"] = str(row + 1)
    return shown


def describe_choice(choice: ChosenRows, n: int, seed: int) -> str:
    """Which rows these are."""
    if len(choice.rows) == n:
        return f"All {n} rows are here."
    kinds = {"differ": "on which systems differ most", "worst": "with the worst scores", "unscored": "without a score"}
    parts = [f"{choice.counts[kind]} {words}" for kind, words in kinds.items() if choice.counts[kind]]
    parts.append(f"{choice.counts['sample']} drawn at random (seed {seed})")
    return f"{len(choice.rows)} of {n} rows are in this file: {', '.join(parts)}. All figures above are of all rows."


def _limit(cells: Sequence[Sequence[Mapping[str, Any]]]) -> int:
    """The number of characters after which texts are cut so that the file stays small."""
    texts = {text for system in cells for row in system for cell in row.values() for text in _texts(cell)}
    sizes = [(len(text), len(text.encode("utf-8", "replace"))) for text in texts]
    for limit in _LIMITS:
        if sum(size if length <= limit else size * limit // length for length, size in sizes) <= _ROOM:
            return limit
    return _LIMITS[-1]


def _texts(cell: Any) -> Iterator[str]:
    if isinstance(cell, str):
        yield cell
    elif isinstance(cell, list | tuple):
        for each in cell:
            yield from _texts(each)


def pack(data: Any) -> str:
    r"""Data as JSON that is inert inside an element `script`; where it is long, deflated, in base64.

    >>> pack({"a": "</script>\u2028"})
    '{"a":"\\u003c/script\\u003e\\u2028"}'
    """
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_number)
    text = plain.encode("utf-8", "backslashreplace").decode()  # a lone surrogate becomes the escape that JSON knows
    if len(text.encode()) > _PLAIN:
        return json.dumps({"deflated": base64.b64encode(zlib.compress(text.encode(), 9)).decode()})
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _number(value: Any) -> Any:
    """A number of NumPy as one of Python; anything else as its text."""
    return value.item() if isinstance(value, np.generic) else str(value)
