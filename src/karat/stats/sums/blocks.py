"""The blocks into which units fall by a hash of their keys, where they are too many to be kept apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.core.columns.hashes.texts import STEP, mix

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
    start = (seed + 1) * STEP % 2**64
    if COMPILED:
        out = np.empty(len(keys), np.int64)
        kernel.blocks(keys, np.uint64(start), out)
        return out
    return (mix(keys, start) % np.uint64(BLOCKS)).astype(np.int64)
