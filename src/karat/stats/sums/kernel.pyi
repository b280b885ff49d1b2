import numpy as np
from numpy.typing import NDArray

def add(
    limbs: NDArray[np.int64], low: int, cells: NDArray[np.int64], values: NDArray[np.float64], start: int
) -> int: ...
def blocks(keys: NDArray[np.uint64], start: np.uint64, out: NDArray[np.int64]) -> None: ...
