"""Engines that score on the machines of a cluster: Ray, Spark.

Each hands the tasks of `karat.runs.scoring.tasks` to its cluster, which schedules them, and gives back what they
return; it scores, sums and writes nothing itself. Engines are found by the entry points `karat.engines`, and import
their library on first use. Open `worker.py` first: what a machine of a cluster does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core.lazy import lazy_names

if TYPE_CHECKING:
    from karat.engines.ray import Ray as Ray
    from karat.engines.spark import Spark as Spark
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, {".ray": "Ray", ".spark": "Spark"})
