"""Annotations of a pandas frame: one a row, as `to_annotation_dataframe` gives them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from karat.adapters.phoenix.annotation import to_annotation_dataframe
from karat.adapters.phoenix.logged import SPAN_IDS, Annotations, identifier
from karat.core.errors import ColumnError, DataError

_RESULT = ("score", "label", "explanation")


def of_frame(frame: Any) -> Annotations:
    """The annotations of a frame; one of `evaluate_dataframe` is made one of annotations first."""
    if not hasattr(frame, "to_dict"):
        raise DataError(f"the result of karat.score, or a pandas frame of scores, is expected, not {type(frame)}")
    if "annotation_name" not in frame.columns:
        frame = to_annotation_dataframe(frame)
    if frame.index.name in SPAN_IDS and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    named = next((name for name in SPAN_IDS if name in frame.columns), None)
    if named is None:
        raise ColumnError(f"no column says which span a row is of: {SPAN_IDS[0]}; there are {list(frame.columns)}")
    rows = [{key: value for key, value in row.items() if not _absent(value)} for row in frame.to_dict("records")]
    found = [_annotation(row, named, number) for number, row in enumerate(rows, 1) if row.keys() & {"score", "label"}]
    return Annotations(found, len(rows) - len(found))


def _annotation(row: Mapping[str, Any], named: str, number: int) -> dict[str, Any]:
    if missing := [name for name in (named, "annotation_name") if name not in row]:
        raise ColumnError(f"row {number}: {missing[0]} is expected, not null")
    metadata = dict(row.get("metadata", {}))
    place = {"document_position": int(row["document_position"])} if "document_position" in row else {}
    mark = {} if place else {"identifier": str(row.get("identifier", identifier(str(metadata.get("signature", "")))))}
    return {
        "span_id": str(row[named]),
        **place,
        "name": str(row["annotation_name"]),
        "annotator_kind": str(row.get("annotator_kind", "CODE")).upper(),
        "metadata": metadata,
        **mark,
        "result": {name: _plain(row[name]) for name in _RESULT if name in row},
    }


def _plain(value: Any) -> Any:
    """A number as JSON has it; anything else as text."""
    return value if isinstance(value, str) else str(value) if isinstance(value, bool) else _number(value)


def _number(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


def _absent(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, pandas' NA, and numbers that JSON cannot hold."""
    return value is None or str(value) in {"<NA>", "NaT"} or (isinstance(value, float) and not math.isfinite(value))
