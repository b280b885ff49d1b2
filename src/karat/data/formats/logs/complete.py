"""Logs whose rows lack a column that follows from others: recognised by their columns, in any format."""

from __future__ import annotations

from karat.data.formats.logs.lighteval import add_golds, is_lighteval
from karat.data.formats.logs.lm_eval import add_choices, has_choices
from karat.data.formats.logs.mlflow import is_traces, open_traces
from karat.data.source import Source


def complete_log(source: Source) -> Source:
    """The source; of such a log with the columns that a metric needs."""
    if is_lighteval(source):
        return add_golds(source)
    if has_choices(source):
        return add_choices(source)
    return open_traces(source) if is_traces(source) else source
