import numpy as np
from numpy.typing import NDArray

def transform(
    name: str,
    offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
    out_offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
    delegated: NDArray[np.uint8],
) -> int: ...
