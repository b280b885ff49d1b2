"""Scores in a frame as annotations: those of `evaluate_dataframe`, and frames with one annotation in each row."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from karat.adapters.phoenix.mapping import is_missing
from karat.adapters.phoenix.server.annotation import Annotation, Annotations, identifier
from karat.core.columns.ids import SPAN_IDS
from karat.core.columns.python_values import to_pandas
from karat.core.errors import ColumnError, DataError, did_you_mean
from karat.core.lazy import import_extra

_RESULT = ("score", "label", "explanation")
_COLUMNS = (*_RESULT, "metadata", "annotation_name", "annotator_kind")
_OPTIONAL = ("identifier", "document_position")
_KINDS = ("CODE", "LLM", "HUMAN")
_SUFFIX = "_score"
_NOT_A_SCORE: Any = {"": "not a score"}


def to_annotation_dataframe(dataframe: Any, score_names: Sequence[str] | None = None) -> Any:
    """A frame with one row for each score of each span, for `Client().spans.log_span_annotations_dataframe`.

    Reads the columns `<name>_score` that `evaluate_dataframe` writes: dicts, or the same as JSON text, as in files.
    `score_names` selects among them; by default all are read but those that hold numbers alone. All columns with
    `span_id` in their name are kept, and an index of such a name becomes one; the id is in `context.span_id` or
    `span_id`, else a column `span_id` is added with the values of the only other one that has not `parent` in its name.
    Then come `score`, `label` and `explanation` (None if missing), `metadata` (with the direction, if there is one;
    else None), `annotation_name` and `annotator_kind` (LLM for an unknown kind). Labels are text.

    Rows that failed, rows without a span and scores with nothing to log are left out; one warning counts them.

    Raises `ColumnError`, a `ValueError`, if no column holds the span's id, or a named column holds no scores, and
    `json.JSONDecodeError` for text that is not JSON.

    >>> import pandas as pd
    >>> from karat.adapters.phoenix import evaluate_dataframe, exact_match
    >>> frame = pd.DataFrame({"context.span_id": ["a1"], "output": ["Paris"], "expected": ["Paris"]})
    >>> annotations = to_annotation_dataframe(evaluate_dataframe(frame, [exact_match]))
    >>> annotations[["context.span_id", "annotation_name", "score", "annotator_kind"]].values.tolist()
    [['a1', 'exact_match', 1.0, 'CODE']]
    """
    pd = import_extra("pandas", extra="phoenix", need="to_annotation_dataframe")
    ids = _id_columns(dataframe)
    id_column = _id_column(ids)
    rows: list[dict[str, Any]] = []
    left_out = Counter[str]()
    for name, scores in _score_columns(dataframe, score_names):
        for row, score in enumerate(scores):
            if score is None:
                left_out["that failed"] += 1
            elif id_column is not None and _is_blank(ids[id_column][row]):
                left_out["without a span"] += 1
            elif _is_empty(score):
                left_out["with nothing to log"] += 1
            else:
                spans = {column: _to_text(values[row]) for column, values in ids.items()}
                rows.append({**spans, **_to_row(name, score)})
    if left_out:
        counts = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        warnings.warn(f"scores left out: {counts}", stacklevel=2)
    columns = {name: [row[name] for row in rows] for name in (*ids, *_COLUMNS)}
    return pd.DataFrame({name: pd.Series(values, dtype=_dtype(name, values)) for name, values in columns.items()})


def from_frame(frame: Any) -> Annotations:
    """The annotations of a frame that `evaluate_dataframe` or `to_annotation_dataframe` returned, or of one's own.

    Raises `ColumnError` or `DataError`, which name the row, for a frame that holds no annotations.
    """
    if hasattr(frame, "to_pandas"):  # polars and Arrow
        frame = to_pandas(frame) if isinstance(frame, pa.Table) else frame.to_pandas()
    if not hasattr(frame, "reset_index"):
        expected = "the result of karat.score, or a pandas frame of scores, is expected"
        raise DataError(f"{expected}, not {type(frame).__name__}")
    if "annotation_name" not in frame.columns:
        if not _score_columns(frame, None):
            raise ColumnError(f"no column '<name>{_SUFFIX}' holds scores, as evaluate_dataframe writes them")
        frame = to_annotation_dataframe(frame)
    ids = _id_columns(frame)
    id_column = _id_column(ids)
    if id_column is None:
        several = ", ".join(name for name in ids if "parent" not in name.lower())
        raise ColumnError(f"{several} could each be the span's id: {SPAN_IDS[0]} is expected")
    span_ids = ids[id_column]
    names = [name for name in (*_COLUMNS, *_OPTIONAL) if name in frame.columns]
    cells = zip(span_ids, *(frame[name].tolist() for name in names), strict=True)
    annotations: list[Annotation] = []
    first_rows: dict[Any, int] = {}
    unscored = 0
    for number, values in enumerate(cells, 1):
        row = {name: value for name, value in zip([id_column, *names], values, strict=True) if not _is_absent(value)}
        if not row.keys() & {"score", "label"}:
            unscored += 1
            continue
        annotations.append(annotation := _to_annotation(row, id_column, number))
        key = tuple(annotation.get(part) for part in ("span_id", "name", "identifier", "document_position"))
        if (first := first_rows.setdefault(key, number)) != number:
            raise DataError(f"rows {first} and {number} are both {annotation['name']!r} of span {key[0]}")
    return Annotations(annotations, unscored)


def _id_columns(frame: Any) -> dict[str, list[Any]]:
    """The columns and levels of the index with `span_id` in their name, and `span_id` if it is plain which that is."""
    ids = {str(name): column.tolist() for name, column in frame.items() if "span_id" in str(name).lower()}
    for level in frame.index.names:
        if "span_id" in str(level).lower():
            ids[f"{level}_from_index" if level in ids else str(level)] = frame.index.get_level_values(level).tolist()
    likely = [name for name in ids if "parent" not in name.lower()]
    if not likely:
        columns = ", ".join(map(str, frame.columns))
        raise ColumnError(f"No column containing 'span_id' found in DataFrame: {SPAN_IDS[0]} is expected in {columns}")
    if len(likely) == 1 and likely[0] not in SPAN_IDS:
        ids["span_id"] = ids[likely[0]]
    return ids


def _id_column(ids: Mapping[str, list[Any]]) -> str | None:
    """The name of the column with the span's id, None if several could be it."""
    return next((name for name in SPAN_IDS if name in ids), None)


