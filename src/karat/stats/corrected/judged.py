"""The rows of one system: the judge's scores of all of them and people's labels of some."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import RowError


@dataclass(frozen=True, eq=False)
class Judged:
    """The judge's scores and people's labels of the same rows; every array has the shape (rows,).

    A score is NaN where the judge gave none, a label NaN where people gave none. `probabilities` are those with which
    each row was proposed for labelling; None means that all rows had the same. Only labelled rows are read.
    Rows with equal `clusters` are not independent. Where labels were drawn separately from each of `strata`, such as
    slices, each stratum is corrected by its own labels.

    Raises `RowError` for arrays of unequal length and for scores or labels that are infinite.

    >>> Judged(scores=np.array([1.0, 0.0]), labels=np.array([1.0]))
    Traceback (most recent call last):
        ...
    karat.core.errors.RowError: labels: 2 rows expected, as in scores, found an array of shape (1,)
    """

    scores: NDArray[np.float64]
    labels: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None = None
    clusters: NDArray[np.uint64] | None = None
    strata: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        rows = len(self.scores)
        for field in fields(self):
            values = getattr(self, field.name)
            if values is not None and values.shape != (rows,):
                raise RowError(
                    f"{field.name}: {rows} rows expected, as in scores, found an array of shape {values.shape}"
                )
            if field.name in {"scores", "labels"} and np.isinf(values).any():
                raise RowError(
                    f"{field.name}: finite numbers expected, found one that is not in row {np.isinf(values).argmax()}"
                )

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        return ~np.isnan(self.labels)

    @property
    def chances(self) -> NDArray[np.float64]:
        """The probabilities, or the share of labelled rows where there are none."""
        labelled = self.labelled
        return np.full(len(labelled), labelled.mean()) if self.probabilities is None else self.probabilities

    @property
    def uniform(self) -> bool:
        """Whether all labelled rows were proposed with the same probability."""
        return self.probabilities is None or len(np.unique(self.probabilities[self.labelled])) <= 1

    @property
    def plain(self) -> bool:
        """Whether the mean of the labels needs neither weights nor strata."""
        return self.uniform and self.strata is None

    @property
    def filled(self) -> NDArray[np.float64]:
        """The scores, with their mean where the judge gave none: any guess is corrected by the labels."""
        missing = np.isnan(self.scores)
        return np.where(missing, self.scores[~missing].mean(), self.scores) if missing.any() else self.scores
