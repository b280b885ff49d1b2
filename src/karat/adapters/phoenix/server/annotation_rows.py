"""Scores in a frame as annotations, one a row, as Phoenix's client logs them."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from karat.adapters.phoenix.mapping import is_missing
from karat.core.errors import ColumnError, MissingExtra, did_you_mean

SPAN_IDS = ("context.span_id", "span_id")
RESULT = ("score", "label", "explanation")
COLUMNS = (*RESULT, "metadata", "annotation_name", "annotator_kind")
SUFFIX = "_score"
_STRANGE: Any = {"": "no score"}


def to_annotation_dataframe(dataframe: Any, score_names: Sequence[str] | None = None) -> Any:
    """A row for each score of each span, to be given to `Client().spans.log_span_annotations_dataframe`.

    Reads the columns `<name>_score` that `evaluate_dataframe` writes (dicts, or the same as JSON text, as files may
    have them): those of `score_names`, else all in which there is a score. The span is told by a column or index
    `context.span_id` or `span_id`, else by the only one with `span_id` in its name that is no parent's, which is then
    called `span_id`. The columns are that one, then `score`, `label` and `explanation` (None where there is none),
    `metadata` (with the direction), `annotation_name` and `annotator_kind`. Labels are text.

    Rows that failed are left out, as are those without a span or with nothing to log; one warning tells their number.

    Raises `karat.ColumnError`, a `ValueError`, where no column tells the span, or none of a given name holds scores.

    >>> import pandas as pd
    >>> from karat.adapters.phoenix import evaluate_dataframe, exact_match
    >>> frame = pd.DataFrame({"context.span_id": ["a1"], "output": ["Paris"], "expected": ["Paris"]})
    >>> annotations = to_annotation_dataframe(evaluate_dataframe(frame, [exact_match]))
    >>> annotations[["context.span_id", "annotation_name", "score", "label", "annotator_kind"]].values.tolist()
    [['a1', 'exact_match', 1.0, 'True', 'CODE']]
    """
    try:
        import pandas as pd  # noqa: PLC0415  (optional)
    except ModuleNotFoundError:
        raise MissingExtra("pandas", extra="phoenix", need="to_annotation_dataframe") from None
    called, spans = _span_ids(dataframe)
    rows: list[dict[str, Any]] = []
    left_out = Counter[str]()
    for name, scores in _score_columns(dataframe, score_names).items():
        for span, score in zip(spans, scores, strict=True):
            if score is None:
                left_out["that failed"] += 1
            elif _missing(span):
                left_out["without a span"] += 1
            elif all(_missing(score.get(part)) for part in RESULT):
                left_out["with nothing to log"] += 1
            else:
                rows.append({called: str(span), **_annotation(name, score)})
    if left_out:
        said = ", ".join(f"{count} {what}" for what, count in left_out.items())
        warnings.warn(f"scores left out: {said}", stacklevel=2)
    columns = {name: [row[name] for row in rows] for name in (called, *COLUMNS)}
    return pd.DataFrame({name: pd.Series(values, dtype=_dtype(name, values)) for name, values in columns.items()})


def _span_ids(frame: Any) -> tuple[str, Sequence[Any]]:
    """What the column of spans is to be called, and the span of each row."""
    names = {str(name): name for name in frame.columns}
    for name in SPAN_IDS:
        if name in names:
            return name, frame[names[name]].tolist()
        if name in frame.index.names:
            return name, frame.index.get_level_values(name).tolist()
    others = [name for name in names if "span_id" in name.lower() and "parent" not in name.lower()]
    if len(others) != 1:
        found = f"; {', '.join(others)} could each be it" if others else ""
        raise ColumnError(f"No column containing 'span_id' found in DataFrame: context.span_id is expected{found}")
    return "span_id", frame[names[others[0]]].tolist()


def _score_columns(frame: Any, wanted: Sequence[str] | None) -> dict[str, list[Mapping[str, Any] | None]]:
    """The scores of each name, None where a row has none: of the wanted names, else of all that are there."""
    if isinstance(wanted, str):
        raise TypeError(f"score_names: a list of names is expected, got {wanted!r}")
    there = {str(name).removesuffix(SUFFIX): column for name, column in frame.items() if str(name).endswith(SUFFIX)}
    found = {}
    for name in wanted or there:
        if name not in there:
            near = did_you_mean(name, there)
            raise ColumnError(f"Score column '{name}{SUFFIX}' not found in DataFrame{near}")
        cells = [_score(cell) for cell in there[name].tolist()]
        strange = [row for row, cell in enumerate(cells) if cell is _STRANGE]
        holds = any(cell is not None and cell is not _STRANGE for cell in cells)
        if strange and (wanted or holds):
            got = f"{there[name].tolist()[strange[0]]!r:.60}"
            raise ColumnError(f"column {name}{SUFFIX}, row {strange[0] + 1}: a score's dict is expected, got {got}")
        if wanted or holds or (not strange and there[name].dtype == object):
            found[name] = cells
    if not found:
        raise ColumnError(f"no column '<name>{SUFFIX}' holds scores, as evaluate_dataframe writes them")
    return found


def _score(cell: Any) -> Any:
    """A cell's score as a dict, None where there is none."""
    if _missing(cell):
        return None
    if isinstance(cell, str):
        with suppress(ValueError):
            cell = json.loads(cell)
    return cell if isinstance(cell, Mapping) and cell.keys() & {*RESULT, "direction"} else _STRANGE


def _annotation(name: str, score: Mapping[str, Any]) -> dict[str, Any]:
    value, label, explanation = (None if _missing(score.get(part)) else score[part] for part in RESULT)
    return {
        "score": None if value is None else float(value),
        "label": None if label is None else str(label),
        "explanation": None if explanation is None else str(explanation),
        "metadata": {**(score.get("metadata") or {}), "direction": score.get("direction") or "maximize"},
        "annotation_name": name,
        "annotator_kind": str(score.get("kind") or "LLM").upper(),
    }


def _dtype(name: str, values: list[Any]) -> Any:
    """Such that None stays None."""
    if name == "score" and values and None not in values:
        return float
    return object if name in {*RESULT, "metadata"} else str


def _missing(value: Any) -> bool:
    """None, pandas' NA, and numbers that JSON has no form for; an empty text says nothing either."""
    return is_missing(value) or value in ("", math.inf, -math.inf)
