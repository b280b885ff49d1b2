"""The argument `human` of a call: where people's labels are, and which score each has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Human:
    """Labels by people and how they correct: columns of the rows, `Labels`, or what `read_labels` reads.

    `label_map` is the score of each label. `columns` are the columns of labels in a file, where their names are not
    recognised. `system` is the one whose rows are scored, for a file with labels of several. `strata` is a column of
    the rows, from each value of which rows were drawn separately. `finite`: the corrected value is that of exactly
    these rows, not of rows like them. `threshold`: the least score that counts as yes, for labels of yes and no, or
    "fit" for one that is fitted to the labels.
    """

    source: Any
    label_map: Mapping[str, float] | str | None = None
    columns: Sequence[str] = ()
    system: str | None = None
    strata: str | None = None
    finite: bool = False
    threshold: float | Literal["fit"] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is corrected in another way than by default, in words."""
        fitted = "a threshold fitted to the labels; that of a labelled row is fitted to other rows (cross-prediction)"
        least = fitted if self.threshold == "fit" else self.threshold
        return tuple(
            note
            for used, note in (
                (self.threshold is not None, f"scores count as yes from {least}"),
                (self.strata is not None, f"labels were drawn separately from each {self.strata}"),
                (self.finite, "corrected values are those of exactly these rows, not of rows like them"),
            )
            if used
        )

    def columns_of(self, names: Sequence[str]) -> list[str]:
        """Those of the rows' columns that hold the labels; [] where the labels are elsewhere."""
        source = list(self.source) if isinstance(self.source, list | tuple) else [self.source]
        return source if source and all(isinstance(each, str) and each in names for each in source) else []
