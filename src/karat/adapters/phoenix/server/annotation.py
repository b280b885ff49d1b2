"""Annotations: scores in the form of Phoenix's API, one dict for each span (or document of a span) and metric.

A span's annotation carries an identifier that karat derives from the metric's signature. Phoenix keeps one annotation
for each span, name and identifier: the same metric logged again replaces its own scores, while scores of another
model or with other settings stay beside them. Documents have no identifier, but a position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

Annotation: TypeAlias = Mapping[str, Any]


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
