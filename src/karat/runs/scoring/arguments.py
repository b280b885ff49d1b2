"""The arguments of `karat.score` and `karat.experiment` as values, which are checked once and passed on whole.

The third of them, confidence and seed, is `karat.stats.inference.Inference`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from karat.core.errors import SpecError
from karat.data.write import check_output, refuse_overwriting
from karat.runs.columns.gold_patch import GoldPatch, as_settings
from karat.runs.labels.labels import Labels
from karat.runs.store.folders import run_folder

NONE = "none"
"""The `cluster` that takes each row by itself."""


@dataclass(frozen=True)
class Selection:
    """Which rows are scored, which columns are used for what, which make groups and clusters, and people's labels.

    `id` tells apart rows that have no order. `gold_patch` is what people say of gold that is wrong.
    """

    data: Any
    gold: Any = None
    on: str | None = None
    map: Mapping[str, str] = field(default_factory=dict)
    by: str | None = None
    cluster: str | None = None
    where: str | None = None
    limit: int | None = None
    human: Labels | None = None
    id: str | None = None
    gold_patch: GoldPatch | None = None

    @property
    def by_value(self) -> list[str]:
        """The columns whose values make groups and clusters, or tell rows apart."""
        cluster = None if self.cluster == NONE else self.cluster
        return [name for name in (self.by, cluster, self.id) if name is not None]

    @property
    def joins_gold(self) -> str | None:
        """The id that joins the gold; without gold `on` joins people's labels, or what they say of gold."""
        return self.on if self.gold is not None or (self.human is None and self.gold_patch is None) else None

    def as_settings(self) -> dict[str, Any]:
        """The arguments that a manifest has under `settings`: those that decide what is scored."""
        by_name = {name: getattr(self, name) for name in ("by", "cluster", "where", "limit")}
        return {"on": self.joins_gold, **by_name, **as_settings(self.gold_patch)}


@dataclass(frozen=True)
class Destination:
    """Where the scored rows go: to the file `output`, to the run of the name `run`, and, with `keep`, to the result.

    With `keep=None` the result has the rows where they go nowhere else. `resume` continues a run that was stopped.
    `engine` carries out tasks, at most `max_failed_tasks` of which may fail.

    Raises `SpecError` for `resume` without `run`.
    """

    output: str | Path | None = None
    run: str | None = None
    resume: bool = False
    keep: bool | None = None
    engine: Any = None
    max_failed_tasks: int = 0

    def __post_init__(self) -> None:
        if self.resume and self.run is None:
            raise SpecError("resume continues a run that was stopped, and needs its name: run='NAME'")

    @property
    def keeps_rows(self) -> bool:
        """Whether the result has the rows."""
        nowhere = self.output is None and self.run is None and self.engine is None
        return nowhere if self.keep is None else self.keep

    def check(self, selection: Selection) -> None:
        """Raise `DataError`, before anything is read, where `output` cannot be written or is what is read.

        Raises `SpecError` for an invalid name of a run, for a run of rows that are told apart by `id`, and for
        `max_failed_tasks` with `where`.
        """
        if self.output is not None:
            check_output(self.output)
            refuse_overwriting(self.output, selection.data, selection.gold)
        if self.run is not None:
            run_folder(self.run)
        if self.run is not None and selection.id is not None:
            raise SpecError("id tells rows apart that have no order; the rows of a run have one: leave id out")
        if self.max_failed_tasks and selection.where is not None:
            problem = "max_failed_tasks counts all rows of a failed task, also those that where leaves out"
            raise SpecError(f"{problem}: leave one of them out")
