"""Exact sums of float64 numbers, rounded once at the end: no order and no grouping of the numbers changes a bit.

A sum is an integer in limbs of 32 bits, each in an int64 that has room for carries ("superaccumulator": R. M. Neal,
"Fast exact summation using small and large superaccumulators", arXiv:1505.05571). Limb i counts units of
2**(32·i - POINT). A value is added to three limbs, whole numbers below 2**31 to one as long as there are no others, and
only the limbs that some value needs are kept: one for counts, three for scores from 0.001 to 1, 67 for all float64
numbers. Carries are moved after `ROUND` values, so that no limb overflows.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

try:
    from karat.stats.sums import kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

POINT = 1_088  # bits below the binary point: the 1,074 of the least number, up to a whole limb
ONE = POINT // 32  # the limb that counts units of 1
ROUND = 2**30  # values of at most 2**32 a limb, between carries
LOW = 2**32 - 1  # the bits of a limb

Cells = NDArray[np.int64]
Limbs = NDArray[np.int64]
Floats = NDArray[np.float64]


class ExactSums:
    """The exact sums of values by cell.

    The state is `limbs`, int64 of shape (cells, limbs), and `low`, the number of the first limb.

    >>> sums = ExactSums(2)
    >>> sums.add(np.array([0, 0, 0, 1]), np.array([1e100, 1.0, -1e100, 0.1]))
    >>> sums.rounded()
    array([1. , 0.1])
    """

    def __init__(self, cells: int) -> None:
        self.limbs: Limbs = np.zeros((cells, 0), np.int64)
        self.low = 0
        self._uncarried = 0

    def add(self, cells: Cells, values: Floats) -> None:
        """Add each value to its cell; both have shape (n,), n at most `ROUND`. Infinity counts as 2**1024."""
        self._expect(len(values))
        add, row = (kernel.add if COMPILED else add_values), 0
        while (row := add(self.limbs, self.low, cells, values, row)) < len(values):
            left = values[row:]
            if self._counts and _whole(left).all():
                self._cover(ONE, ONE + 1)
            else:
                limb = _split(left[left != 0])[0]
                self._cover(int(limb.min()), int(limb.max()) + 3)

    def absorb(self, cells: Cells, other: ExactSums) -> None:
        """Add the sums of another to ours; `cells` is the cell of each of its own."""
        other.carry()
        self._expect(len(cells))
        if width := other.limbs.shape[1]:
            self._cover(other.low, other.low + width)
            place = cells[:, None] * self.limbs.shape[1] + np.arange(width) + (other.low - self.low)
            np.add.at(self.limbs.reshape(-1), place.reshape(-1), other.limbs.reshape(-1))

    def carry(self) -> None:
        """Bring each limb to 32 bits: the last with a sign, the others without."""
        at = 0
        while at < (width := self.limbs.shape[1]):
            if at + 1 == width:
                if not ((self.limbs[:, at] + 2**31) >> 32).any():
                    break
                self._cover(self.low, self.low + width + 1)
            self.limbs[:, at + 1] += self.limbs[:, at] >> 32
            self.limbs[:, at] &= LOW
            at += 1
        self._uncarried = 0

    def rounded(self) -> Floats:
        """The float64 number that is nearest to each sum, the even one of two, shape (cells,)."""
        if self._counts and (np.abs(self.limbs) <= 2**53).all():  # which are floats as they are
            counts: Floats = self.limbs.sum(axis=1).astype(np.float64)
            return counts
        self.carry()
        cells, width = self.limbs.shape
        sums = ExactSums(cells)  # without signs
        negative = self.limbs[:, -1] < 0 if width else np.zeros(cells, bool)
        sums.limbs = _widened(np.where(negative[:, None], -self.limbs, self.limbs), 2, width + 2)
        sums.carry()
        limbs = sums.limbs.astype(np.uint64)
        top = limbs.shape[1] - 1 - (limbs[:, ::-1] != 0).argmax(axis=1)
        first, second, third = (limbs[np.arange(cells), top - each] for each in range(3))
        rest = np.where(np.arange(limbs.shape[1]) < top[:, None] - 2, limbs, 0).any(axis=1)
        room = (32 - np.frexp(first.astype(np.float64))[1]).astype(np.uint64)
        leading = (first << np.uint64(32) | second) << room | third >> (np.uint64(32) - room)
        rest |= (third << room & np.uint64(LOW)) != 0
        exponents = 32 * (self.low - 2 + top - 1) - POINT - room.astype(np.int64)
        with np.errstate(over="ignore"):  # a sum beyond the greatest number is infinite
            sizes = np.ldexp((leading | rest).astype(np.float64), exponents)  # the bit for the rest decides ties
        signed: Floats = np.where(negative, -sizes, sizes)
        return signed

    def fraction(self, cell: int) -> Fraction:
        """The sum of a cell, not rounded."""
        limbs = enumerate(self.limbs[cell].tolist(), self.low)
        return Fraction(sum(limb << 32 * at for at, limb in limbs), 1 << POINT)

    def total(self) -> float:
        """The float64 number that is nearest to the sum of all cells."""
        whole = ExactSums(1)
        whole.absorb(np.zeros(len(self.limbs), np.int64), self)
        return float(whole.rounded()[0])

    def to_array(self) -> tuple[int, NDArray[np.uint32]]:
        """The first limb's number, and the sums as integers of as few 32-bit limbs as they need, shape (cells, limbs).

        Negative integers are in two's complement. Equal sums give equal arrays.
        """
        self.carry()
        limbs, low = self.limbs, self.low
        while limbs.shape[1] > 1 and not ((limbs[:, -1] * 2**32 + limbs[:, -2] + 2**31) >> 32).any():
            limbs = np.column_stack([limbs[:, :-2], limbs[:, -1] * 2**32 + limbs[:, -2]])
        while limbs.shape[1] and not limbs[:, 0].any():
            limbs, low = limbs[:, 1:], low + 1
        return (low if limbs.shape[1] else 0), limbs.astype("<u4")

    @classmethod
    def from_array(cls, low: int, limbs: NDArray[np.uint32]) -> ExactSums:
        """The sums that `to_array` wrote."""
        sums = cls(len(limbs))
        sums.low, sums.limbs = low, limbs.astype(np.int64)
        sums.limbs[:, -1:] = limbs[:, -1:].astype(np.int32)
        return sums

    @property
    def _counts(self) -> bool:
        """Whether there are no limbs but the one for whole numbers."""
        return _is_one(self.limbs, self.low) or self.limbs.shape[1] == 0

    def _expect(self, values: int) -> None:
        """Make room for the carries of so many values."""
        if self._uncarried + values > ROUND:
            self.carry()
        self._uncarried += values

    def _cover(self, low: int, end: int) -> None:
        """Keep the limbs from `low` to `end`, and those that are kept already."""
        width = self.limbs.shape[1]
        first = min(low, self.low) if width else low
        last = max(end, self.low + width) if width else end
        before = self.low - first if width else 0
        self.limbs = _widened(self.limbs, before, last - first)
        self.low = first


def _widened(limbs: Limbs, before: int, width: int) -> Limbs:
    """The limbs behind so many zeros and before others, shape (cells, width); numpy's pad takes ten times as long."""
    wide = np.zeros((len(limbs), width), np.int64)
    wide[:, before : before + limbs.shape[1]] = limbs
    return wide


