"""Scores in a frame as annotations: frames of `evaluate_dataframe`, and frames with one annotation in each row."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from karat.adapters.phoenix.server.annotation import Annotation, Annotations, find_ids, identifier
from karat.core.columns.python_values import is_missing, to_pandas
from karat.core.errors import ColumnError, DataError, did_you_mean

_RESULT = ("score", "label", "explanation")
_COLUMNS = (*_RESULT, "metadata", "annotation_name", "annotator_kind", "identifier", "document_position")
_KINDS = ("CODE", "LLM", "HUMAN")
_SUFFIX = "_score"


def to_annotation_dataframe(dataframe: Any, score_names: Sequence[str] | None = None) -> Any:
    """A frame with one row for each score of each span, for `Client().spans.log_span_annotations_dataframe`.

    It is Phoenix's own, but for what Phoenix's client cannot log: rows without a score, a label and an explanation are
    left out, unless there are no others, and so is the reason why a metric of karat's gave no score; a warning counts
    them. What is missing is None, since the client makes of NaN the label "nan". Labels are text. Columns of numbers
    are not scores.

    >>> import pandas as pd
    >>> from karat.adapters.phoenix import evaluate_dataframe, exact_match
    >>> frame = pd.DataFrame({"context.span_id": ["a1"], "output": ["Paris"], "expected": ["Paris"]})
    >>> annotations = to_annotation_dataframe(evaluate_dataframe(frame, [exact_match]))
    >>> annotations[["context.span_id", "annotation_name", "score", "annotator_kind"]].values.tolist()
    [['a1', 'exact_match', 1.0, 'CODE']]
    """
    from phoenix.evals.utils import to_annotation_dataframe as theirs  # noqa: PLC0415  (of another package)

    dataframe = dataframe.rename(columns=str)
    if not score_names:
        named = [name for name in dataframe if name.endswith(_SUFFIX) and dataframe[name].dtype.kind not in "iufb"]
        score_names = [name.removesuffix(_SUFFIX) for name in named]
    frame = theirs(dataframe=dataframe, score_names=score_names)
    if frame.empty:
        return frame
    frame["label"] = [None if is_missing(label) else str(label) for label in frame["label"]]
    frame = frame.astype(object).where(frame.notna(), None)
    unscored = [isinstance(each, Mapping) and "signature" in each for each in frame["metadata"]]
    annotated = frame[[*_RESULT[:2]]].notna().any(axis=1) | (frame["explanation"].notna() & ~np.array(unscored))
    if annotated.any() and not annotated.all():
        warnings.warn(f"{(~annotated).sum()} rows without a score are left out", stacklevel=2)
        frame = frame[annotated].reset_index(drop=True)
    return frame


def from_frame(frame: Any) -> Annotations:
    """The annotations of a frame that `evaluate_dataframe` or `to_annotation_dataframe` returned, or of one's own.

    They are of spans, of traces or of sessions, whichever the frame has ids of, in this order. Raises `ColumnError` or
    `DataError`, which name the row, for a frame that holds no annotations.
    """
    if hasattr(frame, "to_pandas"):  # polars and Arrow
        frame = to_pandas(frame) if isinstance(frame, pa.Table) else frame.to_pandas()
    if not hasattr(frame, "reset_index"):
        expected = "the result of karat.score, or a pandas frame of scores, is expected"
        raise DataError(f"{expected}, not {type(frame).__name__}")
    levels = {str(name): frame.index.get_level_values(name) for name in frame.index.names if name is not None}
    columns = levels | {str(name): column for name, column in frame.items()}
    target, column = find_ids(columns)
    ids = columns[column].tolist()
    annotations: list[Annotation] = []
    first_rows: dict[Any, int] = {}
    unscored = 0
    for number, cells in _rows(frame):
        row = {name: value for name, value in cells.items() if not _is_absent(value)}
        if not row.keys() & {"score", "label"}:
            unscored += 1
            continue
        if _is_absent(ids[number - 1]):
            raise ColumnError(f"row {number}: {target} is expected, not null")
        annotations.append(annotation := {target: str(ids[number - 1]), **_to_annotation(row, number)})
        key = tuple(annotation.get(part) for part in (target, "name", "identifier", "document_position"))
        if (first := first_rows.setdefault(key, number)) != number:
            what = target.removesuffix("_id")
            raise DataError(f"rows {first} and {number} are both {annotation['name']!r} of {what} {key[0]}")
    return Annotations(annotations, unscored)


def _rows(frame: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each row, and its annotation's cells: of columns of their own, or of the dicts in score columns."""
    if "annotation_name" in frame.columns:
        names = [name for name in _COLUMNS if name in frame.columns]
        for number, values in enumerate(zip(*(frame[name].tolist() for name in names), strict=True), 1):
            yield number, dict(zip(names, values, strict=True))
        return
    if not (columns := _score_columns(frame)):
        raise ColumnError(f"no column '<name>{_SUFFIX}' holds scores, as evaluate_dataframe writes them")
    for name, scores in columns.items():
        for number, score in enumerate(scores, 1):
            yield number, _cells(name, score) if score else {}


