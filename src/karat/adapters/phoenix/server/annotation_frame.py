"""Annotations of a pandas frame: one a row, as `to_annotation_dataframe` gives them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from karat.adapters.phoenix.server.annotation_rows import to_annotation_dataframe
from karat.adapters.phoenix.server.annotations import SPAN_IDS, Annotations, identifier
from karat.core.errors import ColumnError, DataError, did_you_mean

_KINDS = ("CODE", "LLM", "HUMAN")


def of_frame(frame: Any) -> Annotations:
    """The annotations of a frame; one of `evaluate_dataframe` is made one of annotations first."""
    if hasattr(frame, "to_pandas"):  # polars and Arrow
        frame = frame.to_pandas()
    if not hasattr(frame, "reset_index"):
        got = type(frame).__name__
        raise DataError(f"the result of karat.score, or a pandas frame of scores, is expected, not {got}")
    if "annotation_name" not in frame.columns:
        frame = to_annotation_dataframe(frame)
    if frame.index.name in SPAN_IDS and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    named = next((name for name in SPAN_IDS if name in frame.columns), None)
    if named is None:
        raise ColumnError(f"no column says which span a row is of: {SPAN_IDS[0]}; there are {list(frame.columns)}")
    rows = [{key: value for key, value in row.items() if not _absent(value)} for row in frame.to_dict("records")]
    found: list[dict[str, Any]] = []
    first: dict[Any, int] = {}
    for number, row in enumerate(rows, 1):
        if row.keys() & {"score", "label"}:
            found.append(one := _annotation(row, named, number))
            where = tuple(one.get(key) for key in ("span_id", "name", "identifier", "document_position"))
            if (before := first.setdefault(where, number)) != number:
                raise DataError(f"rows {before} and {number} are both {one['name']!r} of span {one['span_id']}")
    return Annotations(found, len(rows) - len(found))


def _annotation(row: Mapping[str, Any], named: str, number: int) -> dict[str, Any]:
    if missing := [name for name in (named, "annotation_name") if name not in row]:
        raise ColumnError(f"row {number}: {missing[0]} is expected, not null")
    kind = str(row.get("annotator_kind", "CODE")).upper()
    if kind not in _KINDS:
        raise DataError(f"row {number}: annotator_kind {row['annotator_kind']!r}{did_you_mean(kind, _KINDS)}")
    metadata = _metadata(row.get("metadata", {}), number)
    place = {"document_position": int(row["document_position"])} if "document_position" in row else {}
    mark = {} if place else {"identifier": str(row.get("identifier", identifier(str(metadata.get("signature", "")))))}
    texts = {name: str(row[name]).encode(errors="replace").decode() for name in ("label", "explanation") if name in row}
    return {
        "span_id": str(row[named]),
        **place,
        "name": str(row["annotation_name"]),
        "annotator_kind": kind,
        "metadata": metadata,
        **mark,
        "result": {**({"score": _number(row["score"], number)} if "score" in row else {}), **texts},
    }


def _number(value: Any, number: int) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError(f"row {number}: score: a number is expected, got {value!r}; text is a label") from None


def _metadata(value: Any, number: int) -> dict[str, Any]:
    """A dict, or the same as JSON text, as files may have it."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, Mapping):
        raise DataError(f"row {number}: metadata: an object is expected, got {value!r:.60}")
    return dict(found)


def _absent(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, pandas' NA, and numbers that JSON cannot hold."""
    if isinstance(value, float):
        return not math.isfinite(value)
    return value is None or type(value).__name__ in {"NAType", "NaTType"}