def _score_columns(frame: Any, wanted: Sequence[str] | None) -> list[tuple[str, list[Mapping[str, Any] | None]]]:
    """The scores of each wanted name, or of all columns that hold some; None for a row without one."""
    if isinstance(wanted, str):
        raise TypeError(f"score_names: a list of names is expected, got {wanted!r}")
    columns = {str(name).removesuffix(_SUFFIX): column for name, column in frame.items() if str(name).endswith(_SUFFIX)}
    scores = []
    for name in wanted or columns:
        if name not in columns:
            raise ColumnError(f"Score column '{name}{_SUFFIX}' not found in DataFrame{did_you_mean(name, columns)}")
        values = columns[name].tolist()
        cells = [_to_score(value, f"column {name}{_SUFFIX}, row {row}") for row, value in enumerate(values, 1)]
        others = [row for row, cell in enumerate(cells) if cell is _NOT_A_SCORE]
        if others and (wanted or len(others) < len(cells) - cells.count(None)):
            got = f"{values[others[0]]!r:.60}"
            raise ColumnError(f"column {name}{_SUFFIX}, row {others[0] + 1}: a score's dict is expected, got {got}")
        if not others:
            scores.append((name, cells))
    return scores


def _to_score(cell: Any, place: str) -> Any:
    """A cell's score as a dict; None for an empty cell, `_NOT_A_SCORE` for anything else but text that is not JSON."""
    if _is_blank(cell):
        return None
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except json.JSONDecodeError as error:
            problem = f"{place}: a score as JSON is expected (score_names= selects columns), got {cell!r:.60}"
            raise json.JSONDecodeError(problem, error.doc, error.pos) from None
    return cell if isinstance(cell, Mapping) and cell.keys() & {*_RESULT, "direction"} else _NOT_A_SCORE


