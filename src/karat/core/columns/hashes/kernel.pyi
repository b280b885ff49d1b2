import numpy as np
from numpy.typing import NDArray

def hash_texts(data: NDArray[np.uint8], ends: NDArray[np.int64], out: NDArray[np.uint64], step: np.uint64) -> None: ...
