"""Cells of CSV that a spreadsheet would run as formulas, written so that it shows them instead."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from karat.core.columns.arrow import is_text
from karat.core.errors import SpecError

_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
"""How a formula may start, as OWASP lists it: a sign, also a wide one, or white space before it."""
_NUMBER = r"^[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)? ?%?$"


def is_for_spreadsheets() -> bool:
    """Whether CSV is written for spreadsheets: `KARAT_CSV=spreadsheet`."""
    wanted = os.environ.get("KARAT_CSV", "")
    if wanted not in ("", "plain", "spreadsheet"):
        raise SpecError(f"KARAT_CSV={wanted!r}: expected plain or spreadsheet")
    return wanted == "spreadsheet"


def show_formulas(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The column, with an apostrophe before each text that may be a formula; numbers stay, also those that are text.

    >>> show_formulas(pa.array(["=1+1", "-0.5", "+3e4", "-1+1", "@x", "a=b", None])).to_pylist()
    ["'=1+1", '-0.5', '+3e4', "'-1+1", "'@x", 'a=b', None]
    """
    if not is_text(column.type):
        return column
    texts = column.cast(pa.large_string())
    formulas = pc.and_not(pc.match_substring_regex(texts, _FORMULA), pc.match_substring_regex(texts, _NUMBER))
    mark, nothing = (pa.scalar(text, pa.large_string()) for text in ("'", ""))
    return pc.if_else(formulas, pc.binary_join_element_wise(mark, texts, nothing), texts).cast(pa.string())


def show_formula_texts(names: Iterable[str]) -> list[str]:
    """Texts, such as the names of columns, written as `show_formulas` writes cells."""
    return list(show_formulas(pa.array(names, pa.string())).to_pylist())
