from typing import Any

import numpy as np
from numpy.typing import NDArray

def copies(models: list[dict[str, Any]], which: NDArray[np.int32], inner: str, rows: NDArray[Any]) -> None: ...
