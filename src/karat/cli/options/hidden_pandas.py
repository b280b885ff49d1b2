"""Keep Arrow from importing pandas, which takes longer than scoring a small file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric


class _PandasFinder:
    """A finder of modules; the class for them, in `importlib.abc`, takes long to import."""

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def hide_pandas(metrics: Iterable[Metric]) -> None:
    """Let Arrow make its first array while pandas cannot be found, if only karat's own code will make arrays.

    Arrow looks for pandas once, to know its series and missing values; karat's own metrics use none. Everything
    else can import pandas afterwards. Other packages' metrics may use it, so nothing is hidden from them.
    """
    if "pandas" in sys.modules or not all(_is_own(metric) for metric in metrics):
        return
    import pyarrow as pa  # noqa: PLC0415  (heavy)

    finder = _PandasFinder()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0.0])
    finally:
        sys.meta_path.remove(finder)


def _is_own(metric: Metric) -> bool:
    return metric.definition.function.__module__.startswith("karat.")
