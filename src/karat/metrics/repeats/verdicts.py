"""What a judge says of the answers to each question, beside the score of the question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.columns.arrow import from_numpy, lists_text
from karat.core.columns.kinds import Array
from karat.core.metric.definition import Configured
from karat.core.metric.rows import Rows

USED = ("input_tokens", "output_tokens", "cost", "latency")
"""What the calls for an answer took, which adds up."""


def verdict_types(judged: Configured) -> dict[str, pa.DataType]:
    """The Arrow type of each column: labels of the answers, items of lists, verdicts as JSON, errors, and usage."""
    details = judged.details
    texts = {"statements": pa.string(), "error": pa.string()}
    labels = {"labels": pa.list_(pa.string())} if "label" in details else {}
    lists = {name: kind for name, kind in details.items() if lists_text(kind)}
    return {**labels, **lists, **texts, **{name: details[name] for name in USED if name in details}}


def join_verdicts(judged: Configured, answers: Rows, sizes: Array) -> dict[str, pa.Array]:
    """The columns of questions, whose answers stand one after the other; `sizes`, shape (questions,), counts them.

    `statements` holds an object for each answer: its number from 1, its score, or the reason why it has none, and what
    the judge says of it.
    """
    types, ends = verdict_types(judged), np.cumsum(sizes)
    details = dict(zip(judged.details, answers.detail_columns(judged), strict=True))
    parents = np.repeat(np.arange(len(sizes)), sizes)
    joined: dict[str, pa.Array] = {}
    for name, kind in types.items():
        if name == "labels":
            joined[name] = _split(details["label"], np.concatenate([[0], ends]), kind)
        elif lists_text(kind):
            items = np.concatenate([[0], np.cumsum(details[name].value_lengths().fill_null(0))])
            joined[name] = _split(details[name].flatten(), items[np.concatenate([[0], ends])], kind)
        elif name in USED:
            known = np.asarray(details[name].is_valid())
            total = np.bincount(parents, np.asarray(details[name].fill_null(0)), minlength=len(sizes))
            spent = np.bincount(parents, known, minlength=len(sizes)) > 0
            joined[name] = from_numpy(total, spent).cast(kind)
    places = zip(ends - sizes, ends, strict=True)
    verdicts = _list_verdicts(
        judged, answers, {name: details[name] for name in details if name not in types.keys() - {"statements", "error"}}
    )
    by_question = [list(enumerate(verdicts[start:end], 1)) for start, end in places]
    shown = ([{"answer": number, **verdict} for number, verdict in each] for each in by_question)
    joined["statements"] = pa.array([json.dumps(each, ensure_ascii=False) for each in shown], pa.string())
    errors = (
        "; ".join(f"answer {number}: {verdict['error']}" for number, verdict in each if "error" in verdict)
        for each in by_question
    )
    joined["error"] = pa.array([each or None for each in errors], pa.string())
    return joined


def _split(items: pa.Array, offsets: Array, kind: pa.DataType) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, type=kind)


def _list_verdicts(judged: Configured, answers: Rows, details: Mapping[str, pa.Array]) -> list[dict[str, Any]]:
    """What the judge says of each answer; `details` has the columns of it that are shown."""
    scores, reasons = answers.scores(judged), answers.reason_column().to_pylist()
    rows = zip(*(column.to_pylist() for column in details.values()), strict=True)
    verdicts = []
    for score, reason, row in zip(scores.tolist(), reasons, rows, strict=True):
        verdict = {"reason": reason} if isnan(score) else {"score": score}
        verdict |= {name: value for name, value in zip(details, row, strict=True) if value is not None}
        verdicts.append(
            verdict | ({"statements": json.loads(verdict["statements"])} if "statements" in verdict else {})
        )
    return verdicts
