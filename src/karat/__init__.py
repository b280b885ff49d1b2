"""How close to gold is each answer, and is the difference between two systems real?

>>> import karat
>>> rows = [{"prediction": "Paris", "gold": ["Paris", "City of Paris"]}, {"prediction": "in Lyon", "gold": ["Lyon"]}]
>>> result = karat.score(rows, ["exact_match", "token_f1"])
>>> round(result.values["token_f1"].value, 4)
0.8333

Names are loaded on first use, so that importing karat costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat import metrics as metrics
    from karat.core.errors import ColumnError as ColumnError
    from karat.core.errors import DataError as DataError
    from karat.core.errors import JoinError as JoinError
    from karat.core.errors import KaratError as KaratError
    from karat.core.errors import MissingExtra as MissingExtra
    from karat.core.errors import RowError as RowError
    from karat.core.errors import SpecError as SpecError
    from karat.core.metric import Metric as Metric
    from karat.core.metric import metric as metric
    from karat.core.rows import Rows as Rows
    from karat.core.types import Counts as Counts
    from karat.core.types import Graded as Graded
    from karat.core.types import Ids as Ids
    from karat.core.types import Number as Number
    from karat.core.types import Score as Score
    from karat.core.types import Text as Text
    from karat.core.types import Texts as Texts
    from karat.data.read import spans as spans
    from karat.judges.judge import Judge as Judge
    from karat.models.faults import ModelError as ModelError
    from karat.models.governor import Governor as Governor
    from karat.runs.compare import compare as compare
    from karat.runs.compared import Compared as Compared
    from karat.runs.evaluate import score as score
    from karat.runs.experiment import experiment as experiment
    from karat.runs.result import Result as Result
    from karat.stats.value import Value as Value

__version__ = "0.1.0"

_HOMES = {
    "karat.core.errors": (
        "KaratError",
        "SpecError",
        "DataError",
        "ColumnError",
        "RowError",
        "JoinError",
        "MissingExtra",
    ),
    "karat.core.rows": ("Rows",),
    "karat.core.metric": ("Metric", "metric"),
    "karat.core.types": ("Text", "Texts", "Number", "Ids", "Graded", "Score", "Counts"),
    "karat.data.read": ("spans",),
    "karat.judges.judge": ("Judge",),
    "karat.models.faults": ("ModelError",),
    "karat.models.governor": ("Governor",),
    "karat.runs.compare": ("compare",),
    "karat.runs.compared": ("Compared",),
    "karat.runs.evaluate": ("score",),
    "karat.runs.experiment": ("experiment",),
    "karat.runs.result": ("Result",),
    "karat.stats.value": ("Value",),
}
_home = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", "metrics", *_home]  # noqa: PLE0604  (strings all)


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415

    if name == "metrics":
        return import_module("karat.metrics")
    if name not in _home:
        raise AttributeError(f"module 'karat' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_home[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
