"""Every metric as a function of columns, imported by its name.

>>> from karat.metrics import exact_match
>>> exact_match(["Paris", "Lyon"], [["Paris", "paris"], ["Nice"]]).to_pylist()
[1.0, 0.0]

A metric is one function in a file of `text/`, `answers/`, `retrieval/`, `similarity/`, … or `repeats/`, which
`index` finds; `names` has the metrics of benchmarks, and the names that other tools use. Judges are in
`karat.judges`; how a metric is defined and called is in `karat.core.metric`. Open `text/match.py` first.
"""

from importlib.machinery import PathFinder

from karat.core.errors import SpecError
from karat.core.metric.metric import Metric
from karat.core.metric.registry import add_index, all_metrics, find
from karat.metrics import index
from karat.metrics.names import languages as languages
from karat.metrics.names import presets as presets

add_index(index)


def __dir__() -> list[str]:
    return [metric.name for metric in all_metrics()]


def __getattr__(name: str) -> Metric:
    if PathFinder.find_spec(f"{__name__}.{name}", __path__):
        raise AttributeError(f"{__name__}.{name} is a module that is not imported yet")  # an import imports it then
    try:
        return find(name)
    except SpecError as error:
        raise AttributeError(str(error)) from None
