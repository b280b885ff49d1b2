"""Figures as a frame of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karat.core.lazy import import_extra
from karat.stats.corrected.corrected import Corrected


def make_frame(rows: Sequence[dict[str, Any]], need: str) -> Any:
    """A frame with these rows; `MissingExtra`, naming `need`, without pandas."""
    return import_extra("pandas", extra="pandas", need=need).DataFrame(rows)


def corrected_columns(found: Corrected | None) -> dict[str, Any]:
    """The columns of a value or a difference corrected by people; none where there are no labels."""
    if found is None:
        return {}
    ends = {"corrected_low": found.low, "corrected_high": found.high}
    return {"corrected": found.value, **ends, "labelled": found.labelled}
