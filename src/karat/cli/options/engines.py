"""What decides where the work of a command is carried out: its flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
from click import UsageError

from karat.cli.options.completion import ENGINE
from karat.cli.options.numbers import Real, Whole
from karat.cli.options.scoring import option_group
from karat.cli.options.sections import options_under

if TYPE_CHECKING:
    from karat.core.metric.metric import Metric

option = options_under("Engines")
_OPTIONS = [
    option("--engine", type=ENGINE, help="Where Parquet files are scored: threads, processes, ray, spark."),
    option("--address", metavar="ADDRESS", help="The cluster of --engine ray: ray://HOST:10001, auto or local."),
    option(
        "--gpus", type=Real(min=0, min_open=True), metavar="N",
        help="GPUs of each process of --engine ray, for models of similarity, such as 1 or 0.5.",
    ),
    option("--remote", metavar="ADDRESS", help="The Spark Connect server of --engine spark: sc://HOST:15002."),
    option("--device", metavar="NAME", help="Where models of similarity run: cpu, cuda, cuda:1, mps."),
    option(
        "--backend", type=click.Choice(["auto", "sentence-transformers", "onnx"]),
        help="The library that runs models of similarity.",
    ),
    option("--batch-size", type=Whole(min=1), metavar="N", help="How many texts models of similarity take at a time."),
    option("--cluster-judges", is_flag=True, help="Judges ask from the machines of --engine ray, under shared limits."),
    option(
        "--max-failed-tasks", type=Whole(min=0), default=0, show_default=True, metavar="N",
        help="Tasks of an engine that may fail; their rows are unscored.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class EngineOptions:
    """Where the work of a command is carried out: the engine, its cluster, and where encoders run."""

    engine: str | None
    address: str | None
    gpus: float | None
    remote: str | None
    cluster_judges: bool
    max_failed_tasks: int
    device: str | None
    backend: str | None
    batch_size: int | None

    @contextmanager
    def use_machine(self, metrics: Sequence[Metric]) -> Iterator[None]:
        """Within the block models of similarity run where the flags say."""
        settings = {name: value for name in ("device", "backend", "batch_size") if (value := getattr(self, name))}
        if not settings:
            yield
            return
        if not any(each.definition.remote and not each.definition.judge for each in metrics):
            flag = next(iter(settings)).replace("_", "-")
            raise UsageError(f"--{flag} is about models of similarity, but no metric runs one")
        from karat.models.encoders.machine import Machine, use_machine  # noqa: PLC0415  (heavy)

        with use_machine(Machine(**settings)):
            yield

    def read(self) -> Any:
        """The engine, with what is about its cluster; None for none."""
        members = {"address": self.address, "gpus": self.gpus, "remote": self.remote, "judges": self.cluster_judges}
        settings = {member: value for member, value in members.items() if value not in (None, False)}
        if not settings:
            return self.engine
        from karat.runs.scoring.tasks.local import find_engine  # noqa: PLC0415  (heavy)

        engine: Any = None if self.engine is None else find_engine(self.engine)
        for member in settings:
            if not hasattr(engine, member):
                flag = "cluster-judges" if member == "judges" else member
                name = "spark" if member == "remote" else "ray"
                raise UsageError(f"--{flag} belongs to a cluster: it needs --engine {name}")
        return replace(engine, **settings)


engine_options = option_group("engine", EngineOptions, _OPTIONS)
"""Give a command the flags of engines; it gets them as `engine`."""