def add_values(limbs: Limbs, low: int, cells: Cells, values: Floats, start: int) -> int:
    """Add values from row `start` to their cells, up to the first that needs a limb that is not there: its row.

    This is the definition of the kernel's `add`.
    """
    if _is_one(limbs, low):
        fits = _whole(values[start:])
        count = len(fits) if fits.all() else int(fits.argmin())
        np.add.at(limbs[:, 0], cells[start : start + count], values[start : start + count].astype(np.int64))
        return start + count
    limb, parts = _split(values[start:])
    at = limb - low
    fits = (at >= 0) & (at + 2 < limbs.shape[1])
    nothing = values[start:] == 0
    count = len(fits) if (fits | nothing).all() else int((fits | nothing).argmin())
    used = fits[:count] & ~nothing[:count]
    place = (cells[start : start + count] * limbs.shape[1] + at[:count])[used, None] + np.arange(3)
    np.add.at(limbs.reshape(-1), place.reshape(-1), parts[:count][used].reshape(-1))
    return start + count


def _is_one(limbs: Limbs, low: int) -> bool:
    return limbs.shape[1] == 1 and low == ONE


def _whole(values: Floats) -> NDArray[np.bool_]:
    """Which values are whole numbers below 2**31."""
    whole: NDArray[np.bool_] = (np.abs(values) < 2**31) & (values == np.trunc(values))
    return whole


def _split(values: Floats) -> tuple[NDArray[np.int64], Limbs]:
    """The number of each value's first limb, shape (n,), and what it adds to that and the next two, shape (n, 3)."""
    bits = np.ascontiguousarray(values).view(np.int64)
    exponent = bits >> 52 & 2047
    mantissa = bits & (2**52 - 1) | (exponent > 0).astype(np.int64) << 52
    place = np.maximum(exponent, 1) - 1075 + POINT  # of the mantissa's last bit
    shift = place & 31
    rest = mantissa >> 32 - shift
    parts = np.column_stack([mantissa << shift & LOW, rest & LOW, rest >> 32])
    return place >> 5, np.where(bits[:, None] < 0, -parts, parts)
