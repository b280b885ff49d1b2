from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def number(
    retrieved: Sequence[Sequence[Any]],
    relevant: Sequence[Sequence[Any]],
    path: tuple[str, ...],
    read: Callable[[Any], Any],
    found: NDArray[np.int64],
    wanted: NDArray[np.int64],
    first: bool,
) -> None: ...
def match(golds: Sequence[Any], answers: Sequence[Any], is_match: Callable[[Any, Any], int], /) -> list[int]: ...
