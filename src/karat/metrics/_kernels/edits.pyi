from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.int64]
Data: TypeAlias = NDArray[np.uint8]

def levenshtein(
    a_offsets: Rows,
    a_places: Rows,
    a_data: Data,
    b_offsets: Rows,
    b_places: Rows,
    b_data: Data,
    words: bool,
    edits: Rows,
    a_count: Rows,
    b_count: Rows,
) -> int: ...
def jaro_winkler(
    a_offsets: Rows,
    a_places: Rows,
    a_data: Data,
    b_offsets: Rows,
    b_places: Rows,
    b_data: Data,
    out: NDArray[np.float64],
) -> int: ...
def ter(
    a_offsets: Rows,
    a_places: Rows,
    a_data: Data,
    b_offsets: Rows,
    b_places: Rows,
    b_data: Data,
    edits: Rows,
    steps: Rows,
) -> None: ...