def _score_columns(frame: Any) -> dict[str, list[Mapping[str, Any] | None]]:
    """The scores in each column that holds some, dicts or the same as JSON text; None for a row without one."""
    columns = {}
    for name, column in frame.items():
        if str(name).endswith(_SUFFIX):
            scores = [_to_score(cell) for cell in column.tolist()]
            others = [row for row, score in enumerate(scores, 1) if score is not None and not _is_score(score)]
            if not others:
                columns[str(name).removesuffix(_SUFFIX)] = scores
            elif len(others) < len(scores) - scores.count(None):
                got = f"{scores[others[0] - 1]!r:.60}"
                raise ColumnError(f"column {name}, row {others[0]}: a score's dict is expected, got {got}")
    return columns


def _to_score(cell: Any) -> Any:
    """A cell's score as a dict, None for an empty cell; anything else as it is."""
    if isinstance(cell, str) and cell:
        with suppress(ValueError):
            cell = json.loads(cell)
    return None if _is_absent(cell) or cell == "" else cell


def _is_score(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value.keys() & {*_RESULT, "direction"})


def _cells(name: str, score: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(score.get("kind") or score.get("source")).upper()
    direction = {"direction": score["direction"]} if score.get("direction") else {}
    return {
        **{part: None if score.get(part) == "" else score.get(part) for part in _RESULT},
        "metadata": {**(score.get("metadata") or {}), **direction},
        "annotation_name": name,
        "annotator_kind": "CODE" if kind == "HEURISTIC" else kind if kind in _KINDS else "LLM",
    }


def _to_annotation(row: Mapping[str, Any], number: int) -> Annotation:
    """The annotation in a row, whose missing values are left out; `number` is the row's, for messages."""
    if "annotation_name" not in row:
        raise ColumnError(f"row {number}: annotation_name is expected, not null")
    kind = str(row.get("annotator_kind", "CODE")).upper()
    if kind not in _KINDS:
        raise DataError(f"row {number}: annotator_kind {row['annotator_kind']!r}{did_you_mean(kind, _KINDS)}")
    metadata = _read_metadata(row.get("metadata", {}), number)
    place = {"document_position": int(row["document_position"])} if "document_position" in row else {}
    default = identifier(str(metadata.get("signature", "")))
    mark = {} if place else {"identifier": str(row.get("identifier", default))}
    texts = {name: str(row[name]).encode(errors="replace").decode() for name in ("label", "explanation") if name in row}
    return {
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


def _is_absent(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, pandas' NA, or a number that JSON cannot hold."""
    return is_missing(value) or (isinstance(value, float) and math.isinf(value))
