"""The argument `human` of a call: where people's labels are, and which score each has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from glob import has_magic
from typing import Any, Literal

from karat.core.errors import ColumnError, did_you_mean
from karat.data.join.join import split_on
from karat.data.storage.addresses import is_file
from karat.data.storage.file_names import split_name


@dataclass(frozen=True)
class Human:
    """Labels by people and how they correct: columns of the rows, `Labels`, or what `read_labels` reads.

    `label_map` is the score of each label. `columns` are the columns of labels in a file, where their names are not
    recognised. `system` is the one whose rows are scored, for a file with labels of several. `strata` is a column of
    the rows, from each value of which rows were drawn separately. `finite`: the corrected value is that of exactly
    these rows, not of rows like them. `threshold`: the least score that counts as yes, for labels of yes and no, or
    "fit" for one that is fitted to the labels. `on` is the column of the ids in a file, where the rows' has another
    name.
    """

    source: Any
    label_map: Mapping[str, float] | str | None = None
    columns: Sequence[str] = ()
    system: str | None = None
    strata: str | None = None
    finite: bool = False
    threshold: float | Literal["fit"] | None = None
    on: str | None = None

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


def check_files(source: Any, names: Sequence[str], where: str) -> None:
    """Raise `ColumnError`, with the nearest of the columns `names`, for a text that is neither a column nor a file."""
    for each in source if isinstance(source, list | tuple) else [source]:
        named = isinstance(each, str) and (split_name(each)[0] or is_file(each) or has_magic(each) or each == "-")
        if isinstance(each, str) and each not in names and not named:
            raise ColumnError(f"{where}: {each!r} is neither a column nor a file of labels{did_you_mean(each, names)}")


def split_on_labels(human: Human, on: str | None) -> tuple[Human, str | None]:
    """The labels with the column of their ids, and that of the rows, from `on`: LEFT=RIGHT where the two differ."""
    if on is None:
        return human, None
    own, theirs = split_on(on)
    return replace(human, on=theirs), own
