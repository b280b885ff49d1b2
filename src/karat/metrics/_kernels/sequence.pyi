from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.int64]
Data: TypeAlias = NDArray[np.uint8]

def ngrams(
    a_offsets: Rows,
    a_places: Rows,
    a_data: Data,
    b_offsets: Rows,
    b_places: Rows,
    b_data: Data,
    bounds: Rows,
    shortest: bool,
    out: NDArray[np.float64],
) -> None: ...
def lcs(
    a_offsets: Rows,
    a_places: Rows,
    a_data: Data,
    b_offsets: Rows,
    b_places: Rows,
    b_data: Data,
    common: Rows,
    a_count: Rows,
    b_count: Rows,
) -> int: ...
def union_lcs(
    a_offsets: Rows,
    a_places: Rows,
    a_data: Data,
    a_bounds: Rows,
    b_offsets: Rows,
    b_places: Rows,
    b_data: Data,
    b_bounds: Rows,
    common: Rows,
    a_count: Rows,
    b_count: Rows,
) -> None: ...
