from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.int64]
Scores: TypeAlias = NDArray[np.float64]

def group_texts(
    offsets: Rows,
    places: Rows,
    data: NDArray[np.uint8],
    sizes: Rows,
    numbers: Rows,
    rows: Rows,
    weights: Rows,
    counts: Rows,
) -> int: ...
def count_ones(scores: Scores, sizes: Rows, out: Rows) -> bool: ...
def vote(weights: Rows, scores: Scores, sizes: Rows, out: Scores) -> None: ...
