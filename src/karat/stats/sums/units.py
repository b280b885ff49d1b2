"""Row statistics, added up by unit in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core.errors import RowError, SpecError
from karat.core.metric.definition import Finish
from karat.core.metric.in_order import kept_by
from karat.stats.aggregate import LIMIT, Accumulator, Estimated, Scale
from karat.stats.inference import Inference
from karat.stats.intervals.interval import interval
from karat.stats.sums.blocks import BLOCKS, blocks
from karat.stats.sums.table import SumTable, read_array

FURTHER = 1 << 62  # no table has a row of this number
FILLED = 1 << 20  # rows at a time
CHUNK = 8_192  # rows added at a time, so that their statistics stay in the processor's cache


class Units(Accumulator):
    """Totals of row statistics by sampling unit: the unit that a resampling method draws.

    A unit is a row or, if `clustered`, all rows with the same key. More than `LIMIT` units are combined into `BLOCKS`
    groups by a hash of their keys and the `seed`: `collapsed`. Memory stays bounded. Sums are exact and rounded once:
    the same rows give the same bits in whatever batches they are added and in whatever order parts of them are merged.

    `keys`, uint64, are the units', ascending; or the numbers of the groups, some of which may hold no row.

    >>> units = Units(width=1)
    >>> units.add(np.array([[1.0], [0.0], [1.0]]))
    >>> units.rows, units.totals.sum(axis=0).tolist()
    (3, [2.0])
    """

    keeps = "sums"

    def __init__(self, width: int, *, clustered: bool = False, seed: int = 0) -> None:
        super().__init__(width, clustered=clustered, seed=seed)
        self.keys: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._rows: NDArray[np.float64] = np.empty((0, width))  # their statistics, while each row is a unit
        self._table = self._empty(0)  # else the sums
        self._sums: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        """The number of units that hold a row."""
        return len(self._rows) + int(np.count_nonzero(self._table.sizes))

    @property
    def rows(self) -> int:
        """The number of rows added."""
        return len(self._rows) + int(self._table.sizes.sum())

    @property
    def sums(self) -> NDArray[np.float64]:
        """The totals, squares and sizes of the units side by side."""
        if self._sums is None:
            rows = [*self._columns(self._rows), np.ones(len(self._rows))]
            self._sums = np.column_stack(rows) if self._keeps_rows else self._table.rounded()
        return self._sums

    @property
    def sizes(self) -> NDArray[np.float64]:
        """The number of rows of each unit, shape (units,)."""
        return self.sums[:, -1]

    @property
    def totals(self) -> NDArray[np.float64]:
        """The summed statistics of each unit, shape (units, width)."""
        return self.sums[:, : self.width]

    @property
    def squares(self) -> NDArray[np.float64]:
        """The summed squares of a single statistic of each unit, shape (units, 1); of several none, (units, 0)."""
        return self.sums[:, self.width : -1]

    @property
    def total(self) -> NDArray[np.float64]:
        """The statistics summed over all rows and rounded once, shape (width,): the same bits in any order."""
        if not self._keeps_rows:
            return self._table.total()[: self.width]
        try:
            return np.array([math.fsum(column) for column in self._rows.T])
        except OverflowError:
            return np.array(self._rows.sum(axis=0))

    @property
    def total_square(self) -> float:
        """The squares of a single statistic summed over all rows and rounded once: as `total`."""
        if not self._keeps_rows:
            return float(self._table.total()[self.width])
        squares = self._rows[:, 0] ** 2
        try:
            return math.fsum(squares)
        except OverflowError:
            return float(squares.sum())

    def value(self, finish: Finish | None) -> float:
        """The value of all rows; NaN where it is undefined."""
        if finish is None and self.width != 1:
            raise SpecError(f"a metric with {self.width} statistics a row needs a finish")
        with np.errstate(all="ignore"):
            return float(np.divide(self.total[0], self.rows) if finish is None else finish(self.total))

    def add(self, statistics: NDArray[np.float64], keys: NDArray[np.uint64] | None = None) -> None:
        """Add the statistics of scored rows, shape (rows, width), and the keys of their units, shape (rows,).

        The keys are the rows' clusters if clustered, else the rows' numbers in their table, from 0, each of
        which comes once; without keys, rows are numbered on from those added. `RowError` for a statistic that is not
        finite and for keys that do not fit the rows.
        """
        if statistics.ndim != 2 or statistics.shape[1] != self.width:
            raise RowError(f"statistics of shape (rows, {self.width}) expected, found {statistics.shape}")
        if keys is None and not self.clustered:
            keys = np.arange(self.rows, self.rows + len(statistics), dtype=np.uint64)
        if keys is None or len(keys) != len(statistics):
            expected = f"{len(statistics)} {'cluster keys' if self.clustered else 'row numbers'}"
            raise RowError(f"{expected} expected, found {'none' if keys is None else len(keys)}")
        if keys.dtype != np.uint64:
            raise RowError(f"keys of uint64 expected, found {keys.dtype}")
        if not np.isfinite(statistics).all():
            at = int(np.isfinite(statistics).all(axis=1).argmin())
            row = self.rows + at if self.clustered else keys[at]
            raise RowError(f"row {row}: a finite statistic expected, found {statistics[at].tolist()}")
        self._fold(keys, statistics)

    def observe(self, finish: Finish | None) -> tuple[NDArray[np.float64], Finish]:
        """The quantities that are summed over units, shape (units, statistics), and the function from sums to values.

        Raises `SpecError` for several statistics without a finish, and for values that no sums have.
        """
        if kept_by(finish) != self.keeps:
            raise SpecError("this is not available for percentiles and curves, which are not computed from sums")
        if finish is not None:
            return self.totals, finish
        if self.width != 1:
            raise SpecError(f"a metric with {self.width} statistics a row needs a finish")
        return np.column_stack([self.totals, self.sizes]), _divide

    def estimate(self, scale: Scale, inference: Inference, unit_weight: float | None = None) -> Estimated:
        """The value of all rows and the ends of its `interval`; None where it is undefined."""
        value = self.value(scale.finish)
        if not math.isfinite(value):
            return None, None, None
        confidence, seed = inference.confidence, inference.seed
        ends = interval(
            self, scale.finish, bounds=scale.bounds, confidence=confidence, seed=seed, unit_weight=unit_weight
        )
        return value, *ends

    def fill(self, scale: Scale, score: float, unscored: int) -> float:
        """The mean if `unscored` further rows had this score; with a finish, where rows have no scores, the score."""
        return score if scale.finish is not None else (float(self.total[0]) + unscored * score) / (self.rows + unscored)

    def filled(self, scale: Scale, score: float, unscored: int) -> Units | None:
        """These rows and `unscored` further ones with this score; None for clusters, which are not known of those."""
        if self.clustered or scale.finish is not None:
            return None
        about, stored = self.state()
        rows = Units.restore(about, iter(stored))
        for start in range(0, unscored, FILLED):
            keys = np.arange(FURTHER + start, FURTHER + min(start + FILLED, unscored), dtype=np.uint64)
            rows.add(np.full((len(keys), 1), float(score)), keys)
        return rows

    def view(self, *, clustered: bool) -> Units:
        """As `Accumulator.view`; of independent rows, only the sums are known, which the mean within bounds needs."""
        rows = super().view(clustered=clustered)
        rows.collapsed = rows.collapsed or not clustered
        return rows

    def _merge(self, other: Units) -> None:
        """Add another accumulator's units; `RowError` for a row that is in both, while each row is a unit."""
        if other._keeps_rows:
            self._fold(other.keys, other._rows)
            return
        if other.collapsed:
            self._collapse()
        at = other.keys.astype(np.int64) if other.collapsed else self._locate(other.keys)
        self._table.absorb(at, other._table)
        self._sums = None

    def _state(self) -> tuple[dict[str, Any], list[bytes]]:
        steps = np.diff(self.keys, prepend=np.uint64(0)).astype("<u8").tobytes()  # they take less space than keys
        if self._keeps_rows:
            return {}, [steps, self._rows.astype("<f8").tobytes()]
        limbs, stored = self._table.state()
        return {"limbs": limbs}, [steps, *stored]

    def _restore(self, about: Mapping[str, Any], stored: Iterator[bytes]) -> None:
        self.keys = np.cumsum(read_array(next(stored), "<u8"), dtype=np.uint64)
        if self._keeps_rows:
            self._rows = read_array(next(stored), "<f8").reshape(-1, self.width)
        else:
            self._table = SumTable.restore(about["limbs"], stored)

    @property
    def _keeps_rows(self) -> bool:
        """Whether each row is a unit."""
        return not (self.clustered or self.collapsed)

    def _empty(self, units: int) -> SumTable:
        return SumTable(units, self.width + (self.width == 1))

    def _columns(self, statistics: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """What is summed: the statistics and, of a single one, the squares, which the variance of a mean needs."""
        yield from statistics.T
        if self.width == 1:
            with np.errstate(over="ignore"):
                yield statistics[:, 0] ** 2

    def _fold(self, keys: NDArray[np.uint64], statistics: NDArray[np.float64]) -> None:
        self._sums = None
        if self._keeps_rows and len(self.keys) + len(keys) <= LIMIT:
            self._keep(keys, statistics)
            return
        if not self.clustered:
            self._collapse()
        at = self._locate(keys)
        for start in range(0, len(at), CHUNK):
            part = slice(start, start + CHUNK)
            self._table.add(at[part], self._columns(statistics[part]))

    def _keep(self, keys: NDArray[np.uint64], statistics: NDArray[np.float64]) -> None:
        """Keep rows as they are, in the order of their numbers."""
        keys, rows = np.concatenate([self.keys, keys]), np.concatenate([self._rows, statistics])
        if (keys[1:] <= keys[:-1]).any():
            order = np.argsort(keys)
            keys, rows = keys[order], rows[order]
            if (twice := keys[1:] == keys[:-1]).any():
                raise RowError(f"row {keys[twice.argmax()]} is added twice")
        self.keys, self._rows = keys, rows

    def _locate(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The place of each key's unit, after making room for new units."""
        if not self.collapsed and len(keys) > LIMIT and len(np.unique(keys[: LIMIT + 1])) > LIMIT:
            self._collapse()  # where few keys repeat, this is quicker than to find all
        if not self.collapsed:
            different, at = np.unique(keys, return_inverse=True)
            every, _ = np.unique(np.concatenate([self.keys, different]), return_index=True)  # alone it loads numpy.ma
            if len(every) <= LIMIT:
                if len(every) > len(self.keys):
                    self._regroup(every, np.searchsorted(every, self.keys))
                return np.searchsorted(every, different)[at]
            self._collapse()
        return blocks(keys, self.seed)

    def _collapse(self) -> None:
        if not self.collapsed:
            self._regroup(np.arange(BLOCKS, dtype=np.uint64), blocks(self.keys, self.seed))
            self.collapsed = True

    def _regroup(self, keys: NDArray[np.uint64], at: NDArray[np.int64]) -> None:
        """Replace the units by units of other keys; `at` has the new place of each."""
        table = self._empty(len(keys))
        if self._keeps_rows:
            table.add(at, self._columns(self._rows))
        else:
            table.absorb(at, self._table)
        self.keys, self._rows, self._table = keys, np.empty((0, self.width)), table


def _divide(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return mean
