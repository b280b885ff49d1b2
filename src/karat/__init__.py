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

from karat.core.version import __version__

if TYPE_CHECKING:
    from karat import metrics as metrics
    from karat.core.columns.kinds import Counts as Counts
    from karat.core.columns.kinds import Graded as Graded
    from karat.core.columns.kinds import Ids as Ids
    from karat.core.columns.kinds import Number as Number
    from karat.core.columns.kinds import Score as Score
    from karat.core.columns.kinds import Text as Text
    from karat.core.columns.kinds import Texts as Texts
    from karat.core.errors import ColumnError as ColumnError
    from karat.core.errors import DataError as DataError
    from karat.core.errors import JoinError as JoinError
    from karat.core.errors import KaratError as KaratError
    from karat.core.errors import MissingExtra as MissingExtra
    from karat.core.errors import RowError as RowError
    from karat.core.errors import SpecError as SpecError
    from karat.core.metric.decorator import metric as metric
    from karat.core.metric.metric import Metric as Metric
    from karat.core.metric.rows import Rows as Rows
    from karat.data.open import spans as spans
    from karat.judges.judge import Judge as Judge
    from karat.models.governor.faults import ModelError as ModelError
    from karat.models.governor.governor import Governor as Governor
    from karat.runs.compare.compare import compare as compare
    from karat.runs.compare.comparison import Compared as Compared
    from karat.runs.experiment.experiment import experiment as experiment
    from karat.runs.scoring.pipeline import score as score
    from karat.runs.scoring.result import Result as Result
    from karat.stats.value import Value as Value

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
    "karat.core.metric.rows": ("Rows",),
    "karat.core.metric.metric": ("Metric",),
    "karat.core.metric.decorator": ("metric",),
    "karat.core.columns.kinds": ("Text", "Texts", "Number", "Ids", "Graded", "Score", "Counts"),
    "karat.data.open": ("spans",),
    "karat.judges.judge": ("Judge",),
    "karat.models.governor.faults": ("ModelError",),
    "karat.models.governor.governor": ("Governor",),
    "karat.runs.compare.compare": ("compare",),
    "karat.runs.compare.comparison": ("Compared",),
    "karat.runs.scoring.pipeline": ("score",),
    "karat.runs.experiment.experiment": ("experiment",),
    "karat.runs.scoring.result": ("Result",),
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
