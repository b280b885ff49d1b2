"""The columns that a judge returns beside the score: label, explanation, error, tokens, cost and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from karat.core.metric.rows import Rows
from karat.judges.replies.forms import Averaged, Label, Statements, Verdict
from karat.judges.replies.items import Form, ItemForm
from karat.judges.rubric import Rubric
from karat.judges.votes import Vote

_USAGE = {"input_tokens": pa.int64(), "output_tokens": pa.int64(), "cost": pa.float64(), "latency": pa.float64()}
_VERDICT = ("label", "explanation", "statements")
_VOTE = ("error", "raw", "repaired", "consistent", "agreement", "trace_id", *_USAGE)


def detail_types(rubric: Rubric, names: Sequence[str], *, traced: bool = False) -> dict[str, pa.DataType]:
    """The Arrow type of each column beside the score.

    `names`: of the panel's members. `traced`: with a column for the id of the row's trace.
    """
    form, texts = rubric.form, ["error", "raw"]
    if rubric.each is not None or isinstance(form, Statements | ItemForm):
        texts = ["statements", *texts]
    else:
        label = ["label"] if isinstance(form, Label) else []
        texts = [*label, *(["explanation"] if "explanation" in form.schema["properties"] else []), *texts]
    types = dict.fromkeys(rubric.fields, pa.float64()) | dict(form.details if isinstance(form, ItemForm) else {})
    types |= dict.fromkeys(texts, pa.string()) | {"repaired": pa.bool_()}
    if rubric.swap is not None:
        types["consistent"] = pa.bool_()
    if len(names) > 1:
        vote = pa.string() if isinstance(form, Label) and rubric.each is None else pa.float64()
        types |= {"agreement": pa.float64()} | dict.fromkeys(names, vote)
    return types | _USAGE | ({"trace_id": pa.string()} if traced else {})


def to_rows(
    votes: Sequence[Vote], types: Mapping[str, pa.DataType], names: Sequence[str], form: Form | None = None
) -> Rows:
    """The votes as `Rows`: the form's statistics of each row (by default its score) or a reason, and the `types`."""
    of_row = Averaged().statistics if form is None else form.statistics
    width = len(of_row(Verdict(0.0)))
    blank = [np.nan] * width
    scores = np.array([of_row(vote.verdict) if vote.verdict and vote.score is not None else blank for vote in votes])
    reasons = np.full(len(votes), None, dtype=object)
    for row, vote in enumerate(votes):
        if vote.score is None:
            reasons[row] = vote.error if vote.verdict is None else vote.verdict.reason
    columns = {name: [_cell(vote, name, names) for vote in votes] for name in types}
    return Rows(scores, reasons, {name: pa.array(column, types[name]) for name, column in columns.items()})


def _cell(vote: Vote, name: str, names: Sequence[str]) -> Any:
    if len(names) > 1 and name in names:
        if not vote.votes or (verdict := vote.votes[names.index(name)].verdict) is None:
            return None
        return verdict.score if verdict.label is None else verdict.label
    if name in _VERDICT:
        return None if vote.verdict is None else getattr(vote.verdict, name)
    if name in _VOTE:
        return getattr(vote, name)
    return None if vote.verdict is None else vote.verdict.fields.get(name, vote.verdict.lists.get(name))
