"""The blocks into which units fall by a hash of their keys, where they are too many to be kept apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

try:
    from karat.stats.sums import kernel

    COMPILED = True
except ImportError:  # no compiler at install time
    COMPILED = False

BLOCKS = 4_096  # a power of two


def blocks(keys: NDArray[np.uint64], seed: int) -> NDArray[np.int64]:
    """The block of each key, from 0 to BLOCKS - 1, shape (n,).

    The hash is the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).

    >>> blocks(np.arange(4, dtype=np.uint64), seed=0).tolist()
    [3503, 3265, 1742, 4077]
    """
    start = np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    if COMPILED:
        out = np.empty(len(keys), np.int64)
        kernel.blocks(keys, start, out)
        return out
    mixed = keys + start
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(BLOCKS)).astype(np.int64)