def _is_empty(score: Mapping[str, Any]) -> bool:
    """Whether a score has nothing to log; the explanation of one of karat's metrics alone says why it has no score."""
    ours = "signature" in (score.get("metadata") or {})
    return all(_is_blank(score.get(part)) for part in (_RESULT[:2] if ours else _RESULT))


def _to_row(name: str, score: Mapping[str, Any]) -> dict[str, Any]:
    direction = {"direction": score["direction"]} if score.get("direction") else {}
    kind = str(score.get("kind") or score.get("source")).upper()
    value, label, explanation = (None if _is_blank(score.get(part)) else score[part] for part in _RESULT)
    return {
        "score": None if value is None else float(value),
        "label": None if label is None else str(label),
        "explanation": None if explanation is None else str(explanation),
        "metadata": {**(score.get("metadata") or {}), **direction} or None,
        "annotation_name": name,
        "annotator_kind": "CODE" if kind == "HEURISTIC" else kind if kind in _KINDS else "LLM",
    }


def _to_annotation(row: Mapping[str, Any], id_column: str, number: int) -> Annotation:
    """The annotation in a row, whose missing values are left out; `number` is the row's, for messages."""
    for name in (id_column, "annotation_name"):
        if name not in row:
            raise ColumnError(f"row {number}: {name} is expected, not null")
    kind = str(row.get("annotator_kind", "CODE")).upper()
    if kind not in _KINDS:
        raise DataError(f"row {number}: annotator_kind {row['annotator_kind']!r}{did_you_mean(kind, _KINDS)}")
    metadata = _read_metadata(row.get("metadata", {}), number)
    place = {"document_position": int(row["document_position"])} if "document_position" in row else {}
    default = identifier(str(metadata.get("signature", "")))
    mark = {} if place else {"identifier": str(row.get("identifier", default))}
    texts = {name: str(row[name]).encode(errors="replace").decode() for name in ("label", "explanation") if name in row}
    return {
        "span_id": str(row[id_column]),
        **place,
        "name": str(row["annotation_name"]),
        "annotator_kind": kind,
        "metadata": metadata,
        **mark,
        "result": {**({"score": _to_number(row["score"], number)} if "score" in row else {}), **texts},
    }


def _to_number(value: Any, number: int) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise DataError(f"row {number}: score: a number is expected, got {value!r}; text is a label") from None


def _read_metadata(value: Any, number: int) -> dict[str, Any]:
    """A dict, or the same as JSON text, as in files."""
    metadata = value
    if isinstance(value, str):
        with suppress(ValueError):
            metadata = json.loads(value)
    if not isinstance(metadata, Mapping):
        raise DataError(f"row {number}: metadata: an object is expected, got {value!r:.60}")
    return dict(metadata)


def _dtype(name: str, values: list[Any]) -> Any:
    """A dtype with which pandas keeps None as None."""
    if name == "score" and values and None not in values:
        return float
    return object if name in {*_RESULT, "metadata"} else str


def _to_text(value: Any) -> str | None:
    return None if is_missing(value) else str(value)


def _is_absent(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, pandas' NA, or a number that JSON cannot hold."""
    return is_missing(value) or (isinstance(value, float) and math.isinf(value))


def _is_blank(value: Any) -> bool:
    return _is_absent(value) or (isinstance(value, str) and not value)
