"""What accumulators of row statistics share, and how what they keep becomes a value with its interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

from karat.core.columns.kinds import Array
from karat.core.errors import RowError
from karat.core.metric.definition import Direction, Finish
from karat.core.metric.in_order import Kept
from karat.stats.inference import Inference

Bounds: TypeAlias = tuple[float | None, float | None]  # the least and the greatest value; None where there is none
Estimated: TypeAlias = tuple[float | None, float | None, float | None]  # a value and the ends of its interval

LIMIT = 16_384  # units, or different scores, that are kept apart


@dataclass(frozen=True)
class Scale:
    """How a metric's totals become values, which values are possible, and which of them are good."""

    finish: Finish | None = None  # None is the mean
    bounds: Bounds = (0.0, 1.0)
    direction: Direction = "maximize"


def points(bounds: Bounds) -> float:
    """The factor from a metric's unit to points: 100 for a metric from 0 to 1, else 1.

    >>> points((0, 1)), points((0, None))
    (100.0, 1.0)
    """
    return 100.0 if bounds == (0, 1) else 1.0


class Accumulator(ABC):
    """Keeps the row statistics of a metric in bounded memory: their value, with its interval, is computed at the end.

    Parts of a table, merged in any order, are what the whole table is. `width` is the number of statistics a row,
    `clustered` says whether rows belong together, `collapsed` whether there was more than is kept apart.
    """

    keeps: ClassVar[Kept]

    def __init__(self, width: int, *, clustered: bool = False, seed: int = 0) -> None:
        self.width = width
        self.clustered = clustered
        self.seed = seed
        self.collapsed = False

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of rows added."""

    @abstractmethod
    def add(self, statistics: Array, keys: Array | None = None, /) -> None:
        """Add the statistics of scored rows, shape (rows, width), and the keys of their units, shape (rows,)."""

    @abstractmethod
    def estimate(self, scale: Scale, inference: Inference, unit_weight: float | None = None) -> Estimated:
        """The value of the rows, of which there are some, and the ends of its interval; `unit_weight` as `interval`."""

    def fill(self, scale: Scale, score: float, unscored: int) -> float:  # noqa: ARG002  (see `Units`)
        """The value if `unscored` further rows had this score, the worst or the best: here rows have no share in it."""
        return score

    def filled(self, scale: Scale, score: float, unscored: int) -> Self | None:  # noqa: ARG002  (see `Units`)
        """The rows with `unscored` further ones of this score; None where they have no share in the value."""
        return None

    def view(self, *, clustered: bool) -> Self:
        """The same rows, taken for independent ones or for rows of clusters that are not known."""
        rows = copy(self)
        rows.clustered = clustered
        return rows

    def merge(self, other: Self) -> None:
        """Add what another accumulator keeps; `RowError` for another width, clustering or seed."""
        if (self.width, self.clustered, self.seed) != (other.width, other.clustered, other.seed):
            raise RowError("units of equal width, clustering and seed expected")
        self._merge(other)

    def state(self) -> tuple[dict[str, Any], list[bytes]]:
        """What `restore` needs: JSON values, and arrays as bytes. The same rows have the same state."""
        more, stored = self._state()
        about = {"width": self.width, "clustered": self.clustered, "seed": self.seed, "collapsed": self.collapsed}
        return {"keeps": self.keeps, **about, **more}, stored

    @classmethod
    def restore(cls, about: Mapping[str, Any], stored: Iterator[bytes]) -> Self:
        """The accumulator whose `state` this is; its arrays are taken from the front of `stored`."""
        kept = cls(about["width"], clustered=about["clustered"], seed=about["seed"])
        kept.collapsed = about["collapsed"]
        kept._restore(about, stored)
        return kept

    @abstractmethod
    def _merge(self, other: Self) -> None: ...

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], list[bytes]]: ...

    @abstractmethod
    def _restore(self, about: Mapping[str, Any], stored: Iterator[bytes]) -> None: ...
