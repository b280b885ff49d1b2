"""The metric of JSON by field: how many of the fields are right, over all of them or the fields of one path."""

# ruff: noqa: ARG001  (a metric declares the setting that only its finish reads)
from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from karat.core.columns.kinds import TEXT, Array, Counts, Text
from karat.core.errors import SpecError
from karat.core.metric.decorator import metric
from karat.core.metric.definition import Definition
from karat.core.metric.metric import Metric
from karat.core.metric.rows import Rows, TooLong, collect_rows, divide
from karat.core.metric.spec import parse as parse_spec
from karat.metrics.answers.json.comparison import Comparer, FieldLists, LeafScores, collect
from karat.metrics.answers.json.parser import Invalid, parse
from karat.metrics.answers.json.paths import JsonField, read_pattern

KINDS = ("equal", "different", "missing", "extra")
FieldMeasure: TypeAlias = Literal["f1", "precision", "recall"]


def read_metrics(metrics: Mapping[str, Any]) -> dict[str, Metric]:
    """The metric of each pattern of paths; `SpecError` unless each is a pattern and a metric of two texts."""
    parsed = {}
    for pattern, spec in sorted(metrics.items()):
        read_pattern(pattern)
        if not isinstance(spec, str):
            raise SpecError(f"{pattern!r}: the spec of a metric as text is expected, such as 'token_f1'")
        each = parsed[pattern] = parse_spec(spec)
        about = each.definition
        if dict(about.columns) != {"prediction": TEXT, "reference": TEXT} or about.remote:
            raise SpecError(f"{pattern!r}: {spec} is not a metric of prediction and reference that needs no model")
        if (about.low, about.high, about.direction) != (0, 1, "maximize"):
            raise SpecError(f"{pattern!r}: a metric from 0 to 1, with 1 for equal, is expected, and {spec} is none")
    return parsed


def _check_metrics(metrics: Mapping[str, Any]) -> dict[str, str]:
    return {pattern: str(each.spec) for pattern, each in read_metrics(metrics).items()}


def _check_path(path: str | None) -> None:
    if path is not None:
        read_pattern(path)


def measure_of(totals: Array, *, measure: str) -> Array:
    """F1, precision or recall from three counts: leaves that are right, that were predicted, that were expected."""
    right, predicted, expected = np.moveaxis(totals, -1, 0)
    whole = {"f1": (predicted + expected) / 2, "precision": predicted, "recall": expected}
    return divide(right, whole[measure])


def _specialise(definition: Definition, settings: Mapping[str, Any]) -> Definition:
    """The definition with the signatures of the metrics by path."""
    marks = {pattern: each.signature for pattern, each in read_metrics(settings["metrics"]).items()}
    return replace(definition, marks=MappingProxyType(marks))


@metric(
    source="fields counted as by stickler-eval 1.0.0; lists matched as in ANLS*, arXiv:2402.03848",
    finish=measure_of,
    reads_json=True,
    details=lambda _: dict.fromkeys(KINDS, pa.list_(pa.string())),
    specialise=_specialise,
)
def json_fields(
    prediction: Text,
    reference: Text,
    *,
    measure: FieldMeasure = "f1",
    path: Annotated[str | None, _check_path] = None,
    lists: Literal["matched", "ordered"] = "matched",
    metrics: Annotated[dict[str, Any], _check_metrics] = {},  # noqa: B006  (frozen in the definition)
    nulls: Literal["value", "absent"] = "value",
    fences: bool = False,
) -> Counts:
    """F1 of the fields of a JSON value, precision or recall: the fields that are right by those predicted and expected.

    A field is a text, a number, true, false, null, or an empty object or list, at its path. Its path names the
    objects that it is in; `[*]` stands for the items of a list. Fields are `equal`, `different` (at the same path),
    `missing` or `extra`; the value is computed from their sums over all rows. `lists="matched"`: items are paired one
    to one so that most fields are equal; `"ordered"`: the first with the first.

    `metrics` gives metrics by path, such as `{"items[*].price": "numeric_match(relative=0.01)"}`. A path may be the
    end of one (`price`) and holds for all that is inside; the longest that fits counts, and `*` is all others. A field
    is then right by its score, and equal where that is 1. `path` counts the fields there alone; rows without one are
    unscored. `nulls="absent"`: a null in an object is as if it were not there.

    A prediction that is not JSON (see `valid_json`) lacks all fields; a row whose reference is not JSON, or whose lists
    make more than 10,000,000 pairs of fields, is unscored.

    >>> import karat
    >>> rows = {"prediction": ['{"id": 7, "lines": [{"sum": 5}, {"sum": 2.0}], "tax": 1}']}
    >>> rows["reference"] = ['{"id": 7, "lines": [{"sum": 2}, {"sum": 4}], "date": "May"}']
    >>> result = karat.score(rows, json_fields)
    >>> result.values["json_fields"].value
    0.5
    >>> result.counts["json_fields"]["missing"], result.counts["json_fields"]["extra"]
    ({'date': 1}, {'tax': 1})
    """
    rules = read_metrics(metrics)
    scores = LeafScores(list(rules.values())) if rules else None
    root = JsonField.root(map(read_pattern, rules), () if path is None else read_pattern(path))
    comparer = Comparer(scores, lists == "matched")

    def compare(prediction: str, reference: str) -> FieldLists | str:
        expected, predicted = (parse(text, fences=fences, nulls=nulls == "value") for text in (reference, prediction))
        fields = FieldLists()
        if isinstance(expected, Invalid):
            return f"reference is not JSON: {expected.why}"
        if isinstance(predicted, Invalid):
            collect(expected, root, fields.missing)
        else:
            comparer.pairs.spent = 0
            try:
                comparer.compare(predicted, expected, root, fields)
            except TooLong as error:
                return str(error)
        return fields

    texts = prediction.to_pylist(), reference.to_pylist()
    if scores is not None:
        deque(map(compare, *texts), maxlen=0)  # finds the pairs of leaves that the metrics are to score
        scores.resolve()
    return _count(map(compare, *texts), path)


def _count(rows: Iterable[FieldLists | str], path: str | None) -> Rows:
    """The counts of each row, and the paths of its fields of each kind."""
    counts: list[list[float] | str] = []
    paths: dict[str, list[list[str] | None]] = {kind: [] for kind in KINDS}
    for fields in rows:
        row = fields if isinstance(fields, str) else _count_row(fields, path)
        counts.append(row if isinstance(row, str) else row[0])
        for kind in KINDS:
            paths[kind].append(None if isinstance(row, str) else row[1][kind])
    details = {kind: pa.array(lists, pa.list_(pa.string())) for kind, lists in paths.items()}
    return replace(collect_rows(counts, 3), details=details)


def _count_row(lists: FieldLists, path: str | None) -> tuple[list[float], dict[str, list[str]]] | str:
    named = {kind: [at.path for at in getattr(lists, kind) if at.counted] for kind in KINDS}
    equal, different, missing, extra = map(len, named.values())
    if not (equal or different or missing or extra):
        return f"neither prediction nor reference has the field {path}"
    if unscored := next((f"{at.path}: {reason}" for at, reason in lists.unscored if at.counted), None):
        return unscored
    right = equal + sum(score for at, score in lists.partial if at.counted)
    return [right, equal + different + extra, equal + different + missing], named
