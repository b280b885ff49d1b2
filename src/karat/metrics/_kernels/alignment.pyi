from typing import Any

import numpy as np
from numpy.typing import NDArray

def align(
    retrieved: Any,
    relevant: Any,
    grades: NDArray[np.float64] | None,
    ranks: NDArray[np.int64],
    earned: NDArray[np.float64],
    match_ends: NDArray[np.int64],
    judged: NDArray[np.float64],
    judged_ends: NDArray[np.int64],
) -> None: ...
