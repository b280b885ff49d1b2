"""Every metric as a function of columns.

>>> from karat.metrics import exact_match
>>> exact_match(["Paris", "Lyon"], [["Paris", "paris"], ["Nice"]]).to_pylist()
[1.0, 0.0]

A metric is one function in one file of this folder; importing the folder registers them all.
"""

from importlib import import_module
from pkgutil import iter_modules

from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.registry import all_metrics, find
from karat.text import extract as _extract  # noqa: F401  (offers the ways to extract an answer)

for _room in iter_modules(__path__, f"{__name__}."):
    for _module in iter_modules(import_module(_room.name).__path__, f"{_room.name}."):
        if not _room.name.endswith("._kernels"):
            import_module(_module.name)


def __dir__() -> list[str]:
    return [metric.name for metric in all_metrics()]


def __getattr__(name: str) -> Metric:
    try:
        return find(name)
    except SpecError as error:
        raise AttributeError(str(error)) from None
