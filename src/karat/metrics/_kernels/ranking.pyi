import numpy as np
from numpy.typing import NDArray

def score(
    name: str,
    ranks: NDArray[np.int64],
    grades: NDArray[np.float64],
    match_ends: NDArray[np.int64],
    sizes: NDArray[np.int64],
    judged: NDArray[np.float64],
    judged_ends: NDArray[np.int64],
    k: int,
    setting: float,
    other: float,
    out: NDArray[np.float64],
) -> None: ...
