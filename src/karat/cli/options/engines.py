"""What decides where the work of a command is carried out: its flags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from click import UsageError, option

from karat.cli.options.completion import ENGINE
from karat.cli.options.numbers import Real, Whole
from karat.cli.options.scoring import Command, add_options

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


def engine_options(command: Command) -> Command:
    """Give a command the flags of engines."""
    return add_options(command, _OPTIONS)


def read_engine(options: dict[str, Any]) -> None:
    """Take what is about a cluster out of a command's options, and give it to the engine."""
    members = {"address": "address", "gpus": "gpus", "remote": "remote", "cluster_judges": "judges"}
    for flag, member in members.items():
        if (value := options.pop(flag)) in (None, False):
            continue
        from karat.runs.scoring.tasks.local import find_engine  # noqa: PLC0415  (heavy)

        engine: Any = None if options["engine"] is None else find_engine(options["engine"])
        if not hasattr(engine, member):
            name = "spark" if flag == "remote" else "ray"
            raise UsageError(f"--{flag.replace('_', '-')} is that of a cluster: it needs --engine {name}")
        options["engine"] = replace(engine, **{member: value})
