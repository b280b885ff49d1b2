"""Logs whose rows lack a column that follows from others: recognised by their columns, in any format."""

from __future__ import annotations

from karat.core.errors import KaratError
from karat.data.formats.logs.lighteval import add_golds, is_lighteval
from karat.data.formats.logs.lm_eval import add_choices, has_choices
from karat.data.formats.logs.mlflow import is_traces, open_traces
from karat.data.formats.logs.promptfoo import add_references, has_templates
from karat.data.source import Source

_LOGS = (
    (is_lighteval, add_golds),
    (has_choices, add_choices),
    (has_templates, add_references),
    (is_traces, open_traces),
)


def complete_log(source: Source) -> Source:
    """The source; of such a log with the columns that a metric needs."""
    for is_log, complete in _LOGS:
        try:
            if is_log(source):
                return complete(source)
        except KaratError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError):  # as the first rows of something else raise
            continue
    return source
