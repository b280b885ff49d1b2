"""Annotations: scores in the form of Phoenix's API, one dict for each span, document, trace or session, and metric.

An annotation carries an identifier that karat derives from the metric's signature. Phoenix keeps one annotation for
each span (trace, session), name and identifier: the same metric logged again replaces its own scores, while scores of
another model or with other settings stay beside them. Documents have no identifier, but a position.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

from karat.core.columns.ids import SPAN_IDS, TRACE_IDS
from karat.core.errors import ColumnError

Annotation: TypeAlias = Mapping[str, Any]
TARGETS = {
    "span_id": SPAN_IDS,
    "trace_id": TRACE_IDS,
    "session_id": ("session_id", "session.id", "attributes.session.id"),
}
"""What is annotated, and the columns that hold its id: a table with ids of spans is of spans."""


@dataclass(frozen=True)
class Annotations:
    """The annotations to log, and the number of rows or cells without a score."""

    to_log: Sequence[Annotation]
    unscored: int = 0


def identifier(signature: str) -> str:
    """The identifier of a metric's annotations.

    >>> identifier("token_f1(normalize='squad')|version=1")
    'karat-24107bc42329b2eb'
    """
    return f"karat-{sha256(signature.encode()).hexdigest()[:16]}"


def target(annotation: Annotation) -> str:
    """What is annotated: the name of the member that holds its id.

    >>> target({"trace_id": "a1", "name": "token_f1"})
    'trace_id'
    """
    return next(name for name in TARGETS if name in annotation)


def find_ids(columns: Iterable[str]) -> tuple[str, str]:
    """What the rows of a table are annotations of, and the column with its ids, which is never a parent's.

    Raises `ColumnError` if no column has them, or if it could be one of several.

    >>> find_ids(["prediction", "parent_span_id", "context.span_id"])
    ('span_id', 'context.span_id')
    """
    columns = list(columns)
    for each, names in TARGETS.items():
        likely = [name for name in columns if each in name.lower() and "parent" not in name.lower()]
        column = next((name for name in names if name in columns), likely[0] if len(likely) == 1 else None)
        if column is not None:
            return each, column
        if likely:
            raise ColumnError(f"{', '.join(likely)} could each be the {each}: {names[0]} is expected")
    expected = ", ".join(names[0] for names in TARGETS.values())
    raise ColumnError(f"no column holds ids of spans, traces or sessions: one of {expected} is expected")
