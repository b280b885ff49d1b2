from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.int64]
Data: TypeAlias = NDArray[np.uint8]
Scores: TypeAlias = NDArray[np.float64]

def equal(
    a_offsets: Rows, a_places: Rows, a_data: Data, b_offsets: Rows, b_places: Rows, b_data: Data, out: Scores
) -> None: ...
def contains(
    a_offsets: Rows,
    a_places: Rows,
    a_data: Data,
    b_offsets: Rows,
    b_places: Rows,
    b_data: Data,
    whole: bool,
    out: Scores,
) -> None: ...
def overlap(
    a_offsets: Rows,
    a_places: Rows,
    a_data: Data,
    b_offsets: Rows,
    b_places: Rows,
    b_data: Data,
    common: Rows,
    a_count: Rows,
    b_count: Rows,
) -> None: ...
