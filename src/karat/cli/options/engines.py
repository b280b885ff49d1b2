"""What decides where the work of a command is carried out: its flags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from click import UsageError

from karat.cli.options.completion import ENGINE
from karat.cli.options.numbers import Real, Whole
from karat.cli.options.scoring import option_group
from karat.cli.options.sections import options_under

option = options_under("Engines")
_OPTIONS = [
    option("--engine", type=ENGINE, help="Where Parquet files are scored: threads, processes, ray, spark."),
    option("--address", metavar="ADDRESS", help="The cluster of --engine ray: ray://HOST:10001, auto or local."),
    option(
        "--gpus", type=Real(min=0, min_open=True), metavar="N",
        help="GPUs of each process of --engine ray, for models of similarity, such as 1 or 0.5.",
    ),
    option("--remote", metavar="ADDRESS", help="The Spark Connect server of --engine spark: sc://HOST:15002."),
    option("--cluster-judges", is_flag=True, help="Judges ask from the machines of --engine ray, under shared limits."),
    option(
        "--max-failed-tasks", type=Whole(min=0), default=0, show_default=True, metavar="N",
        help="Tasks of an engine that may fail; their rows are unscored.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class EngineOptions:
    """Where the work of a command is carried out, and what is about a cluster."""

    engine: str | None
    address: str | None
    gpus: float | None
    remote: str | None
    cluster_judges: bool
    max_failed_tasks: int

    def read(self) -> Any:
        """The engine, with what is about its cluster; None for none."""
        members = {"address": self.address, "gpus": self.gpus, "remote": self.remote, "judges": self.cluster_judges}
        given = {member: value for member, value in members.items() if value not in (None, False)}
        if not given:
            return self.engine
        from karat.runs.scoring.tasks.local import find_engine  # noqa: PLC0415  (heavy)

        engine: Any = None if self.engine is None else find_engine(self.engine)
        for member in given:
            if not hasattr(engine, member):
                flag = "cluster-judges" if member == "judges" else member
                name = "spark" if member == "remote" else "ray"
                raise UsageError(f"--{flag} belongs to a cluster: it needs --engine {name}")
        return replace(engine, **given)


engine_options = option_group("engine", EngineOptions, _OPTIONS)
"""Give a command the flags of engines; it gets them as `engine`."""
