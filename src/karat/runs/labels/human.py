"""The argument `human` of a call: where people's labels are, and which score each has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Human:
    """Columns of the rows, `Labels`, or what `read_labels` reads; and the score of each label.

    `columns` are the columns of labels in a file, where their names are not recognised. `system` is the one whose rows
    are scored, for a file with labels of several.
    """

    source: Any
    label_map: Mapping[str, float] | str | None = None
    columns: Sequence[str] = ()
    system: str | None = None

    def columns_of(self, names: Sequence[str]) -> list[str]:
        """Those of the rows' columns that hold the labels; [] where the labels are elsewhere."""
        source = list(self.source) if isinstance(self.source, list | tuple) else [self.source]
        return source if source and all(isinstance(each, str) and each in names for each in source) else []
